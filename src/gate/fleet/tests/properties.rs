//! The store's arithmetic at the ends of the numbers.

use super::*;
use crate::gate::controller::MOST;
use crate::gate::fleet::words::MOST_OPENINGS;
use proptest::prelude::*;

/// Numbers at the ends of their range, and small ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..20, 0..100 * SECOND, MOST - 20..=MOST]
}

fn quota() -> impl Strategy<Value = Option<QuotaWord>> {
    let told = (number(), number(), number()).prop_map(|(remaining, limit, reset)| Quota {
        remaining,
        limit: (limit > 0).then_some(limit),
        reset,
    });
    let word = (0_u64..3, prop::option::of(told));
    prop::option::of(word.prop_map(|(turn, told)| QuotaWord { turn, told }))
}

fn words() -> impl Strategy<Value = GateWords> {
    let accuses = [Accuses::Same, Accuses::Begins, Accuses::Ends];
    let accuses = prop::sample::select(accuses.to_vec());
    let opening = prop_oneof![0_u64..4, number()];
    let refusal = prop::option::weighted(0.3, number());
    let numbers = (number(), number(), 0_u64..1_000_000);
    (opening, refusal, accuses, numbers, quota()).prop_map(
        |(opening, asked, accuses, (successes, tickets, random), quota)| GateWords {
            opening,
            asked,
            accuses,
            successes,
            tickets,
            quota,
            random,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_change_is_told_and_no_pause_is_shortened(
        steps in prop::collection::vec((number(), words()), 1..60),
    ) {
        let mut store = Store::new();
        let mut was = store.look();
        for (pass, words) in steps {
            store.now = store.now.saturating_add(pass).min(MOST);
            let answer = store.say_of(words.opening, words);
            let pushed = store.pushes.pop();
            let takes_back = words.accuses == Accuses::Ends;
            if was.closed && answer.closed && was.opening == answer.opening {
                prop_assert!(answer.until >= was.until);
            }
            if was.closed && !answer.closed {
                let ended = was.opening < answer.opening && answer.now >= was.until;
                prop_assert!(ended || takes_back);
            }
            let closes = answer.closed && (!was.closed || answer.until > was.until);
            let opens = was.closed && !answer.closed && was.opening == answer.opening;
            prop_assert!(pushed.is_some() || !closes && !opens || was.opening == MOST);
            if let Some(push) = pushed {
                prop_assert_eq!(push.closed.is_zero(), !answer.closed || answer.until <= answer.now);
            }
            was = answer;
        }
    }

    #[test]
    fn no_ticket_is_given_twice_and_none_beyond_the_quota(
        steps in prop::collection::vec((number(), words()), 1..60),
    ) {
        let mut store = Store::new();
        let mut was = store.look();
        for (pass, words) in steps {
            store.now = store.now.saturating_add(pass).min(MOST);
            let answer = store.say_of(words.opening, words);
            prop_assert!(answer.granted <= words.tickets);
            prop_assert_eq!(answer.release.gone, answer.ticket.saturating_add(answer.granted).min(MOST));
            let round = |answer: &GateAnswer| answer.opening + u64::from(answer.closed);
            if round(&was) == round(&answer) && !(was.closed && !answer.closed && was.opening == answer.opening) {
                prop_assert!(answer.ticket == was.release.gone || was.opening == MOST);
            }
            if let (Some(before), Some(left), None) = (was.remaining, answer.remaining, words.quota) {
                let same_turn = was.turn == answer.turn;
                prop_assert!(!same_turn || left + answer.granted == before);
            }
            was = answer;
        }
    }

    #[test]
    fn every_number_stays_below_two_to_the_53rd(
        steps in prop::collection::vec((number(), words()), 1..40),
    ) {
        let mut store = Store::new();
        for (pass, words) in steps {
            store.now = store.now.saturating_add(pass).min(MOST);
            let answer = store.say_of(words.opening, words);
            let numbers = [
                answer.opening, answer.until, answer.ticket, answer.granted, answer.release.gone,
                answer.release.from, answer.release.round, answer.release.first, answer.reset, answer.turn,
            ];
            prop_assert!(numbers.into_iter().all(|number| number <= MOST));
            prop_assert!((2..=4).contains(&answer.release.group));
        }
    }

    #[test]
    fn words_and_answers_keep_their_numbers(words in words(), now in number()) {
        let mut gate = None;
        let (answer, _) = step(&mut gate, &words, now);
        let is_countable = answer.opening <= MOST_OPENINGS;
        prop_assert_eq!(GateAnswer::of(&numbers_of(&answer)), is_countable.then_some(answer));
        prop_assert_eq!(words.numbers().len(), 10);
    }
}

/// An answer as the script gives it.
pub(super) fn numbers_of(answer: &GateAnswer) -> [i64; 14] {
    let signed = |number: u64| i64::try_from(number).unwrap();
    [
        signed(answer.opening),
        i64::from(answer.closed),
        signed(answer.until),
        signed(answer.ticket),
        signed(answer.granted),
        signed(answer.release.gone),
        signed(answer.release.from),
        signed(answer.release.round),
        signed(answer.release.first),
        signed(answer.release.group),
        answer.remaining.map_or(-1, signed),
        signed(answer.reset),
        signed(answer.turn),
        signed(answer.now),
    ]
}
