//! Colours, and the notes on stderr.

use super::{document, run};
use std::process::Command;

/// The output of `check` on a broken document, with these variables.
fn checked(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_http-retry"));
    command.args(["check", &document("broken.yaml")]);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn only_a_terminal_sees_colours_and_no_color_takes_them_away() {
    let plain = checked(&[]);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let coloured = checked(&[("CLICOLOR_FORCE", "1")]);
    assert!(
        coloured.contains("\u{1b}[1m\u{1b}[31mretry.base\u{1b}[0m: 2000"),
        "{coloured:?}"
    );
    // Take the colours away, and the text is the same.
    let parts = coloured
        .split('\u{1b}')
        .enumerate()
        .map(|(index, part)| match index {
            0 => part,
            _ => part.split_once('m').unwrap().1,
        });
    assert_eq!(parts.collect::<String>(), plain);
    assert_eq!(
        checked(&[("CLICOLOR_FORCE", "0"), ("NO_COLOR", "1")]),
        plain
    );
}

#[test]
fn a_request_that_was_chosen_is_named_on_stderr() {
    let file = document("good.yaml");
    let storm = [
        "storm", &*file, "--rate", "20/s", "--outage", "1s", "--after", "5s",
    ];
    for command in [&storm[..], &["replay", &file, "--format", "json"]] {
        let outcome = super::run_with(command, "HTTP/1.1 200 OK\n");
        assert_eq!(outcome.code, 0);
        assert_eq!(
            outcome.stderr,
            "http-retry: without --url and --service the request is GET http://no-service.invalid/, which no service matches\n"
        );
    }
    let named = run(&[&storm[..], &["--service", "orders"]].concat());
    assert_eq!(named.stderr, "");
}
