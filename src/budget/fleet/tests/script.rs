//! The script on a real server gives its twin's answers, whatever it finds and whatever it is told.

use super::super::words::MOST;
use super::numbers::{Numbers, words};
use super::*;
use crate::fleet::server::Server;
use redis::{Connection, RedisError, Script};
use std::collections::BTreeMap;

const SCRIPT: &str = include_str!("../../../fleet/budget.lua");
const BUCKET: &str = "http-retry:1:{a}:budget";
const FIELDS: [&str; 7] = ["t", "r", "e", "at", "w", "p", "c"];
const STEPS: u64 = 20_000;

struct Store {
    connection: Connection,
    script: Script,
    bucket: Option<StoredBucket>,
    records: BTreeMap<u64, Option<StoredRecord>>,
}

fn key(process: u64) -> String {
    format!("http-retry:1:{{a}}:p:{process:016x}")
}

impl Store {
    fn new(server: &Server) -> Self {
        Self {
            connection: server.connect().unwrap(),
            script: Script::new(SCRIPT),
            bucket: None,
            records: BTreeMap::new(),
        }
    }

    fn run(&mut self, words: &BudgetWords) -> Result<BudgetAnswer, RedisError> {
        let mut run = self.script.prepare_invoke();
        run.key(BUCKET).key(key(words.process));
        for number in words.numbers() {
            run.arg(number);
        }
        let answer: Vec<i64> = run.invoke(&mut self.connection)?;
        Ok(BudgetAnswer::of(&answer).unwrap_or_else(|| panic!("{answer:?}")))
    }

    /// One step of both, which must agree.
    fn step(&mut self, words: &BudgetWords) -> BudgetAnswer {
        let answer = self
            .run(words)
            .unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let record = self.records.entry(words.process).or_default();
        let wanted = settle(&mut self.bucket, record, words, answer.now_ms);
        assert_eq!(answer, wanted, "{words:?}");
        answer
    }

    fn command(&mut self, words: &[&str]) {
        let (name, arguments) = words.split_first().unwrap();
        let mut command = redis::cmd(name);
        command.arg(arguments);
        command.exec(&mut self.connection).unwrap();
    }

    fn flush_all(&mut self) {
        self.command(&["FLUSHALL"]);
        self.bucket = None;
        self.records.clear();
    }

    /// Puts this text into one field of the bucket, and reads what is there as the twin's bucket.
    fn spoil_bucket(&mut self, field: &str, text: &str) {
        self.command(&["HSET", BUCKET, field, text]);
        let mut ask = redis::cmd("HMGET");
        let fields: Vec<Option<String>> = ask
            .arg(BUCKET)
            .arg(&FIELDS)
            .query(&mut self.connection)
            .unwrap();
        let rate = 0..=1_000_000_000;
        let bounds = [
            -MOST..=MOST,
            rate.clone(),
            0..=999,
            0..=MOST,
            0..=MOST,
            rate.clone(),
            rate,
        ];
        let read = fields.iter().zip(bounds).map(|(text, bounds)| {
            let number = integer(text.as_deref()?)?;
            bounds.contains(&number).then_some(number)
        });
        let read: Option<Vec<i64>> = read.collect();
        self.bucket = read.map(|read| StoredBucket {
            tokens: read[0],
            rate: read[1],
            rest: read[2],
            at: read[3],
            window: read[4],
            before: read[5],
            current: read[6],
        });
    }

    fn spoil_record(&mut self, process: u64, text: &str) {
        self.command(&["SET", &key(process), text]);
        let numbers: Option<Vec<i64>> = match text.len() <= 80 {
            true => text.split(':').map(natural).collect(),
            false => None,
        };
        let read = numbers.filter(|read| {
            let bounds = [MOST, MOST, 4 * MOST, MOST];
            read.len() == 4
                && read
                    .iter()
                    .zip(bounds)
                    .all(|(number, most)| *number <= most)
        });
        let record = read.map(|read| StoredRecord {
            seq: read[0],
            successes: read[1],
            taken: read[2],
            window: read[3],
        });
        self.records.insert(process, record);
    }
}

/// What counts as an integer in a field.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    natural(digits).filter(|_| text.len() <= 17)?;
    text.parse().ok()
}

fn natural(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits && text.len() <= 17)
}

fn hostile(numbers: &mut Numbers) -> String {
    let texts = [
        "nan",
        "inf",
        "-inf",
        "1e308",
        "1e3",
        "0x10",
        "-5",
        "",
        " 7",
        "7 ",
        "1.5",
        "0",
        "-0",
        "007",
        "999999999999999999",
        "1000000000000001",
        "-1000000000000000",
        "4000000000000000",
        "9007199254740993",
        "\0",
        "1\n",
        "١",
        "::::",
        "1:2:3",
        "1:2:3:4",
        "1:2:3:4:5",
        "-1:2:3:4",
        "1:nan:3:4",
        "0x1:1:1:1",
        "99999999999999999:1:1:1",
        "1:1:4000000000000000:1",
        "1:1:4000000000000001:1",
    ];
    match numbers.below(40) {
        0 => "7".repeat(1 << 20),
        _ => {
            let place = numbers.below(texts.len() as u64);
            texts[usize::try_from(place).unwrap()].to_owned()
        }
    }
}

/// What a process of the test remembers: more or less what a real one does, and sometimes anything.
#[derive(Default, Clone, Copy)]
struct Memory {
    seq: i64,
    successes: i64,
    taken: i64,
    acked: (i64, i64),
    known: Option<i64>,
}

fn command(numbers: &mut Numbers, process: u64, memory: &mut Memory) -> BudgetWords {
    memory.seq = (memory.seq + 1).min(MOST);
    let usual = !numbers.one_in(4);
    let more = |numbers: &mut Numbers, all: i64, often: i64| match usual {
        true => (all + numbers.up_to(often)).min(MOST),
        false => numbers.up_to(MOST),
    };
    memory.successes = more(numbers, memory.successes, 5_000);
    memory.taken = more(numbers, memory.taken, 3_000_000);
    BudgetWords {
        process,
        terms: numbers.terms(),
        seq: memory.seq,
        successes: memory.successes,
        successes_acked: memory.acked.0,
        taken: memory.taken,
        taken_acked: memory.acked.1,
        want: match usual {
            true => numbers.up_to(5_000_000),
            false => numbers.up_to(MOST),
        },
        known: memory.known.map(|known| known.max(0)),
    }
}

#[test]
fn the_script_gives_its_twins_answers() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let (mut store, mut numbers) = (Store::new(&server), Numbers(1));
    let mut memories = [Memory::default(); 4];
    let mut last = vec![words(); 4];
    let (mut repeated, mut granted) = (0, 0);
    for _ in 0..STEPS {
        let process = numbers.below(4);
        let place = usize::try_from(process).unwrap();
        match numbers.below(100) {
            0 => store.flush_all(),
            1 => {
                let field = FIELDS[usize::try_from(numbers.below(7)).unwrap()];
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
                let words = command(&mut numbers, process, &mut memories[place]);
                let answer = store.step(&words);
                last[place] = words;
                granted += i32::from(answer.granted > 0);
                if !numbers.one_in(5) {
                    let memory = &mut memories[place];
                    let taken = words.taken.saturating_add(answer.granted).min(MOST);
                    (memory.taken, memory.acked) = (taken, (words.successes, taken));
                    memory.known = Some(answer.tokens);
                }
                if numbers.one_in(20) {
                    memories[place] = Memory {
                        seq: words.seq,
                        ..Memory::default()
                    };
                }
            }
        }
    }
    assert!(repeated > 1_000 && granted > 1_000, "{repeated} {granted}");
}

#[test]
fn keys_of_another_type_are_errors_and_stay() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut store = Store::new(&server);
    for key in [BUCKET.to_owned(), key(1)] {
        store.command(&["RPUSH", &key, "mine"]);
        let error = store.run(&words()).unwrap_err();
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        let mut ask = redis::cmd("LRANGE");
        let list: Vec<String> = ask
            .arg(&[&key, "0", "-1"])
            .query(&mut store.connection)
            .unwrap();
        assert_eq!(list, ["mine"]);
        store.command(&["DEL", &key]);
    }
    assert_eq!(store.step(&words()).flag, Flag::New);
}

#[test]
fn every_key_expires_and_each_step_renews_that() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut store = Store::new(&server);
    for seq in 1..3 {
        store.step(&BudgetWords { seq, ..words() });
        for (key, most) in [(BUCKET.to_owned(), 3_600_000), (key(1), 60_000)] {
            let mut ask = redis::cmd("PTTL");
            let left: i64 = ask.arg(&key).query(&mut store.connection).unwrap();
            assert!((most - 10_000..=most).contains(&left), "{key}: {left}");
            store.command(&["PEXPIRE", &key, "20000"]);
        }
    }
}
