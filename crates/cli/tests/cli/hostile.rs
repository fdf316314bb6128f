//! Documents with characters that a terminal obeys, with a byte order mark, and at the place of an output.

use super::{Outcome, run, run_with};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("http-retry-hostile-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A line break, an escape, a delete, a C1 control, a line separator and an override of direction, as JSON writes them.
const HOSTILE: &str = r"a\nfake: added\u001b[2J\u007f\u009b1m\u2028\u202eb";

/// A name may hold a line separator and an override of direction.
const ODD_NAME: &str = r"a\u2028\u202eb";

/// One line for each line that a command means, and nothing that a terminal obeys.
fn is_plain(outcome: &Outcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        let is_obeyed = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}')
        };
        assert!(!text.contains(is_obeyed), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("fake")), "{text}");
    }
}

#[test]
fn no_command_prints_what_a_terminal_obeys() {
    let folder = Folder::new("escapes");
    let rule = |message: &str| {
        format!(
            r#"{{"version": 1, "rules": [{{"name": "odd \u202e", "when": {{"status": 503, "message": "{message}"}}, "do": "stop"}}],
            "services": {{"o\u2028": {{"match": {{"host": "h.example", "header": {{}}, "path": "/{message}"}}}}}}}}"#
        )
        .replace(r#""header": {}, "#, "")
    };
    let old = folder.file("old.json", &rule("plain"));
    let new = folder.file("new.json", &rule(HOSTILE));
    let broken = folder.file(
        "broken.json",
        &format!(r#"{{"version": 1, "{HOSTILE}": 1, "retry": {{"{HOSTILE}": "{HOSTILE}"}}}}"#),
    );
    let odd = folder.file(
        "odd.json",
        &format!(
            r#"{{"version": 1, "budgets": {{"{ODD_NAME}": {{}}}}, "services": {{"{ODD_NAME}": {{"retry": {{"max_attempts": 1, "on_exhausted": {{"respond": {{"status": 504}}}}}}}}}}}}"#
        ),
    );
    let unreadable = folder.file("unreadable.yaml", "version: 1\n\u{1b}[2Jretry: {\n");
    let commands: [&[&str]; 16] = [
        &["diff", &old, &new],
        &["diff", "--format", "json", &old, &new],
        &["diff", &old, &broken],
        &["check", &new],
        &["check", "--format", "json", &new],
        &["check", &broken],
        &["check", "--format", "json", &broken],
        &["check", &unreadable],
        &["check", &unreadable, &broken, &odd],
        &["check", "--strict", &odd],
        &["check", "--format", "json", &odd],
        &["diff", "--exit-code", &new, &odd],
        &["explain", &new],
        &["explain", "--format", "json", &new],
        &[
            "storm", &new, "--rate", "20/s", "--outage", "1s", "--after", "5s",
        ],
        &["explain", &new, "--service", "\u{1b}[2J"],
    ];
    for command in commands {
        is_plain(&run(command));
    }
    let recorded = "HTTP/1.1 503 Service Unavailable\n\nplain\n";
    for form in ["text", "json"] {
        is_plain(&run_with(&["replay", &new, "--format", form], recorded));
    }
    // The name of a service, as the terminal of this test would obey it.
    let name: String = serde_json::from_str(&format!("\"{ODD_NAME}\"")).unwrap();
    let outcome = run_with(&["replay", &odd, "--service", &name], recorded);
    assert!(
        outcome.stdout.contains("the caller gets: 504"),
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
    is_plain(&outcome);
}

#[test]
fn diff_shows_a_line_break_as_an_escape() {
    let folder = Folder::new("diff");
    let document = |path: &str| {
        format!(
            r#"{{"version": 1, "services": {{"a": {{"match": {{"host": "h", "path": "{path}"}}}}}}}}"#
        )
    };
    let old = folder.file("old.json", &document("/v1/*"));
    let new = folder.file("new.json", &document(r"/v1\nfake: removed/*"));
    let outcome = run(&["diff", &old, &new]);
    let line = r"  services.a.match.path: /v1/* -> /v1\nfake: removed/*";
    assert!(
        outcome.stdout.lines().any(|shown| shown == line),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_byte_order_mark_is_left_out_in_every_format() {
    let folder = Folder::new("mark");
    for (name, text) in [
        ("a.json", r#"{"version": 1, "retry": "background"}"#),
        ("a.yaml", "version: 1\nretry: background\n"),
        ("a.toml", "version = 1\nretry = \"background\"\n"),
    ] {
        let plain = folder.file(&format!("plain-{name}"), text);
        let marked = folder.file(name, &format!("\u{feff}{text}"));
        let outcome = run(&["check", &marked]);
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{name}");
        assert_eq!(
            run(&["diff", &plain, &marked]).stdout,
            "no change\n",
            "{name}"
        );
    }
}

/// Another way to the same file.
type Way = fn(&Path, &Path) -> std::io::Result<()>;

#[cfg(unix)]
#[test]
fn a_picture_never_replaces_the_document() {
    let folder = Folder::new("svg");
    let text = "version: 1\n";
    let file = folder.file("retries.yaml", text);
    let ways: [(&str, Way); 2] = [
        ("linked.svg", |from, to| {
            std::os::unix::fs::symlink(from, to)
        }),
        ("same.svg", |from, to| fs::hard_link(from, to)),
    ];
    for (name, link) in ways {
        link(Path::new(&file), &folder.0.join(name)).unwrap();
    }
    let spelled = format!("{}/./retries.yaml", folder.0.display());
    let links = ["linked.svg", "same.svg"].map(|name| folder.0.join(name).display().to_string());
    for svg in [&file, &spelled, &links[0], &links[1]] {
        let storm = [
            "storm", &file, "--rate", "20/s", "--outage", "1s", "--after", "5s", "--svg",
        ];
        let outcome = run(&[&storm[..], &[svg]].concat());
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{svg}");
        assert!(
            outcome.stderr.contains("the document itself"),
            "{}",
            outcome.stderr
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}
