//! The script on a real server does what its twin does.

use super::*;
use crate::fleet::server::Server;
use crate::gate::controller::MOST;
use crate::policy::splitmix64;
use redis::{Connection, FromRedisValue, RedisResult, ToRedisArgs};

const SCRIPT: &str = include_str!("../../../fleet/gate.lua");
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

    /// A length of time as it comes up, or at the end of the numbers.
    fn time(&mut self, huge: bool) -> u64 {
        match huge {
            true => MOST - self.below(3),
            false => self.below(4 * MILLISECOND),
        }
    }
}

/// A script on a server, and its twin.
struct Pair {
    connection: Connection,
    sha: String,
    twin: Option<SharedGate>,
    last: Option<GateAnswer>,
    pushes: Vec<String>,
}

impl Pair {
    fn new(server: &Server) -> Self {
        let mut connection = server.connect().unwrap();
        let sha = ask(&mut connection, &["SCRIPT", "LOAD", SCRIPT]).unwrap();
        Self {
            connection,
            sha,
            twin: None,
            last: None,
            pushes: Vec::new(),
        }
    }

    fn ask<T: FromRedisValue>(&mut self, words: &[impl ToRedisArgs]) -> RedisResult<T> {
        ask(&mut self.connection, words)
    }

    fn command(&mut self, words: &GateWords) -> RedisResult<Vec<i64>> {
        let mut command = ["EVALSHA", &self.sha, "1", KEY].map(str::to_owned).to_vec();
        command.extend(words.numbers().map(|number| number.to_string()));
        command.push(CHANNEL.to_owned());
        self.ask(&command)
    }

    /// The same step on both, at the server's time.
    fn step(&mut self, words: &GateWords) -> GateAnswer {
        let real = self.answer(words);
        let (twin, push) = step(&mut self.twin, words, real.now);
        assert_eq!(real, twin, "{words:?}");
        let push = push.map(|push| format!("{}:{}", push.opening, push.closed.as_millis()));
        self.pushes.extend(push);
        self.last = Some(real);
        real
    }

    fn answer(&mut self, words: &GateWords) -> GateAnswer {
        let numbers = self.command(words);
        let numbers = numbers.unwrap_or_else(|error| panic!("{error} to {words:?}"));
        GateAnswer::of(&numbers).unwrap()
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
    words: &[impl ToRedisArgs],
) -> RedisResult<T> {
    let (name, arguments) = words.split_first().unwrap();
    redis::Cmd::new().arg(name).arg(arguments).query(connection)
}

/// Words as processes say them, about the opening and the turn that they know or an older one.
fn words(random: &mut Random, last: Option<&GateAnswer>, huge: bool) -> GateWords {
    let (opening, turn) = last.map_or((0, 0), |last| (last.opening, last.turn));
    let accuses = [Accuses::Same, Accuses::Begins, Accuses::Ends];
    let told = Quota {
        remaining: random.below(200),
        limit: Some(random.below(4) * 100).filter(|limit| *limit > 0),
        reset: random.time(huge),
    };
    let told = (!random.one_in(5)).then_some(told);
    let turn = turn.saturating_sub(u64::from(random.one_in(5)));
    let many = if huge { MOST } else { 20 };
    GateWords {
        opening: opening.saturating_sub(u64::from(random.one_in(10))),
        asked: random.one_in(8).then(|| random.time(huge)),
        accuses: accuses[usize::try_from(random.below(3)).unwrap()],
        successes: if random.one_in(2) {
            random.below(many)
        } else {
            0
        },
        tickets: if random.one_in(2) {
            random.below(many)
        } else {
            0
        },
        quota: random.one_in(10).then_some(QuotaWord { turn, told }),
        random: random.below(1_000_000),
    }
}

/// Of a quota of 100 so much remains, for 100 s.
fn told(turn: u64, remaining: u64) -> GateWords {
    GateWords {
        quota: Some(word(turn, Some((remaining, 100 * SECOND)))),
        ..GateWords::default()
    }
}

#[test]
fn twin_and_script_agree_on_twenty_thousand_steps() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    let mut listener = server.connect().unwrap();
    let mut listener = listener.as_pubsub();
    listener.subscribe(CHANNEL).unwrap();
    let (mut random, mut said) = (Random(7), Vec::new());
    for number in 0..20_000_u64 {
        if random.one_in(if number % 4_000 < 1_000 { 20 } else { 400 }) {
            pair.forget();
        }
        let huge = number % 4_000 < 1_000;
        let words = match random.one_in(10) && !said.is_empty() {
            true => said[usize::try_from(random.below(said.len() as u64)).unwrap()],
            false => words(&mut random, pair.last.as_ref(), huge),
        };
        said.push(words);
        said.drain(..said.len().saturating_sub(50));
        pair.step(&words);
    }
    let soon = Some(Duration::from_millis(300));
    listener.set_read_timeout(soon).unwrap();
    let told = std::iter::from_fn(|| match listener.get_message() {
        Ok(told) => Some(told.get_payload::<String>().unwrap()),
        Err(error) if error.is_timeout() => None,
        Err(error) => panic!("{error}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), pair.pushes);
    assert!(pair.pushes.len() > 500, "{}", pair.pushes.len());
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
fn a_field_that_the_script_has_not_written_makes_a_new_gate() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    let long = "9".repeat(1_000_000);
    for value in HOSTILE.into_iter().chain([&*long]) {
        for field in ["opening", "until", "each", "group", "next", "remaining"] {
            pair.step(&refusal(MILLISECOND));
            pair.set(field, value);
            pair.twin = None;
            pair.step(&GateWords {
                tickets: 3,
                ..refusal(2 * MILLISECOND)
            });
        }
    }
    for (field, value) in [
        ("group", "1"),
        ("group", "5"),
        ("each", "0"),
        ("closed", "2"),
        ("doublings", "12"),
        ("opening", "4503599627370497"),
        ("round", "60000001"),
    ] {
        pair.step(&GateWords::default());
        pair.set(field, value);
        pair.twin = None;
        pair.step(&refusal(SECOND));
    }
    pair.forget();
    pair.step(&GateWords::default());
    pair.set("more", "fields than it knows");
    pair.step(&refusal(SECOND));
}

#[test]
fn a_time_that_is_far_ahead_makes_a_new_gate() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    for (field, ahead) in [
        ("since", 900),
        ("closed_at", 900),
        ("reset", 90_000),
        ("until", 3_600_900),
        ("from", 60_900),
    ] {
        for (ahead, is_new) in [(ahead, false), (ahead + 12_000, true)] {
            pair.forget();
            let now = pair.step(&told(0, 3)).now;
            pair.set(field, &(now + ahead * MILLISECOND).to_string());
            let answer = pair.answer(&told(0, 5));
            let remains = if is_new { 5 } else { 3 };
            assert_eq!(answer.remaining, Some(remains), "{field} {ahead}");
        }
    }
    pair.forget();
    let far = pair.step(&told(0, 3)).now + 90_000 * SECOND;
    pair.set("len", &far.to_string());
    pair.set("reset", &far.to_string());
    assert_eq!(pair.answer(&told(0, 5)).remaining, Some(5));
}

#[test]
fn no_process_asks_for_more_than_an_hour() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    let hour = 3_600 * SECOND;
    let answer = pair.step(&refusal(MOST));
    assert_eq!(answer.until, answer.now + hour);
    let answer = pair.step(&GateWords {
        quota: Some(word(0, Some((0, MOST)))),
        ..GateWords::default()
    });
    assert_eq!(answer.reset, answer.now + hour);
    assert_eq!(pair.pushes, ["0:3600000"]);
}

#[test]
fn a_key_of_another_type_is_an_error_and_stays() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    for other in [["RPUSH", KEY, "x"], ["SET", KEY, "x"]] {
        pair.forget();
        pair.ask::<()>(&other).unwrap();
        let error = pair.command(&refusal(SECOND)).unwrap_err();
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        assert!(pair.ask::<bool>(&["EXISTS", KEY]).unwrap());
    }
}

#[test]
fn words_that_are_no_numbers_are_an_error() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    let sha = pair.sha.clone();
    for wrong in ["nan", "0x10", "-3", "1e3", "99999999999999999"] {
        for at in 0..10 {
            let mut command = vec!["EVALSHA", &sha, "1", KEY];
            command.extend((0..10).map(|word| if word == at { wrong } else { "0" }));
            command.push(CHANNEL);
            let error = pair.ask::<()>(&command).unwrap_err();
            assert!(
                error.to_string().contains("FLEET"),
                "{wrong}, {at}: {error}"
            );
        }
    }
    assert_eq!(pair.ask::<u64>(&["DBSIZE"]).unwrap(), 0);
}

#[test]
fn a_gate_is_forgotten_after_an_hour_without_words() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let mut pair = Pair::new(&server);
    pair.step(&refusal(SECOND));
    let left: u64 = pair.ask(&["PTTL", KEY]).unwrap();
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    let bytes: u64 = pair.ask(&["MEMORY", "USAGE", KEY]).unwrap();
    assert!(bytes < 700, "{bytes}");
}
