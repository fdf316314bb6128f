//! A storm as a page: its numbers are those of `--format json`, it needs nothing else, and it replaces nothing.

use super::{document, run, run_with, shown};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("http-retry-page-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A storm in which a gate closes, and one in which a budget is spent.
fn storms() -> [Vec<String>; 2] {
    let words = |words: &str| words.split(' ').map(str::to_owned).collect();
    let gate = format!(
        "storm {} --service graph --rate 20/s --limit 100/10s",
        shown("workflow_engine")
    );
    let budget = format!(
        "storm {} --service orders --rate 20/s",
        document("good.yaml")
    );
    [words(&gate), words(&budget)]
}

fn with<'a>(storm: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    storm
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect()
}

/// The text between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let parts = text
        .split_once(start)
        .and_then(|(_, rest)| rest.split_once(end));
    assert!(parts.is_some(), "no {start} in {text}");
    parts.unwrap().0
}

/// The cells of each row of the page's table.
fn rows(page: &str) -> Vec<Vec<String>> {
    let table = between(page, "<table id=\"table\">", "</table>");
    let rows = table.split("<tr>").skip(1).map(|row| {
        let row = row.replace("<th></th>", "<th> </th>");
        let cells = row.split(['<', '>']).collect::<Vec<_>>();
        let cells = cells
            .chunks(2)
            .filter_map(|pair| Some((*pair.first()?).to_owned()));
        let cells = cells.map(|cell| cell.trim().to_owned());
        cells.filter(|cell| !cell.is_empty()).collect()
    });
    rows.collect()
}

fn numbers_of(page: &str) -> Value {
    serde_json::from_str(between(page, "id=\"numbers\">", "</script>")).unwrap()
}

/// The rows of the table that stdout shows, with single blanks.
fn rows_of_text(text: &str) -> Vec<String> {
    let rows = text.lines().skip(2).take(9);
    rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn a_page_says_what_the_json_and_the_table_say() {
    let folder = Folder::new("numbers");
    for storm in storms() {
        let file = folder.path("storm.html");
        let text = run(&with(&storm, &["--html", &file]));
        assert_eq!(text.code, 0, "{}", text.stderr);
        let page = fs::read_to_string(&file).unwrap();
        let json = run(&with(&storm, &["--format", "json"])).json();
        assert_eq!(numbers_of(&page), json);
        let joined: Vec<String> = rows(&page).iter().map(|row| row.join(" ")).collect();
        assert_eq!(joined, rows_of_text(&text.stdout));
        assert!(page.contains("The service recovers."));
    }
}

#[test]
fn budget_and_gate_are_followed_second_by_second() {
    let [gate, budget] = storms().map(|storm| run(&with(&storm, &["--format", "json"])).json());
    let of_document = |json: &Value, number: &str| -> Vec<f64> {
        assert_eq!(json["contenders"][0][number], Value::Null);
        let numbers = json["contenders"][1][number].as_array().unwrap();
        assert_eq!(numbers.len() as f64, json["end_s"].as_f64().unwrap());
        numbers
            .iter()
            .map(|number| number.as_f64().unwrap_or(20.0))
            .collect()
    };
    // Full in the calm, spent in the outage, paid back by successes.
    let tokens = of_document(&budget, "budget_tokens");
    assert_eq!((tokens[5], tokens[10]), (20.0, 20.0), "{tokens:?}");
    assert!(
        tokens[19] < 1.5 && tokens[49] > tokens[21] + 10.0,
        "{tokens:?}"
    );
    // Nobody waits before the limit refuses, and nobody at the end.
    let waiting = of_document(&gate, "waiting_at_the_gate");
    assert_eq!((waiting[5], waiting[49]), (0.0, 0.0), "{waiting:?}");
    assert!(waiting[19] > 50.0, "{waiting:?}");
}

#[test]
fn a_page_needs_nothing_else_and_shows_no_secret() {
    let folder = Folder::new("alone");
    let file = folder.path("hostile.json");
    let odd = "<script>alert(1)</script>";
    let text = format!(
        r#"{{"version": 1, "services": {{"{odd}": {{"match": {{"host": "a.example"}}, "rules": [{{"name": "r</pre>",
        "when": {{"status": "5xx", "header": {{"x-key": "hush-1"}}, "message": "hush-2"}}, "retry": {{"max_attempts": 2}},
        "set": {{"headers": {{"x-key": "hush-3"}}}}}}], "retry": {{"stop_on": [404, {{"message": "hush-4"}}],
        "on_exhausted": {{"respond": {{"status": 503, "body": "hush-5"}}}}}}}}}}}}"#
    );
    fs::write(&file, text).unwrap();
    let html = folder.path("a.html");
    let storm = [
        "storm",
        &file,
        "--service",
        odd,
        "--rate",
        "20/s",
        "--outage",
        "1s",
        "--after",
        "5s",
    ];
    let outcome = run(&[&storm[..], &["--html", &html]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let page = fs::read_to_string(&html).unwrap();
    assert!(
        !page.contains("hush") && !page.contains("<script>alert"),
        "{page}"
    );
    assert!(
        page.contains("r&lt;/pre&gt;") && page.contains("status: 5xx"),
        "{page}"
    );
    // The namespace of an SVG is a name, and no place.
    let places = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["src=", "href=", "url(", "@import", "<link", "://www"] {
        assert!(!places.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("prefers-color-scheme: dark"));
}

#[test]
fn an_output_replaces_only_an_output() {
    let folder = Folder::new("replaced");
    let file = folder.path("retries.yaml");
    fs::write(&file, "version: 1\n").unwrap();
    let other = folder.path("notes.txt");
    fs::write(&other, "<svg>mine</svg>").unwrap();
    let storm = |more: &[&str]| {
        let storm = [
            "storm", &file, "--rate", "20/s", "--outage", "1s", "--after", "5s",
        ];
        run(&[&storm[..], more].concat())
    };
    for option in ["--svg", "--html"] {
        for (path, cause) in [
            (&file, "the document itself"),
            (&other, "no output of a storm"),
        ] {
            let before = fs::read(path).unwrap();
            let outcome = storm(&[option, path]);
            assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{option} {path}");
            assert!(outcome.stderr.contains(cause), "{}", outcome.stderr);
            assert_eq!(fs::read(path).unwrap(), before);
        }
        // Its own output it draws again.
        let own = folder.path("own");
        assert_eq!(storm(&[option, &own]).code, 0);
        assert_eq!(storm(&[option, &own]).code, 0);
    }
    let new = folder.path("new");
    let both = storm(&["--svg", &new, "--html", &new]);
    assert_eq!(both.code, 2);
    assert!(!Path::new(&new).exists());
    let absent = storm(&["--html", &folder.path("absent/a.html")]);
    assert_eq!(
        (absent.code, absent.stderr.lines().count()),
        (2, 1),
        "{}",
        absent.stderr
    );
    // Standard output is no file that could be lost.
    let text = fs::read_to_string(&file).unwrap();
    let piped = run_with(
        &[
            "storm",
            "-",
            "--rate",
            "20/s",
            "--outage",
            "1s",
            "--after",
            "5s",
            "--html",
            "/dev/stdout",
        ],
        &text,
    );
    assert!(
        cfg!(not(unix)) || piped.stdout.contains("<!DOCTYPE html>"),
        "{}",
        piped.stderr
    );
}

/// A page as a headless browser shows it.
fn browse(browser: &str, file: &str, more: &[&str]) -> String {
    let mut command = Command::new(browser);
    // A container has no user namespace for the sandbox, and the page runs no script.
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=1100,1900",
    ]);
    let output = command
        .args(more)
        .arg(format!("file://{file}"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Needs the name of a Chromium in `HTTP_RETRY_BROWSER`; `.ci/run` brings one. The screenshots stay in the folder that
/// `HTTP_RETRY_SCREENSHOTS` names, if it names one.
#[test]
#[ignore = "needs a browser"]
fn a_browser_shows_the_numbers_in_light_and_dark() {
    let browser = std::env::var("HTTP_RETRY_BROWSER").unwrap();
    let folder = Folder::new("browser");
    let kept = std::env::var("HTTP_RETRY_SCREENSHOTS").ok();
    for (storm, name) in storms().into_iter().zip(["gate", "budget"]) {
        let file = folder.path("storm.html");
        let text = run(&with(&storm, &["--html", &file]));
        let json = run(&with(&storm, &["--format", "json"])).json();
        let shown = browse(&browser, &file, &["--dump-dom"]);
        assert_eq!(numbers_of(&shown), json);
        let joined: Vec<String> = rows(&shown).iter().map(|row| row.join(" ")).collect();
        assert_eq!(joined, rows_of_text(&text.stdout));
        // Each line is there, in its colour: three, three, and those of the budget and the gate.
        let lines = shown.matches("<polyline").count();
        assert!(lines >= 7, "{lines}");
        let mut screenshots = Vec::new();
        for (scheme, setting) in [
            ("light", "preferredColorScheme=1"),
            ("dark", "preferredColorScheme=0"),
        ] {
            let picture = match &kept {
                Some(folder) => format!("{folder}/storm-{name}-{scheme}.png"),
                None => folder.path(&format!("{scheme}.png")),
            };
            let settings = [
                format!("--blink-settings={setting}"),
                format!("--screenshot={picture}"),
            ];
            browse(&browser, &file, &settings.each_ref().map(String::as_str));
            screenshots.push(fs::read(picture).unwrap());
        }
        assert!(
            screenshots
                .iter()
                .all(|picture| picture.starts_with(b"\x89PNG"))
        );
        assert_ne!(screenshots[0], screenshots[1]);
    }
}
