//! The deadline of a run and the timeout of an attempt.

use super::*;
use http_retry::runtime::Runtime;
use std::future::pending;

#[test]
fn an_attempt_after_the_deadline_is_not_waited_for() {
    let runtime = ManualRuntime::new();
    let policy = policy().deadline(DELAY * 3 / 2).build().unwrap();
    let slot = RetryReport::slot();
    let runner = Runner::on(runtime.clone(), policy)
        .idempotent(true)
        .report_to(slot.clone());
    assert_eq!(now(runner.run(transient, fail_with_number)), Err(Failed(2)));
    assert_eq!(runtime.now(), DELAY);
    assert_eq!(slot.take().unwrap().stop, StopReason::DeadlineExceeded);
}

#[test]
fn every_attempt_is_told_what_is_left_of_the_deadline() {
    let record = Record::default();
    let runner = idempotent(policy().deadline(SECOND * 5).attempt_timeout(SECOND * 4));
    let failed = now(runner.run(transient, |attempt| {
        record.add(attempt);
        fail_with_number(attempt)
    }));
    assert_eq!(failed, Err(Failed(3)));
    let limits = record.attempts().into_iter().map(|attempt| attempt.limit);
    assert!(limits.eq([4, 3, 1].map(|seconds| Some(SECOND * seconds))));
}

#[test]
fn an_attempt_is_cut_short_when_another_follows() {
    let runtime = ManualRuntime::paused();
    let policy = policy().attempt_timeout(SECOND).build().unwrap();
    let runner = Runner::on(runtime.clone(), policy).idempotent(true);
    let mut run = Box::pin(runner.run(transient, |attempt| async move {
        match attempt.number {
            1 => pending().await,
            number => Ok(number),
        }
    }));
    assert!((&mut run).now_or_never().is_none());
    runtime.advance(SECOND);
    assert!((&mut run).now_or_never().is_none());
    runtime.advance(DELAY);
    assert_eq!(run.now_or_never().unwrap(), Ok(2));
}

#[test]
fn the_last_attempt_runs_to_its_end() {
    let runtime = ManualRuntime::paused();
    let policy = policy().max_retries(0).deadline(SECOND);
    let runner = Runner::on(runtime.clone(), policy.build().unwrap());
    let (end, ended) = tokio::sync::oneshot::channel();
    let ended = Arc::new(Mutex::new(Some(ended)));
    let mut run = Box::pin(runner.run(transient, |_| {
        let ended = ended.lock().unwrap().take().unwrap();
        async move { Ok(ended.await.unwrap()) }
    }));
    assert!((&mut run).now_or_never().is_none());
    runtime.advance(SECOND * 60);
    assert!((&mut run).now_or_never().is_none());
    end.send("done").unwrap();
    assert_eq!(run.now_or_never().unwrap(), Ok("done"));
}

#[test]
fn an_ambiguous_attempt_is_not_cut_short_for_another() {
    let runtime = ManualRuntime::paused();
    let policy = policy().attempt_timeout(SECOND).build().unwrap();
    let runner = Runner::on(runtime.clone(), policy);
    let record = Record::default();
    let mut run = Box::pin(runner.run(transient, |attempt| {
        record.add(attempt);
        pending::<Result<(), Failed>>()
    }));
    assert!((&mut run).now_or_never().is_none());
    runtime.advance(SECOND * 60);
    assert!((&mut run).now_or_never().is_none());
    assert_eq!(record.numbers(), [1]);
}

#[test]
fn a_sleep_that_took_too_long_ends_with_the_last_error() {
    let runtime = ManualRuntime::paused();
    let policy = policy().deadline(SECOND * 3).build().unwrap();
    let slot = RetryReport::slot();
    let runner = Runner::on(runtime.clone(), policy)
        .idempotent(true)
        .report_to(slot.clone());
    let mut run = Box::pin(runner.run(transient, fail_with_number));
    assert!((&mut run).now_or_never().is_none());
    runtime.advance(SECOND * 3);
    assert_eq!(run.now_or_never().unwrap(), Err(Failed(1)));
    assert_eq!(slot.take().unwrap().stop, StopReason::DeadlineExceeded);
}
