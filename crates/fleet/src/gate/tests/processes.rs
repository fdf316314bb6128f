//! Several processes that share one gate.

use super::world::{Health, MILLI, Wait, World};
use super::*;
use http_retry_core::runtime::Runtime;
use http_retry_core::sharing::{CallEnd, CallKind, GateExt};
use http_retry_testing::ManualRuntime;
use std::task::Waker;

pub(super) const SEC: Duration = Duration::from_secs(1);

pub(super) fn newcomers(world: &mut World, processes: &[usize]) -> Vec<(usize, Option<Wait>)> {
    let wait = |process: &usize| (*process, Some(world.waits(*process, CallKind::Newcomer)));
    processes.iter().map(wait).collect()
}

/// Returns the time until a retry of this process goes, which cannot be a probe.
fn goes_after(world: &mut World, process: usize, most: Duration) -> Duration {
    let begun = world.clock.now();
    let mut waits = [(process, Some(world.waits(process, CallKind::Retry)))];
    let went = world.play(&mut waits, most)[0];
    went.expect("it goes") - begun
}

#[test]
fn a_vote_closes_the_gate_of_every_process() {
    let mut world = World::of(3);
    world.vote(0, SEC);
    world.pass(MILLI * 4);
    let begun = world.clock.now();
    let mut waits = [1, 2, 0].map(|process| (process, Some(world.waits(process, CallKind::Retry))));
    for went in world.play(&mut waits, SEC * 8) {
        let after = went.unwrap() - begun;
        assert!(after >= MILLI * 990 && after < SEC * 3, "{after:?}");
    }
}

#[test]
fn a_closed_gate_is_reported_at_once() {
    let mut world = World::of(2);
    for _ in 0..4 {
        world.refuse(0, 1, SEC * 5);
        world.pass(MILLI);
    }
    // One report of a first refusal, and one of the rest; each takes 2 ms to the store, as does the news.
    world.pass(MILLI * 5);
    assert!(!world.is_open(1));
}

#[test]
fn refusals_of_several_processes_are_one_vote() {
    let mut world = World::of(3);
    for process in [0, 1] {
        world.refuse(process, 2, SEC * 5);
    }
    assert!(world.is_open(0), "its own gate has not voted");
    world.pass(MILLI * 15);
    assert!(goes_after(&mut world, 2, SEC * 20) > SEC * 4);
}

#[test]
fn a_success_between_refusals_ends_the_run() {
    let mut world = World::of(3);
    for process in [0, 1] {
        world.refuse(process, 2, SEC * 5);
        world.pass(MILLI * 15);
        world.succeed(process, 1);
        world.pass(MILLI * 15);
    }
    assert!(world.is_open(2));
}

#[test]
fn later_successes_open_the_gate_of_all() {
    let mut world = World::of(2);
    let places = [(); 6].map(|()| world.go(0));
    let [refused @ .., later, last] = &places;
    for place in refused {
        world.end(0, place, CallEnd::Refused(Some(SEC * 10)));
    }
    world.pass(MILLI * 4);
    let mut waits = [(1, Some(world.waits(1, CallKind::Retry)))];
    assert_eq!(world.play(&mut waits, MILLI), [None]);
    world.end(0, later, CallEnd::Succeeded);
    world.end(0, last, CallEnd::Succeeded);
    let went = world.play(&mut waits, MILLI * 15);
    assert!(went[0].is_some(), "{went:?}");
    // From now on the store's vote takes eight.
    world.refuse(1, 3, SEC * 10);
    world.refuse(0, 4, SEC * 10);
    world.pass(MILLI * 15);
    assert!(world.is_open(1));
}

#[test]
fn a_process_that_contradicted_its_gate_stops_reporting() {
    let mut world = World::of(1);
    world.health = Health::Fails;
    let places = [(); 6].map(|()| world.go(0));
    let [refused @ .., later, last] = &places;
    for place in refused {
        world.end(0, place, CallEnd::Refused(Some(SEC * 10)));
    }
    for place in [later, last] {
        world.end(0, place, CallEnd::Succeeded);
    }
    world.pass(SEC);
    world.health = Health::Well;
    world.pass(SEC * 10);
    world.reports.clear();
    for _ in 0..1_000 {
        world.succeed(0, 1);
        world.pass(MILLI);
    }
    assert!(world.reports.len() <= 5, "{}", world.reports.len());
}

#[test]
fn a_process_that_was_not_refused_probes() {
    let mut world = World::of(2);
    world.vote(0, SEC * 10);
    world.pass(MILLI * 4);
    // The limit does not affect it: its probe opens the gate of all.
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[1]);
    let went = world.play(&mut waits, SEC)[0].expect("a probe") - begun;
    assert!(went <= MILLI * 220, "{went:?}");
    world.pass(MILLI * 15);
    assert!(world.is_open(1));
}

#[test]
fn processes_do_not_resume_all_at_once() {
    const PROCESSES: usize = 20;
    let mut world = World::of(PROCESSES);
    for process in 0..PROCESSES {
        world.succeed(process, 2);
    }
    world.pass(MILLI * 400);
    world.vote(0, SEC * 2);
    world.pass(MILLI * 4);
    let others = 1..PROCESSES;
    let mut waits: Vec<_> = others
        .map(|process| (process, Some(world.waits(process, CallKind::Retry))))
        .collect();
    let went = world.play(&mut waits, SEC * 6);
    let went: Vec<_> = went.into_iter().map(Option::unwrap).collect();
    let most = most_within(&went, MILLI * 20);
    assert!(most <= 5, "{most} at once: {went:?}");
}

/// Returns the most of these times within any interval of this length.
fn most_within(times: &[Duration], stretch: Duration) -> usize {
    let near = |at: &Duration| {
        let later = times.iter().filter_map(|other| other.checked_sub(*at));
        later.filter(|after| *after < stretch).count()
    };
    times.iter().map(near).max().unwrap_or_default()
}

#[test]
fn processes_ask_the_store_at_different_times() {
    const PROCESSES: usize = 20;
    let mut world = World::of(PROCESSES);
    world.pass(MILLI * 200);
    world.vote(0, SEC * 2);
    world.pass(MILLI * 3);
    world.reports.clear();
    world.pass(MILLI * 400);
    let reports = world.reports.iter();
    let (times, mut asked): (Vec<_>, Vec<_>) =
        reports.map(|(at, process, _)| (*at, *process)).unzip();
    let most = most_within(&times, MILLI * 10);
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), PROCESSES - 1, "all others: {asked:?}");
    assert!(most <= 6, "{most} at once");
}

#[test]
fn a_process_that_joins_during_a_cooldown_sends_one_call() {
    let mut world = World::of(1);
    world.vote(0, SEC * 3);
    world.pass(MILLI * 5);
    let late = world.starts();
    let place = world.go(late);
    world.end(late, &place, CallEnd::Other);
    world.pass(MILLI * 3);
    let after = goes_after(&mut world, late, SEC * 70);
    assert!(after > MILLI * 2_900, "{after:?}");
}

#[test]
fn a_shorter_notice_does_not_shorten_the_cooldown() {
    let mut world = World::of(1);
    world.health = Health::Hangs;
    let link = world.link(0);
    for millis in [3_000, 10] {
        let closed = Duration::from_millis(millis);
        link.notified(world.moment(), GateNotice { change: 1, closed });
    }
    let after = goes_after(&mut world, 0, SEC * 70);
    assert!(after >= SEC * 3, "{after:?}");
}

#[test]
fn a_false_notice_holds_until_the_store_is_asked() {
    for (change, takes) in [(1, 220), (7_777, 220), (1 << 40, 0)] {
        let mut world = World::of(2);
        let closed = SEC * 3_000;
        world
            .link(0)
            .notified(world.moment(), GateNotice { change, closed });
        let after = goes_after(&mut world, 0, SEC * 10);
        // And the pace of a release that has seen no success yet.
        let most = MILLI * (takes + 1_000 * u32::from(takes > 0));
        assert!(after <= most, "{change}: {after:?}");
        // The store continues from that change.
        world.pass(SEC * 3);
        world.vote(0, SEC * 5);
        world.pass(MILLI * 30);
        assert!(goes_after(&mut world, 1, SEC * 20) > SEC * 4);
    }
}

/// A patient process, and one whose calls wait for five minutes at most.
fn with_an_impatient_one() -> (World, usize) {
    let mut world = World::of(1);
    world.longest = SEC * 300;
    let impatient = world.starts();
    let place = world.go(impatient);
    world.end(impatient, &place, CallEnd::Other);
    world.pass(SEC);
    (world, impatient)
}

#[test]
fn a_cooldown_beyond_the_local_limit_holds_no_call() {
    let (mut world, impatient) = with_an_impatient_one();
    world.vote(0, SEC * 3_000);
    world.pass(MILLI * 5);
    assert!(world.is_open(impatient), "by a message");
    world.pass(SEC * 5);
    assert!(world.is_open(impatient), "by an answer");
    assert!(world.reports.len() < 20, "{}", world.reports.len());
}

#[test]
fn an_extension_beyond_the_local_limit_is_ignored() {
    let (mut world, impatient) = with_an_impatient_one();
    let link = world.link(impatient);
    for seconds in [20, 3_000] {
        let closed = SEC * seconds;
        link.notified(world.moment(), GateNotice { change: 1, closed });
    }
    world.health = Health::Hangs;
    let after = goes_after(&mut world, impatient, SEC * 60);
    assert!((SEC * 19..SEC * 25).contains(&after), "{after:?}");
}

#[test]
fn a_reply_from_before_a_contradiction_closes_nothing() {
    let mut world = World::of(1);
    let link = world.link(0);
    let closed = SEC * 10;
    let before = GateReply {
        notice: GateNotice { change: 1, closed },
        probe: false,
    };
    let open = GateNotice {
        change: 2,
        closed: Duration::ZERO,
    };
    link.notified(world.moment(), open);
    link.replied(world.moment(), Some(before));
    assert!(world.is_open(0));
}

#[test]
fn after_a_store_loses_its_state_calls_resume_gradually() {
    let mut world = World::of(2);
    for _ in 0..40 {
        world.succeed(1, 1);
        world.pass(MILLI * 100);
    }
    world.vote(0, SEC * 5);
    world.pass(MILLI * 5);
    world.gate = None;
    let mut waits: Vec<_> = (0..40)
        .map(|_| (1, Some(world.waits(1, CallKind::Retry))))
        .collect();
    let went = world.play(&mut waits, SEC * 10);
    let went: Vec<_> = went.into_iter().map(Option::unwrap).collect();
    let herd = most_within(&went, MILLI * 200);
    assert!(herd <= 10, "{herd} of 40: {went:?}");
    world.pass(SEC * 10);
    world.vote(1, SEC * 5);
    world.pass(MILLI * 20);
    assert!(goes_after(&mut world, 0, SEC * 20) > SEC * 4, "closed anew");
}

#[test]
fn without_a_subscription_the_local_gate_decides() {
    let mut world = World::of(2);
    world.subscribe(1, false);
    world.vote(0, SEC * 5);
    world.pass(MILLI * 20);
    assert!(world.is_open(1));
    world.subscribe(1, true);
    world.pass(MILLI * 20);
    let after = goes_after(&mut world, 1, SEC * 20);
    assert!(after > SEC * 4, "one look tells: {after:?}");
}

#[test]
fn no_call_waits_for_a_store_that_does_not_reply() {
    for health in [Health::Hangs, Health::Fails] {
        let mut world = World::of(2);
        world.health = health;
        world.vote(0, SEC);
        world.pass(MILLI * 5);
        assert!(world.is_open(1), "nobody was told");
        let after = goes_after(&mut world, 0, SEC * 9);
        assert!((MILLI * 990..SEC * 2).contains(&after), "{after:?}");
    }
}

#[test]
fn a_store_that_recovers_is_used_again() {
    let mut world = World::of(2);
    world.health = Health::Hangs;
    world.vote(0, SEC);
    world.pass(SEC * 3);
    world.health = Health::Well;
    world.reconnects(0);
    world.pass(SEC);
    world.vote(1, SEC * 20);
    world.pass(MILLI * 20);
    assert!(goes_after(&mut world, 0, SEC * 60) > SEC * 19);
}

#[test]
fn an_open_gate_takes_the_fast_path_and_reports_nothing() {
    let mut world = World::of(2);
    world.reports.clear();
    for _ in 0..1_000 {
        let key = world.processes[0].gate.key("a", None);
        let entered = world.processes[0].gate.enter(key, Duration::ZERO, true);
        let place = entered.ok().flatten().expect("by the fast way");
        world.end(0, &place, CallEnd::Succeeded);
        world.pass(MILLI);
    }
    assert_eq!(world.reports, []);
}

#[test]
fn a_clock_that_steps_back_does_not_delay_reports() {
    let mut world = World::of(1);
    world.pass(SEC * 5);
    world.clock = ManualRuntime::paused();
    match world
        .link(0)
        .next(world.moment(), world.count, Waker::noop())
    {
        NextAction::Wait(Some(until)) => assert!(until < SEC, "{until:?}"),
        next => panic!("{next:?}"),
    }
}
