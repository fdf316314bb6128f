//! The outputs that the page of the examples shows, held against what the examples print.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::{env, thread};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PAGE: &str = include_str!("../examples/README.md");

/// The end of a run of an example.
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

#[test]
fn quickstart_prints_what_the_page_shows() {
    let outcome = run("quickstart", &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let [shown] = blocks("## quickstart", "text")[..] else {
        panic!("one block");
    };
    let (start, end) = shown.split_once("\n  ...\n").unwrap();
    let printed = timeless(&outcome.stdout);
    for part in [start, end] {
        let part = timeless(part);
        assert!(printed.contains(&part), "{part}\nis not in\n{printed}");
    }
}

#[test]
fn fetch_prints_what_the_page_shows() {
    let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/report", server.local_addr().unwrap());
    thread::spawn(move || server.incoming().flatten().for_each(overloaded));
    let outcome = run("fetch", &[&url]);
    let [shown] = blocks("## fetch", "text")[..] else {
        panic!("one block");
    };
    let printed = outcome.stderr.replace(&url, "http://127.0.0.1:8080/report");
    assert_eq!(
        timeless(&printed),
        timeless(&shown.replace("\nsorry\n", "\n"))
    );
    assert_eq!((outcome.code, &*outcome.stdout), (1, "sorry\n"));
}

#[test]
fn fetch_names_what_is_wrong_as_the_page_does() {
    // Nobody listens on the port of a listener that is gone.
    let port = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let nobody = format!("http://127.0.0.1:{port}/");
    for (row, arguments) in [
        ("nobody listens", &[&*nobody][..]),
        ("a bad URL", &["nowhere"]),
        ("an unknown preset", &["--preset", "nope", &nobody]),
        ("an invalid method", &["--method", "G ET", &nobody]),
    ] {
        let shown = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| {row}")))
            .unwrap();
        let (_, shown) = shown.trim_end_matches("` |").split_once("| `").unwrap();
        let outcome = run("fetch", arguments);
        assert_eq!(outcome.stderr.lines().last(), Some(shown), "{row}");
    }
}

#[test]
fn reload_config_prints_what_the_page_shows() {
    let [shown] = blocks("## reload_config", "text")[..] else {
        panic!("one block");
    };
    let outcome = run("reload_config", &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // A machine that is busy makes fewer calls between two edits.
    let edits = |text: &str| {
        let lines = timeless(text);
        let lines = lines.lines().filter(|line| !line.contains("a call made"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(edits(&outcome.stdout), edits(shown));
}

/// The blocks of a language below a heading.
fn blocks(heading: &str, language: &str) -> Vec<&'static str> {
    let (_, below) = PAGE.split_once(&format!("\n{heading}\n")).unwrap();
    let section = below.split("\n## ").next().unwrap();
    let fenced = section.split("\n```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| block.split_once('\n'));
    let wanted = blocks.filter(|(info, _)| *info == language);
    wanted.map(|(_, text)| text).collect()
}

/// A text without the times in it, which differ from run to run.
fn timeless(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_time = |(at, word): (usize, &&str)| {
            let next = words.get(at + 1).is_some_and(|next| next.starts_with('s'));
            next && word.parse::<f64>().is_ok()
        };
        let shown = words.iter().enumerate();
        let shown = shown.map(|word| if is_time(word) { "#" } else { word.1 });
        shown.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = text.trim().lines().map(line).collect();
    lines.join("\n")
}

/// Runs an example as the page says, with what the tests have built.
fn run(example: &str, arguments: &[&str]) -> Outcome {
    let output = Command::new(env::var("CARGO").expect("cargo runs this test"))
        .args([
            "run",
            "--quiet",
            "--offline",
            "--all-features",
            "--example",
            example,
            "--",
        ])
        .args(arguments)
        .env_remove("RUST_BACKTRACE")
        .current_dir(ROOT)
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Answers a request with 503.
fn overloaded(mut connection: TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && connection.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    let answer =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 6\r\n\r\nsorry\n";
    connection.write_all(answer.as_bytes()).unwrap();
}
