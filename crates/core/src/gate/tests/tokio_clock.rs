//! Tasks on tokio's paused clock, which polls only those that are woken.

use super::*;
use crate::policy::Moment;
use crate::runtime::Sleep;
use futures_util::future::join_all;

pub(super) struct Tokio;

#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
impl Runtime for Tokio {
    fn now(&self) -> Duration {
        tokio::time::Instant::now()
            .into_std()
            .duration_since(*START)
    }

    fn moment(&self) -> Moment {
        Moment::new(self.now()).with_random(7)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}

static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(|| {
    #[expect(clippy::disallowed_methods, reason = "an epoch")]
    let now = std::time::Instant::now();
    now.checked_sub(Duration::from_secs(1_000)).unwrap_or(now)
});

pub(super) fn wait_at_once(gate: &Gate, runtime: &Arc<dyn Runtime>) -> Admission {
    let passed = wait(gate, ask(gate, "a", CallKind::Newcomer), runtime);
    passed.now_or_never().expect("open").admission.unwrap()
}

async fn one_call(gate: &Gate, runtime: &Arc<dyn Runtime>, started: Duration) -> Duration {
    let ask = ask(gate, "a", CallKind::Retry);
    let passed = wait(gate, ask, runtime).await;
    let at = runtime.now().saturating_sub(started);
    runtime.sleep(MILLI * 10).await;
    passed.admission.unwrap().succeeded(None);
    at
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_tasks_wait_together_and_leave_in_order() {
    let (gate, runtime): (_, Arc<dyn Runtime>) = (Gate::new(), Arc::new(Tokio));
    for _ in 0..500 {
        wait_at_once(&gate, &runtime).succeeded(None);
    }
    let calls = [(); 4].map(|()| wait_at_once(&gate, &runtime));
    calls
        .into_iter()
        .for_each(|call| call.refused(Some(SECOND * 30), None));
    let started = runtime.now();
    let calls = (0..10_000).map(|_| {
        let (gate, runtime) = (gate.clone(), Arc::clone(&runtime));
        tokio::spawn(async move { one_call(&gate, &runtime, started).await })
    });
    let times = join_all(calls).await.into_iter().map(Result::unwrap);
    let times: Vec<_> = times.collect();
    assert!(times.is_sorted(), "in order");
    assert!(times[0] >= SECOND * 30);
    // 500 succeeded in five seconds: 250 go in the first round of 2.5 s, twice as many in the next, and so on.
    for (number, rounds) in [(249, 1), (749, 2), (1_749, 3), (3_749, 4), (7_749, 5)] {
        let most = SECOND * 30 + MILLI * (2_500 * rounds + 60);
        assert!(times[number] <= most, "{number}: {:?}", times[number]);
        assert!(times[number] >= most - MILLI * 2_600, "{number}");
    }
}
