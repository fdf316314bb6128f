//! One step of the store, by its model.

use super::super::message::MAX_COUNT;
use super::numbers::{Numbers, report, usual};
use super::*;
use proptest::prelude::*;

const TOKEN: i64 = 1_000_000;

/// A store of one budget in memory.
#[derive(Default)]
struct Memory {
    bucket: Option<StoredBucket>,
    record: Option<StoredRecord>,
}

impl Memory {
    fn step(&mut self, report: BudgetReport, now: i64) -> BudgetReply {
        settle(&mut self.bucket, &mut self.record, &report, now)
    }
}

#[test]
fn a_success_after_a_quiet_time_adds_up_to_five_retries() {
    let terms = StoreTerms {
        initial: 0,
        min_per_second: 100_000,
        ..usual()
    };
    let mut memory = Memory::default();
    let mut seq = 0;
    let mut after = |successes, now| {
        seq += 1;
        let report = BudgetReport {
            terms,
            seq,
            successes,
            ..report()
        };
        memory.step(report, now).tokens
    };
    after(0, 0);
    assert_eq!(after(0, 600_000), 0, "time alone adds nothing");
    assert_eq!(after(1, 601_000), 5 * TOKEN);
    assert_eq!(after(2, 605_500), 5 * TOKEN + TOKEN / 10);
}

#[test]
fn a_new_bucket_has_the_initial_tokens_or_what_was_known() {
    for (known, tokens) in [(None, 20), (Some(3 * TOKEN), 3), (Some(90 * TOKEN), 20)] {
        let answer = Memory::default().step(BudgetReport { known, ..report() }, 0);
        assert_eq!(answer.tokens, tokens * TOKEN);
        assert_eq!(answer.kind, ReplyKind::New);
    }
}

#[test]
fn a_repeated_command_changes_nothing() {
    let mut store = Memory::default();
    let report = BudgetReport {
        successes: 50,
        want: 3 * TOKEN,
        ..report()
    };
    assert_eq!(store.step(report, 0).granted, 3 * TOKEN);
    let before = (store.bucket, store.record);
    let again = store.step(report, 90);
    assert_eq!((again.granted, again.kind), (0, ReplyKind::Repeated));
    assert_eq!((store.bucket, store.record), before);
}

#[test]
fn a_grant_whose_reply_was_lost_comes_back() {
    let mut store = Memory::default();
    let lost = store.step(
        BudgetReport {
            want: 5 * TOKEN,
            ..report()
        },
        0,
    );
    assert_eq!(lost.tokens, 15 * TOKEN);
    let next = store.step(BudgetReport { seq: 2, ..report() }, 1);
    assert_eq!(next.tokens, 20 * TOKEN);
}

#[test]
fn spending_alone_is_charged_even_below_zero() {
    let mut store = Memory::default();
    let answer = store.step(
        BudgetReport {
            taken: 25 * TOKEN,
            want: TOKEN,
            ..report()
        },
        0,
    );
    assert_eq!((answer.granted, answer.tokens), (0, -5 * TOKEN));
    let answer = store.step(
        BudgetReport {
            seq: 2,
            successes: 70,
            taken: 25 * TOKEN,
            want: 9 * TOKEN,
            ..report()
        },
        1,
    );
    assert_eq!(answer.granted, 2 * TOKEN);
}

#[test]
fn a_process_whose_record_is_gone_earns_nothing_twice() {
    let mut store = Memory::default();
    let told = BudgetReport {
        terms: StoreTerms {
            initial: 0,
            ..usual()
        },
        successes: 100,
        ..report()
    };
    assert_eq!(store.step(told, 0).tokens, 10 * TOKEN);
    store.record = None;
    let next = BudgetReport {
        seq: 2,
        successes: 110,
        successes_acked: 100,
        ..told
    };
    assert_eq!(store.step(next, 1).tokens, 11 * TOKEN);
}

#[test]
fn a_process_counts_once_in_a_window_and_for_two() {
    let mut store = Memory::default();
    let mut records = [None; 3];
    let mut seq = 0;
    let mut speak = |process: usize, now: i64| {
        seq += 1;
        std::mem::swap(&mut store.record, &mut records[process]);
        let answer = store.step(BudgetReport { seq, ..report() }, now);
        std::mem::swap(&mut store.record, &mut records[process]);
        answer.processes
    };
    let seen = [
        (0, 10_000),
        (0, 10_001),
        (1, 10_002),
        (2, 19_999),
        (0, 20_000),
        (0, 30_000),
        (0, 60_000),
    ];
    let seen = seen.map(|(process, now)| speak(process, now));
    assert_eq!(seen, [1, 1, 2, 3, 3, 1, 1]);
}

#[test]
fn a_clock_one_window_back_continues_the_later_one() {
    let mut store = Memory::default();
    let mut speak = |seq: i64, now: i64| {
        // Each is another process, without a record.
        store.record = None;
        store.step(BudgetReport { seq, ..report() }, now).processes
    };
    let seen = [30_000, 29_999, 20_000, 19_999].map(|now| speak(1, now));
    assert_eq!(seen, [1, 2, 3, 1]);
}

#[test]
fn a_jittering_clock_counts_no_time_twice() {
    let terms = StoreTerms {
        initial: 0,
        per_second: TOKEN,
        ..usual()
    };
    let mut store = Memory::default();
    let mut seq = 0;
    let mut tokens = |now: i64| {
        seq += 1;
        store
            .step(
                BudgetReport {
                    seq,
                    terms,
                    ..report()
                },
                now,
            )
            .tokens
    };
    let seen = [100_000, 99_000, 100_000, 101_000].map(&mut tokens);
    assert_eq!(seen, [0, 0, 0, TOKEN]);
    // A clock that was set back continues from there.
    assert_eq!([40_000, 42_000].map(tokens), [TOKEN, 3 * TOKEN]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_number_leaves_its_bounds(seed in any::<u64>(), steps in 1_u32..40) {
        let mut numbers = Numbers(seed);
        let mut store = Memory::default();
        for _ in 0..steps {
            let report = BudgetReport {
                process: 1,
                terms: numbers.terms(),
                seq: numbers.up_to(MAX_COUNT),
                successes: numbers.up_to(MAX_COUNT),
                successes_acked: numbers.up_to(MAX_COUNT),
                taken: numbers.up_to(MAX_COUNT),
                taken_acked: numbers.up_to(MAX_COUNT),
                want: numbers.up_to(MAX_COUNT),
                known: numbers.one_in(2).then(|| numbers.up_to(MAX_COUNT)),
            };
            let now = numbers.up_to(4_000_000_000_000);
            let answer = store.step(report, now);
            prop_assert!(answer.granted >= 0 && answer.granted <= report.want);
            prop_assert!(answer.granted == 0 || answer.tokens >= 0);
            prop_assert!(answer.capacity >= report.terms.capacity && answer.capacity <= MAX_COUNT);
            if answer.kind != ReplyKind::Repeated {
                prop_assert!(answer.tokens.abs() <= answer.capacity);
                let record = store.record.unwrap();
                prop_assert!(record.taken <= 2 * MAX_COUNT);
            }
            let bucket = store.bucket.unwrap();
            prop_assert!((0..1_000).contains(&bucket.rest));
            let numbers = [answer.granted, answer.tokens, answer.capacity, answer.processes, answer.now_ms, 0];
            prop_assert!(BudgetReply::of(&numbers).is_some());
        }
    }

    #[test]
    fn grants_are_whole_retries_while_there_is_one(
        tokens in 0_i64..100_000_000,
        unit in 1_i64..5_000_000,
        retries in 0_i64..40,
    ) {
        let terms = StoreTerms { initial: tokens, capacity: 100_000_000, unit, ..usual() };
        let answer = Memory::default().step(BudgetReport { terms, want: retries * unit, ..report() }, 0);
        prop_assert_eq!(answer.granted, (tokens / unit).min(retries) * unit);
    }

    #[test]
    fn many_steps_earn_what_one_earns(
        parts in prop::collection::vec((0_i64..1_000, 0_i64..5_000), 1..30),
        per_second in 0_i64..10_000_000,
    ) {
        let terms = StoreTerms {
            initial: 0, capacity: MAX_COUNT, growth_ms: 0, per_second, per_success: 100_000, min_per_second: 0, unit: TOKEN,
        };
        let report = BudgetReport { terms, ..report() };
        let (mut many, mut one) = (Memory::default(), Memory::default());
        let (mut all, mut now, mut seq) = (0, 1_000_000, 1);
        one.step(report, now);
        many.step(report, now);
        for (successes, time) in parts {
            (all, now, seq) = (all + successes, now + time, seq + 1);
            many.step(BudgetReport { seq, successes: all, ..report }, now);
        }
        let report = BudgetReport { seq: 2, successes: all, ..report };
        one.step(report, now);
        prop_assert_eq!(many.bucket.unwrap().tokens, one.bucket.unwrap().tokens);
    }
}
