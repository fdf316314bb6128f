use super::{Outcome, document, run, run_with};
use std::process::{Command, Stdio};

fn is_one_line(outcome: &Outcome, code: i32, parts: &[&str]) {
    assert_eq!(
        (outcome.code, outcome.stderr.lines().count()),
        (code, 1),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.starts_with("http-retry: "),
        "{}",
        outcome.stderr
    );
    for part in parts {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
    assert_eq!(outcome.stdout, "");
}

/// Arguments, and what the line names.
const CASES: [(&[&str], &[&str]); 18] = [
    (&[], &["name a command"]),
    (&["storms"], &["storms", "(tip: ", "'storm'"]),
    (
        &["storm", "GOOD", "--rat", "5/s"],
        &["--rat", "(tip: ", "'--rate'"],
    ),
    (
        &["check", "GOOD", "--format", "jsn"],
        &["jsn", "(tip: ", "'json'"],
    ),
    (&["check"], &["<FILE>"]),
    (&["check", "absent.yaml"], &["absent.yaml", "No such file"]),
    (&["check", "document.txt"], &["document.txt", ".yaml"]),
    (
        &["explain", "GOOD", "--url", "/orders"],
        &["--url", "no host"],
    ),
    (&["explain", "GOOD", "--url", "http://a b/"], &["--url"]),
    (
        &["explain", "GOOD", "--method", "G ET"],
        &["--method", "G ET"],
    ),
    (
        &["explain", "GOOD", "--service", "order"],
        &["--service", "order", "known are orders"],
    ),
    (
        &["storm", "GOOD", "--rate", "6000/s"],
        &["--rate", "6000/s", "5/s to 5000/s"],
    ),
    (
        &["storm", "GOOD", "--outage", "1h"],
        &["--outage", "1h", "100ms to 5m"],
    ),
    (
        &["storm", "GOOD", "--processes", "1001"],
        &["--processes", "1001", "1..=1000"],
    ),
    (
        &["storm", "GOOD", "--limit", "0/10s"],
        &["--limit", "0/10s", "1 to 1000000"],
    ),
    (
        &["storm", "GOOD", "--stall", "--limit", "5/s"],
        &["--stall", "--limit"],
    ),
    (
        &["storm", "GOOD", "--rate", "5000/s", "--outage", "5m"],
        &["--rate", "at most 500000"],
    ),
    (
        &["storm", "GOOD", "--rate", "5/s", "--svg", "/absent/a.svg"],
        &["/absent/a.svg"],
    ),
];

#[test]
fn what_cannot_be_used_is_one_line_and_exit_code_2() {
    let good = document("good.yaml");
    for (arguments, parts) in CASES {
        let arguments = arguments
            .iter()
            .map(|word| if *word == "GOOD" { &*good } else { word });
        let arguments: Vec<&str> = arguments.collect();
        is_one_line(&run(&arguments), 2, parts);
    }
}

#[test]
fn a_bad_url_is_refused_without_its_password() {
    let outcome = run(&[
        "explain",
        &document("good.yaml"),
        "--url",
        "http://me:hush@a b/",
    ]);
    is_one_line(&outcome, 2, &["--url", "invalid"]);
    assert!(!outcome.stderr.contains("hush"), "{}", outcome.stderr);
}

#[test]
fn a_document_with_problems_is_one_line_and_exit_code_1() {
    let (good, broken) = (document("good.yaml"), document("broken.yaml"));
    let first = "retry.base: 2000 has no unit: write 2000ms or 2000s (and 2 more";
    for arguments in [
        &["explain", &broken][..],
        &["diff", &good, &broken],
        &["diff", &broken, &good],
        &["replay", &broken],
        &["storm", &broken],
    ] {
        let place = format!("{broken}:3:9: ");
        is_one_line(&run(arguments), 1, &[&place, first]);
    }
}

#[test]
fn a_document_that_cannot_be_parsed_is_one_line() {
    let folder = std::env::temp_dir().join(format!("http-retry-misuse-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let cases = [
        (1, "a.yaml", "version: [1\n".to_owned()),
        (
            1,
            "a.toml",
            "version = 1\nretry = \"a\nhush = 2\n".to_owned(),
        ),
        (1, "a.json", "{\"version\": 1,}".to_owned()),
        (1, "b.json", "[".repeat(100_000)),
        (2, "c.json", " ".repeat(1 << 21)),
    ];
    for (code, name, text) in cases {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        is_one_line(&run(&["check", file.to_str().unwrap()]), code, &[name]);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_recording_that_cannot_be_read_names_the_response() {
    let good = document("good.yaml");
    let replay = |stdin: &str| run_with(&["replay", &good], stdin);
    is_one_line(&replay(""), 2, &["stdin: it is empty"]);
    is_one_line(
        &replay("HTTP/1.1 200\n---\nhush\n"),
        2,
        &["stdin: response 2: line 1"],
    );
    is_one_line(
        &replay(&"a".repeat(2 << 20)),
        2,
        &["stdin: it has more than 1048576 bytes"],
    );
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_http-retry"))
        .args(["explain", &document("good.yaml")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), &output.stderr[..]),
        (Some(0), &b""[..])
    );
}

#[test]
fn help_says_the_exit_codes_and_every_command_has_some() {
    let help = run(&["--help"]);
    assert_eq!((help.code, &*help.stderr), (0, ""));
    assert!(help.stdout.contains("Exit codes:"));
    for command in ["check", "explain", "diff", "replay", "storm"] {
        let outcome = run(&[command, "--help"]);
        assert!(
            outcome.code == 0 && outcome.stdout.contains("Usage: http-retry"),
            "{command}"
        );
    }
}
