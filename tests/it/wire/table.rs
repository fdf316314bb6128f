//! Every row of the two tables, on real sockets and through every client.

pub(crate) mod clients;
pub(crate) mod ending;
mod errors;
pub(crate) mod orders;
mod situations;
mod stale;

use clients::{Log, Retries, Stack};
use ending::Ending;
use http_retry::ErrorKind;
use http_retry::report::AttemptReport;
use orders::Order;
use situations::Situation;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the table is there to be read")]
async fn every_row_of_the_two_tables() {
    let mut table = String::from(HEAD);
    for situation in situations::statuses::all().await {
        table.push_str(&rows_of(&situation).await);
    }
    table.push('\n');
    table.push_str(HEAD);
    for situation in situations::errors::all().await {
        table.push_str(&rows_of(&situation).await);
    }
    println!("{table}");
    check_design(&table);
}

/// As many runs of each row on several threads, or as many as `HTTP_RETRY_ROWS` says: a meaning that depends on which
/// of two tasks comes first changes only there.
const RUNS: usize = 1;

/// A limit that passes by itself, since the clock of several threads cannot be moved.
const SHORT: Duration = Duration::from_millis(10);

/// The time after which a request counts as lost in the client.
const HUNG: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
#[expect(clippy::print_stdout, reason = "the counts are asked for")]
async fn every_row_has_one_verdict_on_many_threads() {
    let runs = std::env::var("HTTP_RETRY_ROWS").ok();
    let runs = runs.map_or(RUNS, |runs| runs.parse().unwrap());
    let chapter = fs::read_to_string(CHAPTER).unwrap();
    let shown = table_of(&chapter);
    let mut lost = BTreeMap::<_, usize>::new();
    for run in 0..runs {
        // Servers of its own for each run, since what they do to requests is counted.
        let statuses = situations::statuses::all().await;
        let errors = situations::errors::all().await;
        for situation in statuses.into_iter().chain(errors) {
            let situation = situation.with(|kit| kit.limit = SHORT);
            let before = LOST.load(Relaxed);
            for row in rows_of(&situation).await.lines() {
                assert!(shown.contains(row), "run {run} saw {row}");
            }
            *lost.entry(situation.name).or_default() += LOST.load(Relaxed) - before;
        }
    }
    lost.retain(|_, lost| *lost > 0);
    println!("lost reasons in {runs} runs: {lost:?}");
}

const HEAD: &str = "\
| what happens | client | class | reach | error | GET | POST | POST with key | PUT |
|---|---|---|---|---|---|---|---|---|
";

/// One client's cells, without the name of what happens and of the client.
type Cells = [String; 7];

/// The rows of one situation: clients that agree share one.
async fn rows_of(situation: &Situation) -> String {
    let mut rows: Vec<(Vec<&str>, Cells)> = Vec::new();
    for stack in situation.stacks() {
        let cells = cells_of(situation, stack).await;
        match rows.iter_mut().find(|row| row.1 == cells) {
            Some((names, _)) if names.contains(&stack.name()) => {}
            Some((names, _)) => names.push(stack.name()),
            None => rows.push((vec![stack.name()], cells)),
        }
    }
    let mut text = String::new();
    for (names, cells) in rows {
        let clients = if names.len() == 4 {
            "all".to_owned()
        } else {
            names.join(", ")
        };
        writeln!(
            text,
            "| {} | {clients} | {} |",
            situation.name,
            cells.join(" | ")
        )
        .unwrap();
    }
    text
}

async fn cells_of(situation: &Situation, stack: Stack) -> Cells {
    let mut seen = Vec::new();
    for order in Order::ALL {
        seen.push(attempts_of(situation, stack, order).await);
    }
    let cell = |read: fn(&AttemptReport) -> String| {
        cell([0, 1, 2, 3].map(|order| read(&seen[order][0])))
            .unwrap_or_else(|disagree| panic!("{}, {stack:?}: {disagree:?}", situation.name))
    };
    let retried = |order: usize| match seen[order].len() {
        1 => "no".to_owned(),
        2 => "yes".to_owned(),
        more => panic!("{more} attempts"),
    };
    [
        cell(|first| first.class.to_string()),
        cell(|first| first.reach.to_string()),
        cell(|first| first.error.map_or("-".to_owned(), |kind| kind.to_string())),
        retried(0),
        retried(1),
        retried(2),
        retried(3),
    ]
}

/// What was seen with GET, and what POST without a key saw where it differs; the idempotent ones agree.
fn cell(orders: [String; 4]) -> Result<String, [String; 4]> {
    match orders {
        [get, post, with_key, put] if get != with_key || get != put => {
            Err([get, post, with_key, put])
        }
        [get, post, ..] if get == post => Ok(get),
        [get, post, ..] => Ok(format!("{get} (POST: {post})")),
    }
}

async fn attempts_of(situation: &Situation, stack: Stack, order: Order) -> Vec<AttemptReport> {
    // More tries than any run of bad luck takes.
    const TRIES: usize = 10_000;
    for _ in 0..TRIES {
        let call = attempts_of_a_call(situation, stack, order);
        if !situation.races() {
            return call.await;
        }
        // The row of a canceled request says what becomes of one whose reason is lost, and those of a GOAWAY without the
        // request what becomes of one that hyper counts among them. One in about 900 is lost itself:
        // hyper-util's client never ends a request that waits for a connection whose handshake fails, without retries too.
        match tokio::time::timeout(HUNG, call).await {
            Ok(attempts) if !attempts.iter().any(is_without_reason) => return attempts,
            Ok(_) | Err(_) => LOST.fetch_add(1, Relaxed),
        };
    }
    panic!("{} {stack:?} {order:?}: no reason", situation.name);
}

async fn attempts_of_a_call(
    situation: &Situation,
    stack: Stack,
    order: Order,
) -> Vec<AttemptReport> {
    let log = Log::default();
    let before = situation.requests();
    let retries = Retries::Told(log.clone());
    let _: Ending = situation
        .run(stack.send(&situation.kit, order, &retries))
        .await;
    let attempts = log.attempts();
    // Of a call that is repeated, the server may have seen less.
    let is_repeated = situation.races() && attempts.iter().any(is_without_reason);
    if let (Some(before), Some(after), false) = (before, situation.requests(), is_repeated) {
        assert_eq!(
            after - before,
            attempts.len(),
            "{} {stack:?} {order:?}",
            situation.name
        );
    }
    attempts
}

/// How often a client lost the reason.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// Whether hyper says of an attempt that it was not begun, and no more.
fn is_without_reason(attempt: &AttemptReport) -> bool {
    attempt.error == Some(ErrorKind::NotProcessed)
}

const CHAPTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/docs/design.md");

fn table_of(chapter: &str) -> &str {
    let (_, rest) = chapter.split_once("<!-- wire table: begin -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- wire table: end -->\n").unwrap();
    table
}

/// The chapter on the design shows the table as it must be; `UPDATE_TABLES=1` writes there what was seen.
fn check_design(table: &str) {
    let chapter = fs::read_to_string(CHAPTER).unwrap();
    let shown = table_of(&chapter);
    if std::env::var_os("UPDATE_TABLES").is_some() {
        let anew = chapter.replace(shown, &format!("{}\n", table.trim()));
        fs::write(CHAPTER, anew).unwrap();
        return;
    }
    let expected: Vec<_> = shown.trim().lines().collect();
    let seen: Vec<_> = table.trim().lines().collect();
    let missing: Vec<_> = expected.iter().filter(|row| !seen.contains(row)).collect();
    let new: Vec<_> = seen.iter().filter(|row| !expected.contains(row)).collect();
    assert!(
        missing.is_empty() && new.is_empty(),
        "expected {missing:#?}\nseen {new:#?}"
    );
    assert_eq!(expected, seen, "another order of the rows");
}
