//! Output of the program for shells, manuals and editors.

use super::run;
use serde_json::Value;

#[test]
fn the_schema_is_that_of_the_crate() {
    let outcome = run(&["schema"]);
    let schema: Value =
        serde_json::from_str(&http_retry::config::RetryConfig::json_schema()).unwrap();
    assert_eq!((outcome.code, outcome.json()), (0, schema));
}

#[test]
fn completions_know_every_command_and_option() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = run(&["completions", shell]);
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{shell}");
        for word in ["check", "storm", "exit-code", "loop-retries"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
        // A tab or an escape that a shell needs stays what it is.
        assert!(!outcome.stdout.contains("\\u{"), "{shell}");
    }
    let outcome = run(&["completions", "basch"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("bash"), "{}", outcome.stderr);
}

#[test]
fn every_command_has_a_manual_page() {
    let program = run(&["man"]).stdout;
    assert!(
        program.contains(".TH http-retry 1") && program.contains("Exit codes"),
        "{program}"
    );
    for command in [
        "check",
        "explain",
        "diff",
        "replay",
        "storm",
        "schema",
        "completions",
        "man",
    ] {
        let page = run(&["man", command]);
        assert_eq!((page.code, &*page.stderr), (0, ""), "{command}");
        let title = format!(".TH http-retry-{command} 1");
        assert!(page.stdout.contains(&title), "{}", page.stdout);
    }
    let outcome = run(&["man", "strom"]);
    assert_eq!((outcome.code, &*outcome.stdout), (2, ""));
    assert!(
        outcome.stderr.contains("known are check"),
        "{}",
        outcome.stderr
    );
}
