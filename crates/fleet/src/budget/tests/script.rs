//! The script on a real server against its model, with any stored data and any arguments.

mod store;

use super::super::message::MAX_COUNT;
use super::numbers::{Numbers, report};
use super::*;
use crate::tests::server::Server;
use store::{BUCKET, FIELDS, Store, hostile, key};

const STEPS: u64 = 20_000;

/// The memory of a test process: mostly that of a real one, and sometimes anything.
#[derive(Default, Clone, Copy)]
struct Memory {
    seq: i64,
    successes: i64,
    taken: i64,
    acked: (i64, i64),
    known: Option<i64>,
}

impl Memory {
    fn command(&mut self, numbers: &mut Numbers, process: u64) -> BudgetReport {
        self.seq = (self.seq + 1).min(MAX_COUNT);
        let usual = !numbers.one_in(4);
        let more = |numbers: &mut Numbers, all: i64, often: i64| {
            if usual {
                (all + numbers.up_to(often)).min(MAX_COUNT)
            } else {
                numbers.up_to(MAX_COUNT)
            }
        };
        self.successes = more(numbers, self.successes, 5_000);
        self.taken = more(numbers, self.taken, 3_000_000);
        BudgetReport {
            process,
            terms: numbers.terms(),
            seq: self.seq,
            successes: self.successes,
            successes_acked: self.acked.0,
            taken: self.taken,
            taken_acked: self.acked.1,
            want: if usual {
                numbers.up_to(5_000_000)
            } else {
                numbers.up_to(MAX_COUNT)
            },
            known: self.known.map(|known| known.max(0)),
        }
    }

    /// Receives most replies, and forgets everything now and then.
    fn receives(&mut self, numbers: &mut Numbers, report: &BudgetReport, reply: &BudgetReply) {
        if !numbers.one_in(5) {
            let taken = report.taken.saturating_add(reply.granted).min(MAX_COUNT);
            (self.taken, self.acked) = (taken, (report.successes, taken));
            self.known = Some(reply.tokens);
        }
        if numbers.one_in(20) {
            *self = Self {
                seq: report.seq,
                ..Self::default()
            };
        }
    }
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn the_script_agrees_with_its_model() {
    let server = Server::start(&[]);
    let (mut store, mut numbers) = (Store::new(&server), Numbers(1));
    let mut memories = [Memory::default(); 4];
    let mut last = vec![report(); 4];
    let (mut repeated, mut granted) = (0, 0);
    for _ in 0..STEPS {
        let process = numbers.below(4);
        let place = usize::try_from(process).unwrap();
        match numbers.below(100) {
            0 => store.flush_all(),
            1 => {
                let field = FIELDS[usize::try_from(numbers.below(FIELDS.len() as u64)).unwrap()];
                let text = hostile(&mut numbers);
                store.spoil_bucket(field, &text);
            }
            2 => {
                let text = hostile(&mut numbers);
                store.spoil_record(process, &text);
            }
            3..13 => {
                let earlier = last[place];
                store.step(&earlier);
                repeated += 1;
            }
            _ => {
                let report = memories[place].command(&mut numbers, process);
                let reply = store.step(&report);
                last[place] = report;
                granted += i32::from(reply.granted > 0);
                memories[place].receives(&mut numbers, &report, &reply);
            }
        }
    }
    assert!(repeated > 1_000 && granted > 1_000, "{repeated} {granted}");
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn keys_of_another_type_are_errors_and_stay() {
    let server = Server::start(&[]);
    let mut store = Store::new(&server);
    for key in [BUCKET.to_owned(), key(1)] {
        store.command(&["RPUSH", &key, "mine"]);
        let error = store.run(&report()).unwrap_err();
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        let mut ask = redis::cmd("LRANGE");
        let list: Vec<String> = ask
            .arg(&[&key, "0", "-1"])
            .query(&mut store.connection)
            .unwrap();
        assert_eq!(list, ["mine"]);
        store.command(&["DEL", &key]);
    }
    assert_eq!(store.step(&report()).kind, ReplyKind::New);
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn every_key_expires_and_each_step_renews_it() {
    let server = Server::start(&[]);
    let mut store = Store::new(&server);
    for seq in 1..3 {
        store.step(&BudgetReport { seq, ..report() });
        for (key, most) in [(BUCKET.to_owned(), 3_600_000), (key(1), 60_000)] {
            let mut ask = redis::cmd("PTTL");
            let left: i64 = ask.arg(&key).query(&mut store.connection).unwrap();
            assert!((most - 10_000..=most).contains(&left), "{key}: {left}");
            store.command(&["PEXPIRE", &key, "20000"]);
        }
    }
}
