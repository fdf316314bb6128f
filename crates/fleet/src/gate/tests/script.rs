//! The script on a real server against its model.

use super::super::message::MAX_COUNT;
use super::*;
use crate::tests::server::Server;
use http_retry_core::policy::splitmix64;
use redis::{Connection, FromRedisValue, RedisResult, ToRedisArgs};

const SCRIPT: &str = include_str!("../../gate.lua");
const KEY: &str = "http-retry:1:{a}:gate";
const CHANNEL: &str = "http-retry:1:{a}:closed";

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = splitmix64(self.0);
        self.0 % most.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// The script on a server, with the test's clock, and its model.
struct Pair {
    connection: Connection,
    sha: String,
    now: u64,
    twin: Option<StoredGate>,
    change: u64,
    pushes: Vec<String>,
}

impl Pair {
    fn new(server: &Server) -> Self {
        let by_the_tests_clock = SCRIPT.replace("redis.call('TIME')", "{ ARGV[7], ARGV[8] }");
        assert_ne!(by_the_tests_clock, SCRIPT);
        let mut connection = server.connect().unwrap();
        let sha = ask(&mut connection, &["SCRIPT", "LOAD", &by_the_tests_clock]).unwrap();
        Self {
            connection,
            sha,
            now: 1_800_000_000 * SECOND,
            twin: None,
            change: 0,
            pushes: Vec::new(),
        }
    }

    fn ask<T: FromRedisValue>(&mut self, report: &[impl ToRedisArgs]) -> RedisResult<T> {
        ask(&mut self.connection, report)
    }

    fn command(&mut self, numbers: &[String]) -> RedisResult<Vec<i64>> {
        let mut command = ["EVALSHA", &self.sha, "1", KEY].map(str::to_owned).to_vec();
        command.extend_from_slice(numbers);
        command.push(CHANNEL.to_owned());
        command.extend([self.now / SECOND, self.now % SECOND].map(|time| time.to_string()));
        self.ask(&command)
    }

    fn answer(&mut self, report: &GateReport) -> GateReply {
        let numbers = report.numbers().map(|number| number.to_string());
        let numbers = self.command(&numbers);
        let numbers = numbers.unwrap_or_else(|error| panic!("{error} to {report:?}"));
        GateReply::of(&numbers).unwrap()
    }

    /// The same step on both.
    fn step(&mut self, report: &GateReport) -> GateReply {
        let real = self.answer(report);
        let (twin, push) = step(&mut self.twin, report, self.now);
        assert_eq!(real, twin, "{report:?}");
        let millis = |push: GateNotice| push.closed.as_nanos().div_ceil(1_000_000);
        let push = push.map(|push| format!("{}:{}", push.change, millis(push)));
        self.pushes.extend(push);
        self.change = real.notice.change;
        real
    }

    fn set(&mut self, field: &str, value: &str) {
        self.ask::<()>(&["HSET", KEY, field, value]).unwrap();
    }

    fn forget(&mut self) {
        self.ask::<()>(&["FLUSHALL"]).unwrap();
        self.twin = None;
    }
}

fn ask<T: FromRedisValue>(
    connection: &mut Connection,
    report: &[impl ToRedisArgs],
) -> RedisResult<T> {
    let (name, arguments) = report.split_first().unwrap();
    redis::Cmd::new().arg(name).arg(arguments).query(connection)
}

/// A report as processes send it, about the change that they know or an older one.
fn report(random: &mut Random, change: u64, huge: bool) -> GateReport {
    let time = |random: &mut Random| {
        if huge {
            MAX_COUNT - random.below(3)
        } else {
            random.below(4 * SECOND)
        }
    };
    let many = if huge { MAX_COUNT } else { 6 };
    GateReport {
        change: change.saturating_sub(u64::from(random.one_in(10))),
        successes: if random.one_in(3) {
            random.below(many)
        } else {
            0
        },
        refusals: if random.one_in(2) {
            random.below(many)
        } else {
            0
        },
        later: if random.one_in(4) {
            random.below(many)
        } else {
            0
        },
        delay: random.one_in(2).then(|| time(random)),
    }
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn model_and_script_agree_on_twenty_thousand_steps() {
    let server = Server::start(&[]);
    let mut pair = Pair::new(&server);
    let mut listener = server.connect().unwrap();
    let mut listener = listener.as_pubsub();
    listener.subscribe(CHANNEL).unwrap();
    let (mut random, mut probes) = (Random(7), 0_u64);
    for number in 0..20_000_u64 {
        if random.one_in(400) {
            pair.forget();
        }
        let huge = number % 4_000 < 1_000;
        let report = report(&mut random, pair.change, huge);
        let most = if random.one_in(50) { 90 } else { 2 };
        pair.now += random.below(most * SECOND);
        if random.one_in(300) {
            pair.now -= 4_000 * SECOND;
        }
        probes += u64::from(pair.step(&report).probe);
    }
    let soon = Some(Duration::from_millis(300));
    listener.set_read_timeout(soon).unwrap();
    let published = std::iter::from_fn(|| match listener.get_message() {
        Ok(published) => Some(published.get_payload::<String>().unwrap()),
        Err(error) if error.is_timeout() => None,
        Err(error) => panic!("{error}"),
    });
    assert_eq!(published.collect::<Vec<_>>(), pair.pushes);
    let changes = pair.pushes.len();
    assert!(changes > 500 && probes > 500, "{changes} and {probes}");
}

/// No numbers from 0 on that a script counts with.
const HOSTILE: [&str; 8] = [
    "nan",
    "1e308",
    "0x10",
    "-5",
    "",
    " 7",
    "1.5",
    "9007199254740992",
];

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn an_invalid_field_makes_a_new_gate() {
    let server = Server::start(&[]);
    let mut pair = Pair::new(&server);
    let long = "9".repeat(1_000_000);
    let fields = ["change", "until", "standing", "patience", "probes"];
    let wrong = [
        ("standing", "2"),
        ("patience", "1"),
        ("patience", "17"),
        ("doublings", "12"),
        ("probes", "17"),
        ("change", "4503599627370497"),
    ];
    let hostile = HOSTILE.into_iter().chain([&*long]);
    let hostile = hostile.flat_map(|value| fields.map(|field| (field, value)));
    for (field, value) in hostile.chain(wrong) {
        pair.step(&refused(4, Some(SECOND)));
        pair.set(field, value);
        pair.twin = None;
        pair.step(&refused(5, None));
    }
    pair.forget();
    pair.step(&GateReport::default());
    pair.set("more", "fields than it knows");
    pair.step(&refused(4, Some(SECOND)));
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn a_key_of_another_type_is_an_error_and_stays() {
    let server = Server::start(&[]);
    let mut pair = Pair::new(&server);
    for other in [["RPUSH", KEY, "x"], ["SET", KEY, "x"]] {
        pair.forget();
        pair.ask::<()>(&other).unwrap();
        let numbers = GateReport::default()
            .numbers()
            .map(|number| number.to_string());
        let error = pair.command(&numbers).unwrap_err();
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        assert!(pair.ask::<bool>(&["EXISTS", KEY]).unwrap());
    }
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn invalid_arguments_are_an_error() {
    let server = Server::start(&[]);
    let mut pair = Pair::new(&server);
    for wrong in ["nan", "0x10", "-3", "1e3", "99999999999999999"] {
        for at in 0..5 {
            let mut numbers = [(); 5].map(|()| "0".to_owned());
            wrong.clone_into(&mut numbers[at]);
            let error = pair.command(&numbers).unwrap_err();
            assert!(
                error.to_string().contains("FLEET"),
                "{wrong}, {at}: {error}"
            );
        }
    }
    assert_eq!(pair.ask::<u64>(&["DBSIZE"]).unwrap(), 0);
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn the_script_uses_the_servers_clock() {
    let server = Server::start(&[]);
    let mut connection = server.connect().unwrap();
    let mut command = vec!["EVAL", SCRIPT, "1", KEY, "0", "0", "4", "0", "9000000"];
    command.push(CHANNEL);
    let [change, left, probes] = ask::<[i64; 3]>(&mut connection, &command).unwrap();
    assert_eq!((change, left, probes), (1, 9_000_000, 1));
    let until: i64 = ask(&mut connection, &["HGET", KEY, "until"]).unwrap();
    let [seconds, _]: [i64; 2] = ask(&mut connection, &["TIME"]).unwrap();
    assert!((8..=9).contains(&(until / 1_000_000 - seconds)), "{until}");
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn a_gate_expires_an_hour_after_its_last_step() {
    let server = Server::start(&[]);
    let mut pair = Pair::new(&server);
    pair.step(&refused(4, Some(SECOND)));
    let left: u64 = pair.ask(&["PTTL", KEY]).unwrap();
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    let bytes: u64 = pair.ask(&["MEMORY", "USAGE", KEY]).unwrap();
    assert!(bytes < 300, "{bytes}");
}
