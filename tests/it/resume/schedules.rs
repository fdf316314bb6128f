//! Thousands of downloads through a network that breaks: each is whole, or an error, and never another file.
//!
//! `HTTP_RETRY_SCHEDULES=1500 cargo test --all-features --test it resume::schedules -- --nocapture` plays 1,500 of each
//! row for each client, 3,000 of those with ranges and on HTTP/2, 18,000 of them by our clients, and prints the table;
//! ordinary runs play a few of each.

use super::clients::{Stack, why};
use super::steered::Steered;
use super::world::{End, Fault, File, LONGEST, file_server, proxy};
use crate::in_time::IN_VAIN;
use crate::random::Random;
use std::collections::BTreeMap;
use std::ops::Range;
use tokio::task::JoinSet;

/// In an ordinary run.
const FEW: u64 = 24;
const AT_ONCE: u64 = 16;

#[derive(Debug, Clone, Copy)]
struct Row {
    what: &'static str,
    most_faults: u64,
    /// A part of the downloads is for a range of the caller's own.
    own_ranges: bool,
    /// So many times as many schedules as other rows.
    times: u64,
    stacks: &'static [Stack],
}

const ROWS: [Row; 4] = [
    Row {
        what: "one fault each",
        most_faults: 1,
        own_ranges: false,
        times: 1,
        stacks: &[
            Stack::Bare,
            Stack::ReqwestRetry,
            Stack::Middleware,
            Stack::Tower,
            Stack::Direct,
        ],
    },
    Row {
        what: "up to 6 faults",
        most_faults: 6,
        own_ranges: false,
        times: 1,
        stacks: &[
            Stack::Bare,
            Stack::ReqwestRetry,
            Stack::Middleware,
            Stack::Tower,
            Stack::Direct,
        ],
    },
    Row {
        what: "up to 6, a quarter with ranges",
        most_faults: 6,
        own_ranges: true,
        times: 2,
        stacks: &[Stack::Middleware, Stack::Tower],
    },
    Row {
        what: "up to 6 on HTTP/2",
        most_faults: 6,
        own_ranges: false,
        times: 2,
        stacks: &[Stack::TowerHttp2],
    },
];

/// What a schedule is, by its seed alone.
#[derive(Debug)]
struct Schedule {
    file: File,
    range: Option<Range<usize>>,
    faults: Vec<Fault>,
}

impl Schedule {
    fn of(seed: u64, row: &Row) -> Self {
        let mut random = Random::of(seed);
        let mut below = |end: usize| usize::try_from(random.next() >> 1).unwrap() % end.max(1);
        // Each order of magnitude is as likely as the others; some files are empty.
        let most = LONGEST >> below(24);
        let length = below(most + 1);
        let file = File {
            start: below(LONGEST),
            length,
        };
        let ranged = row.own_ranges && length > 0 && below(4) == 0;
        let range = ranged.then(|| {
            let first = below(length);
            first..first + 1 + below(length - first)
        });
        let most = usize::try_from(row.most_faults).unwrap();
        let faults = (0..1 + below(most)).map(|_| {
            let end = [End::Close, End::Reset, End::Stall][below(3)];
            (below(length + 200), end)
        });
        Self {
            file,
            range,
            faults: faults.collect(),
        }
    }
}

/// Whole, broken with an error, and wrong.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Seen {
    whole: u64,
    wrong: u64,
    errors: BTreeMap<String, u64>,
}

async fn play(schedule: Schedule, stack: Stack) -> Seen {
    let steered = Steered::new(stack.patience());
    let server = file_server(stack == Stack::TowerHttp2).await;
    let Schedule {
        file,
        range,
        faults,
    } = schedule;
    let told = format!("{faults:?}");
    let proxy = proxy(server.address, faults, &steered).await;
    let url = format!("http://{}{}", proxy.address, file.path());
    let asked = range
        .as_ref()
        .map(|range| format!("bytes={}-{}", range.start, range.end - 1));
    let got = stack.get(&url, asked.as_deref(), &steered);
    let ended = tokio::time::timeout(IN_VAIN, got).await;
    let (read, error) =
        ended.unwrap_or_else(|_| panic!("it never ends: {file:?} {range:?} {told}"));
    let wanted = file.bytes(range.unwrap_or(0..file.length));
    let mut seen = Seen::default();
    match error {
        None if read == wanted => seen.whole = 1,
        Some(error) if wanted.starts_with(&read) => drop(seen.errors.insert(why(&error), 1)),
        _ => seen.wrong = 1,
    }
    seen
}

async fn play_all(row: Row, stack: Stack) -> Seen {
    let told = std::env::var("HTTP_RETRY_SCHEDULES").ok();
    let schedules = told.map_or(FEW, |number| row.times * number.parse::<u64>().unwrap());
    let mut players = JoinSet::new();
    for first in 0..AT_ONCE {
        players.spawn(async move {
            let mut seen = Seen::default();
            for seed in (first..schedules).step_by(usize::try_from(AT_ONCE).unwrap()) {
                let one = play(Schedule::of(seed, &row), stack).await;
                assert_eq!(one.wrong, 0, "{stack:?}, {}: seed {seed}", row.what);
                seen.whole += one.whole;
                for (why, number) in one.errors {
                    *seen.errors.entry(why).or_default() += number;
                }
            }
            seen
        });
    }
    let mut all = Seen::default();
    while let Some(seen) = players.join_next().await {
        let Seen { whole, errors, .. } = seen.unwrap();
        all.whole += whole;
        for (why, number) in errors {
            *all.errors.entry(why).or_default() += number;
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "the table is for who asks")]
async fn a_download_is_whole_or_an_error_whatever_breaks() {
    println!("| schedules | client | whole | error | wrong bytes | errors |");
    println!("|---|---|---|---|---|---|");
    let mut resumed = 0;
    for row in ROWS {
        for &stack in row.stacks {
            let seen = play_all(row, stack).await;
            let errors: u64 = seen.errors.values().sum();
            println!(
                "| {} | {stack:?} | {} | {errors} | {} | {:?} |",
                row.what, seen.whole, seen.wrong, seen.errors
            );
            if matches!(stack, Stack::Bare | Stack::ReqwestRetry) {
                continue;
            }
            let known = ["attempts_exhausted", "head_failed", "no head: "];
            let is_known = |why: &&String| known.iter().any(|known| why.starts_with(known));
            let odd = seen.errors.keys().filter(|why| !is_known(why));
            assert_eq!(odd.count(), 0, "{seen:?}");
            resumed += seen.whole + errors;
            assert!(row.most_faults > 1 || errors == 0, "{seen:?}");
        }
    }
    println!("{resumed} schedules of clients that resume: 0 wrong bytes");
}
