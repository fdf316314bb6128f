//! The script on a real server, and the state of its model.

use super::*;
use redis::{Connection, RedisError, Script};
use std::collections::BTreeMap;

const SCRIPT: &str = include_str!("../../../budget.lua");
pub(super) const BUCKET: &str = "http-retry:1:{a}:budget";
pub(super) const FIELDS: [&str; 8] = ["t", "r", "e", "q", "at", "w", "p", "c"];

/// Texts that no script writes into a field or a record.
const HOSTILE: [&str; 32] = [
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

pub(super) struct Store {
    pub(super) connection: Connection,
    script: Script,
    bucket: Option<StoredBucket>,
    records: BTreeMap<u64, Option<StoredRecord>>,
}

pub(super) fn key(process: u64) -> String {
    format!("http-retry:1:{{a}}:p:{process:016x}")
}

impl Store {
    pub(super) fn new(server: &Server) -> Self {
        Self {
            connection: server.connect().unwrap(),
            script: Script::new(SCRIPT),
            bucket: None,
            records: BTreeMap::new(),
        }
    }

    pub(super) fn run(&mut self, report: &BudgetReport) -> Result<BudgetReply, RedisError> {
        let mut run = self.script.prepare_invoke();
        run.key(BUCKET).key(key(report.process));
        for number in report.numbers() {
            run.arg(number);
        }
        let answer: Vec<i64> = run.invoke(&mut self.connection)?;
        Ok(BudgetReply::of(&answer).unwrap_or_else(|| panic!("{answer:?}")))
    }

    /// One step of both, which must agree.
    pub(super) fn step(&mut self, report: &BudgetReport) -> BudgetReply {
        let answer = self
            .run(report)
            .unwrap_or_else(|error| panic!("{report:?}: {error}"));
        let record = self.records.entry(report.process).or_default();
        let wanted = settle(&mut self.bucket, record, report, answer.now_ms);
        assert_eq!(answer, wanted, "{report:?}");
        answer
    }

    pub(super) fn command(&mut self, report: &[&str]) {
        let (name, arguments) = report.split_first().unwrap();
        let mut command = redis::cmd(name);
        command.arg(arguments);
        command.exec(&mut self.connection).unwrap();
    }

    pub(super) fn flush_all(&mut self) {
        self.command(&["FLUSHALL"]);
        self.bucket = None;
        self.records.clear();
    }

    /// Writes this text to one field of the bucket, and updates the model's bucket.
    pub(super) fn spoil_bucket(&mut self, field: &str, text: &str) {
        self.command(&["HSET", BUCKET, field, text]);
        let mut ask = redis::cmd("HMGET");
        let fields: Vec<Option<String>> = ask
            .arg(BUCKET)
            .arg(&FIELDS)
            .query(&mut self.connection)
            .unwrap();
        let rate = 0..=1_000_000_000;
        let bounds = [
            -MAX_COUNT..=MAX_COUNT,
            rate.clone(),
            0..=999,
            0..=1_000_000_000,
            0..=MAX_COUNT,
            0..=MAX_COUNT,
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
            quiet: read[3],
            at: read[4],
            window: read[5],
            before: read[6],
            current: read[7],
        });
    }

    pub(super) fn spoil_record(&mut self, process: u64, text: &str) {
        self.command(&["SET", &key(process), text]);
        let numbers: Option<Vec<i64>> = if text.len() <= 80 {
            text.split(':').map(natural).collect()
        } else {
            None
        };
        let read = numbers.filter(|read| {
            let bounds = [MAX_COUNT, MAX_COUNT, 4 * MAX_COUNT, MAX_COUNT];
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

/// Parses an integer as the script does.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    natural(digits).filter(|_| text.len() <= 17)?;
    text.parse().ok()
}

fn natural(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits && text.len() <= 17)
}

pub(super) fn hostile(numbers: &mut Numbers) -> String {
    match numbers.below(40) {
        0 => "7".repeat(1 << 20),
        _ => {
            let place = numbers.below(HOSTILE.len() as u64);
            HOSTILE[usize::try_from(place).unwrap()].to_owned()
        }
    }
}
