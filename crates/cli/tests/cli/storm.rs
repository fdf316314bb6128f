use super::{BROUGHT, SHOWN, document, run, shown};
use serde_json::Value;

/// The numbers of a storm, by contender.
struct Numbers(Value);

impl Numbers {
    fn of(file: &str, arguments: &[&str]) -> Self {
        let start = ["storm", file, "--format", "json"];
        let outcome = run(&[&start[..], arguments].concat());
        assert!([0, 1].contains(&outcome.code), "{}", outcome.stderr);
        Self(outcome.json())
    }

    fn get(&self, contender: &str, number: &str) -> f64 {
        let contenders = self.0["contenders"].as_array().unwrap();
        let found = contenders
            .iter()
            .find(|found| found["name"] == contender)
            .unwrap();
        found[number].as_f64().unwrap_or(f64::INFINITY)
    }

    /// A number of the document.
    fn its(&self, number: &str) -> f64 {
        self.get("the document", number)
    }
}

const ORDERS: [&str; 4] = ["--service", "orders", "--rate", "20/s"];

/// Its retries have no backoff and a budget for an hour's outage, as in the system that it is modelled on.
const WITHOUT_BOUNDS: &str = "task_runner";

#[test]
fn documents_with_budgets_do_not_make_an_outage_worse() {
    for name in SHOWN.into_iter().filter(|name| *name != WITHOUT_BOUNDS) {
        let file = shown(name);
        let arguments = [&["--rate", "20/s"][..], &BROUGHT].concat();
        let numbers = Numbers::of(&file, &arguments);
        assert!(numbers.its("amplification") <= 1.2, "{name}");
        assert!(numbers.its("peak") <= 2.0, "{name}");
        assert_eq!(numbers.get("no retries", "amplification"), 1.0, "{name}");
        assert_eq!(numbers.get("a plain loop", "amplification"), 4.0, "{name}");
        assert!(numbers.its("recovery_s") <= 2.0, "{name}");
    }
}

#[test]
fn a_document_without_bounds_is_as_bad_as_a_plain_loop() {
    let numbers = Numbers::of(&shown(WITHOUT_BOUNDS), &["--rate", "20/s", "--stall"]);
    assert!(numbers.its("amplification") > numbers.get("a plain loop", "amplification"));
    assert_eq!(numbers.its("recovery_s"), f64::INFINITY);
}

#[test]
fn a_missing_budget_shows_in_the_attempts() {
    let good = Numbers::of(&document("good.yaml"), &ORDERS);
    let bad = Numbers::of(&document("no_budget.yaml"), &ORDERS);
    assert!(good.its("amplification") < 1.3);
    assert!(bad.its("amplification") > 3.0);
}

#[test]
fn twenty_attempts_show_in_the_attempts_and_in_a_stall() {
    let good = Numbers::of(&document("good.yaml"), &ORDERS);
    let bad = Numbers::of(&document("twenty_attempts.yaml"), &ORDERS);
    assert!(bad.its("amplification") > 8.0 * good.its("amplification"));
    let stall = [&ORDERS[..], &["--stall"]].concat();
    let good = Numbers::of(&document("good.yaml"), &stall);
    let bad = Numbers::of(&document("twenty_attempts.yaml"), &stall);
    assert!(good.its("recovery_s") < 1.5 * good.get("no retries", "recovery_s"));
    assert_eq!(bad.its("recovery_s"), f64::INFINITY);
}

#[test]
fn missing_jitter_shows_in_the_busiest_second() {
    let short = [&ORDERS[..], &["--outage", "2s"]].concat();
    let good = Numbers::of(&document("jitter.yaml"), &short);
    let bad = Numbers::of(&document("no_jitter.yaml"), &short);
    assert!(good.its("peak") < 1.7, "{}", good.its("peak"));
    assert!(bad.its("peak") > 1.9, "{}", bad.its("peak"));
}

#[test]
fn a_service_that_does_not_recover_is_a_problem() {
    let file = document("twenty_attempts.yaml");
    let outcome = run(&[&["storm", &file, "--stall"][..], &ORDERS].concat());
    assert_eq!(outcome.code, 1);
    let start = format!("http-retry: {file}: the service does not recover");
    assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
}

#[test]
fn many_processes_have_many_budgets() {
    let processes = [&ORDERS[..], &["--processes", "20"]].concat();
    let one = Numbers::of(&document("good.yaml"), &ORDERS);
    let many = Numbers::of(&document("good.yaml"), &processes);
    assert!(many.its("amplification") > one.its("amplification") + 0.5);
}

#[test]
fn a_limit_refuses_and_a_gate_keeps_to_it() {
    let limit = ["--service", "graph", "--rate", "20/s", "--limit", "100/10s"];
    let numbers = Numbers::of(&shown("workflow_engine"), &limit);
    assert_eq!(numbers.get("no retries", "refused"), 100.0);
    assert!(numbers.its("refused") < 30.0, "{}", numbers.its("refused"));
    assert!(numbers.its("success_in_outage") > numbers.get("no retries", "success_in_outage"));
}

/// In a stall every request is slow, so each call would be hedged; its budget allows few.
#[test]
fn hedges_cost_what_the_budget_allows() {
    let stall = [&ORDERS[..], &["--stall"]].concat();
    let without = Numbers::of(&document("good.yaml"), &stall);
    let with = Numbers::of(&document("good.yaml"), &[&stall[..], &["--hedge"]].concat());
    let (without, with) = (without.its("amplification"), with.its("amplification"));
    assert!(with > without && with < without + 0.2, "{without} {with}");
}

#[test]
fn a_failover_leaves_the_service_alone() {
    let numbers = Numbers::of(
        &shown("three_apis"),
        &["--service", "model", "--rate", "20/s"],
    );
    assert!(numbers.its("attempts_elsewhere") > 100.0);
    assert!(numbers.its("success_in_outage") > 0.9);
}

#[test]
fn the_same_seed_gives_the_same_storm() {
    let file = document("good.yaml");
    let storm = |seed: &str| run(&[&["storm", &file, "--seed", seed][..], &ORDERS].concat()).stdout;
    assert_eq!(storm("3"), storm("3"));
    assert_ne!(storm("3"), storm("4"));
}

#[test]
fn a_storm_is_drawn_as_text_and_as_a_picture() {
    let svg = std::env::temp_dir().join(format!("http-retry-storm-{}.svg", std::process::id()));
    let file = document("good.yaml");
    let outcome = run(&[
        &["storm", &file, "--svg", svg.to_str().unwrap()][..],
        &ORDERS,
    ]
    .concat());
    let picture = std::fs::read_to_string(&svg).unwrap();
    std::fs::remove_file(&svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("a plain loop"));
    for panel in ["no retries", "the document", "a plain loop"] {
        assert!(
            outcome.stdout.contains(&format!("| {panel}\n")),
            "{}",
            outcome.stdout
        );
    }
    assert!(outcome.stdout.contains("attempts per call in the outage"));
}
