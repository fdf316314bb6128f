//! Documents on stdin, in a named syntax, and several at once.

use super::{document, run, run_with};

const GOOD: &str = "version: 1\nretry: background\n";

#[test]
fn a_document_on_stdin_is_yaml_unless_its_syntax_is_named() {
    let cases: [(&[&str], &str); 3] = [
        (&[], GOOD),
        (
            &["--syntax", "toml"],
            "version = 1\nretry = \"background\"\n",
        ),
        (
            &["--syntax", "json"],
            r#"{"version": 1, "retry": "background"}"#,
        ),
    ];
    for (syntax, text) in cases {
        let outcome = run_with(&[&["check", "-"][..], syntax].concat(), text);
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{text}");
        assert!(
            outcome.stdout.starts_with("stdin: good"),
            "{}",
            outcome.stdout
        );
    }
    let outcome = run_with(&["check", "-", "--syntax", "toml"], GOOD);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.starts_with("http-retry: stdin:1:"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn every_command_reads_a_document_from_stdin() {
    let file = document("good.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    for command in [
        &["explain"][..],
        &["explain", "--service", "orders"],
        &[
            "storm",
            "--rate",
            "20/s",
            "--outage",
            "1s",
            "--after",
            "5s",
            "--service",
            "orders",
        ],
    ] {
        let by_name = run(&[command, &[&*file]].concat());
        let outcome = run_with(&[command, &["-"]].concat(), &text);
        assert_eq!(
            (outcome.code, outcome.stdout),
            (0, by_name.stdout),
            "{command:?}"
        );
    }
    let outcome = run_with(&["diff", &file, "-"], &text);
    assert_eq!((outcome.code, &*outcome.stdout), (0, "no change\n"));
}

#[test]
fn stdin_is_read_only_once() {
    for command in [
        &["check", "-", "-"][..],
        &["diff", "-", "-"],
        &["replay", "-"],
    ] {
        let outcome = run_with(command, GOOD);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{command:?}");
        assert!(outcome.stderr.contains("stdin"), "{}", outcome.stderr);
    }
}

#[test]
fn several_documents_are_checked_in_order() {
    let (good, broken) = (document("good.yaml"), document("broken.yaml"));
    let outcome = run_with(&["check", &good, &broken, "-"], "version: [1\n");
    assert_eq!(outcome.code, 1);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0], format!("{good}: good, 1 service"));
    let of_broken = lines
        .iter()
        .filter(|line| line.starts_with(&format!("{broken}: ")));
    assert_eq!(of_broken.count(), 3, "{}", outcome.stdout);
    assert!(
        lines.last().unwrap().starts_with("stdin: "),
        "{}",
        outcome.stdout
    );
    assert_eq!(
        outcome.stderr,
        format!("http-retry: {broken}: 3 problems, stdin: 1 problem\n")
    );
    let json = run(&["check", &good, &broken, "--format", "json"]).json();
    assert_eq!(json["documents"][0]["file"], good);
    assert_eq!(json["documents"][1]["count"], 3);
}

#[test]
fn a_text_that_cannot_be_parsed_is_a_problem_for_programs_too() {
    let json = run_with(
        &["check", "-", "--format", "json"],
        "version: 1\nretry: {base: [}\n",
    );
    assert_eq!(json.code, 1);
    let json = json.json();
    assert_eq!(
        (&json["count"], &json["problems"][0]["line"]),
        (&1.into(), &2.into())
    );
}
