//! What a budget costs that two threads share, beside tower's `TpsBudget`.
//!
//! ```text
//! cargo bench --all-features --bench budget_contention
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and says what went wrong by panicking"
)]

mod table;

use divan::{Bencher, black_box};
use http_retry::budget::PaidRetry;
use http_retry::policy::{Moment, RetryPlan};
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::{ErrorKind, Outcome, RequestFacts, RetryBudget, RetryPolicy};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use table::Target;
use tower::retry::budget::{Budget, TpsBudget};

const THREADS: usize = 2;
const ROUNDS: usize = 15;
const OPERATIONS: usize = 200_000;
const NOW: Duration = Duration::from_secs(3_600);

fn main() {
    divan::main();
    if !table::is_wanted() {
        return;
    }
    table::head("nanoseconds of one operation, each of two threads on one budget");
    let (ours, peers) = (ours(), peers());
    let fastest = |ours: Nanoseconds, peer: Nanoseconds, what: &str, times: f64| {
        table::times_as_fast(what, ours, peer, Target::AtLeast(times));
    };
    let alternated = alternate(
        || together(|| (), |()| ours.deposit(NOW)),
        || together(|| (), |()| peers.deposit()),
    );
    fastest(alternated.0, alternated.1, "deposit, TpsBudget", 5.0);
    let alternated = alternate(
        || together(|| mixed(plans()), |next| next(&ours)),
        || together(mixed_of_peer, |next| next(&peers)),
    );
    fastest(
        alternated.0,
        alternated.1,
        "nine deposits to one withdraw, TpsBudget",
        3.0,
    );
    // A layer has read the clock anyway, when the attempt began; `TpsBudget` reads it at each deposit.
    let alternated = alternate(
        || together(|| (), |()| ours.deposit(TokioRuntime.now())),
        || together(|| (), |()| peers.deposit()),
    );
    let what = "deposit and a reading of the clock, TpsBudget";
    table::times_as_fast(what, alternated.0, alternated.1, Target::None);
}

#[divan::bench(threads = [1, 2])]
fn deposit(bencher: Bencher<'_, '_>) {
    let budget = ours();
    bencher.bench(|| budget.deposit(NOW));
}

#[divan::bench(threads = [1, 2])]
fn deposit_to_tps_budget(bencher: Bencher<'_, '_>) {
    let budget = peers();
    bencher.bench(|| budget.deposit());
}

#[divan::bench(threads = [1, 2])]
fn withdraw(bencher: Bencher<'_, '_>) {
    let budget = ours();
    bencher
        .with_inputs(plan)
        .bench_values(|plan| budget.withdraw(plan, NOW).map(PaidRetry::commit));
}

#[divan::bench(threads = [1, 2])]
fn withdraw_from_tps_budget(bencher: Bencher<'_, '_>) {
    let budget = peers();
    bencher.bench(|| budget.withdraw());
}

type Nanoseconds = f64;

/// The same terms as the peer's: a fifth of a token for each success, and plenty of them.
fn ours() -> RetryBudget {
    let budget = RetryBudget::builder().per_success(0.2).capacity(1_000);
    budget.build().unwrap()
}

fn peers() -> TpsBudget {
    TpsBudget::default()
}

/// Nine deposits, then a withdrawal.
fn mixed(plans: Vec<RetryPlan>) -> impl FnMut(&RetryBudget) {
    let (mut plans, mut count) = (plans.into_iter(), 0_usize);
    move |budget| {
        count += 1;
        match count % 10 {
            0 => {
                let plan = plans.next().unwrap();
                let paid = budget.withdraw(plan, NOW);
                paid.into_iter().for_each(PaidRetry::commit);
            }
            _ => budget.deposit(NOW),
        }
    }
}

fn mixed_of_peer() -> impl FnMut(&TpsBudget) {
    let mut count = 0_usize;
    move |budget| {
        count += 1;
        match count % 10 {
            0 => {
                black_box(budget.withdraw());
            }
            _ => budget.deposit(),
        }
    }
}

fn plans() -> Vec<RetryPlan> {
    (0..OPERATIONS / 10).map(|_| plan()).collect()
}

fn plan() -> RetryPlan {
    let facts = RequestFacts::operation().idempotent(true);
    let session = RetryPolicy::background().session(facts, NOW);
    let refused = Outcome::error(ErrorKind::Connect);
    session.plan(&refused, Moment::new(NOW)).unwrap()
}

/// How long one operation takes while every thread does the same.
fn together<T>(prepare: impl Fn() -> T + Sync, operation: impl Fn(&mut T) + Sync) -> Nanoseconds {
    let start = Barrier::new(THREADS);
    let one = || {
        let mut prepared = prepare();
        start.wait();
        let started = Instant::now();
        (0..OPERATIONS).for_each(|_| operation(&mut prepared));
        started.elapsed()
    };
    let took: Duration = std::thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(one));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    took.as_nanos() as f64 / (THREADS * OPERATIONS) as f64
}

/// The medians of two measurements that take turns.
fn alternate(
    ours: impl Fn() -> Nanoseconds,
    peer: impl Fn() -> Nanoseconds,
) -> (Nanoseconds, Nanoseconds) {
    let rounds = (0..ROUNDS).map(|_| (ours(), peer()));
    let (ours, peer): (Vec<_>, Vec<_>) = rounds.unzip();
    (table::median(ours), table::median(peer))
}
