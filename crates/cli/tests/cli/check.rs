use super::{BROUGHT, SHOWN, document, run, shown};

#[test]
fn the_documents_of_the_repository_are_good() {
    for name in SHOWN {
        let file = shown(name);
        let outcome = run(&[&["check", &file][..], &BROUGHT].concat());
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{name}");
        assert!(
            outcome.stdout.contains("(all others)"),
            "{name}: {}",
            outcome.stdout
        );
        let toml = file.replace(".yaml", ".toml");
        assert_eq!(
            run(&[&["check", &toml][..], &BROUGHT].concat()).code,
            0,
            "{name}"
        );
    }
}

#[test]
fn a_name_that_the_program_brings_must_be_given() {
    let outcome = run(&["check", &shown("job_store")]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome
            .stdout
            .contains("\"payment_failed\" is no dead letter observer")
    );
}

#[test]
fn every_problem_is_listed_with_its_path() {
    let file = document("broken.yaml");
    let outcome = run(&["check", &file]);
    assert_eq!(outcome.code, 1);
    let paths = [
        "retry.base: 2000 has no unit",
        "retry.jiter: ",
        "services.orders.retry.use: \"backgroud\"",
    ];
    for path in paths {
        assert!(
            outcome.stdout.lines().any(|line| line.starts_with(path)),
            "{}",
            outcome.stdout
        );
    }
    assert_eq!(outcome.stderr, format!("http-retry: {file}: 3 problems\n"));
}

#[test]
fn each_problem_says_what_to_write_instead() {
    let problems = [
        "retry.base: 2000 has no unit: write 2000ms or 2000s",
        "services.orders.retry.jiter: is not a known key: did you mean jitter?",
        "retry.max_attempts: max_retries is set too, to 3: give one of the two",
        "services.orders.retry.use: \"backgroud\" is no policy: did you mean background?",
        "services.primary.retry.max_retries: unlimited needs a deadline: write deadline: 2m",
        "services.primary.retry.on_exhausted: \"standby\" is no service: known are orders, primary",
    ];
    let outcome = run(&["check", &document("six_problems.yaml")]);
    assert_eq!(outcome.code, 1);
    assert_eq!(outcome.stdout.lines().count(), problems.len());
    for (line, problem) in outcome.stdout.lines().zip(problems) {
        assert!(line.starts_with(&format!("{problem} (line ")), "{line}");
    }
}

/// The end of a document's name, its text, and the line and column of each of its problems.
type Places = (&'static str, &'static str, [(usize, usize); 4]);

/// One document in each syntax.
const PLACES: [Places; 3] = [
    (
        "yaml",
        "version: 1
retry:
  base: 2000
services:
  orders:
    match: {host: orders.example}
    rules:
      - {when: 500, do: stop}
      - {when: 42, do: stop}
    retry: {jiter: full}
    fleet: maybe
",
        [(3, 3), (9, 10), (10, 13), (11, 5)],
    ),
    (
        "toml",
        "version = 1
retry = {base = 2000}

[services.orders]
fleet = \"maybe\"
retry = {jiter = \"full\"}
[services.orders.match]
host = \"orders.example\"
[[services.orders.rules]]
when = 500
do = \"stop\"
[[services.orders.rules]]
when = 42
do = \"stop\"
",
        [(2, 10), (13, 1), (6, 10), (5, 1)],
    ),
    // The parser tells where it stopped: behind the key.
    (
        "json",
        "{\"version\": 1,
 \"retry\": {\"base\": 2000},
 \"services\": {\"orders\": {
  \"match\": {\"host\": \"orders.example\"},
  \"rules\": [
   {\"when\": 500, \"do\": \"stop\"},
   {\"when\": 42, \"do\": \"stop\"}],
  \"retry\": {\"jiter\": \"full\"},
  \"fleet\": \"maybe\"
}}}
",
        [(2, 17), (7, 10), (8, 19), (9, 9)],
    ),
];

#[test]
fn each_problem_has_its_line_and_column() {
    let paths = [
        "retry.base",
        "services.orders.rules[1].when",
        "services.orders.retry.jiter",
        "services.orders.fleet",
    ];
    for (end, text, places) in PLACES {
        let name = format!("http-retry-places-{}.{end}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let (json, words) = (
            run(&["check", "--format", "json", file]),
            run(&["check", file]),
        );
        std::fs::remove_file(file).unwrap();
        let json = json.json();
        for (path, (line, column)) in paths.iter().zip(places) {
            let problems = json["problems"].as_array().unwrap();
            let found = problems.iter().find(|problem| problem["path"] == *path);
            let found = found.unwrap_or_else(|| panic!("{path} in {json:#}"));
            let place = (
                found["line"].as_u64().unwrap(),
                found["column"].as_u64().unwrap(),
            );
            assert_eq!(place, (line as u64, column as u64), "{path} of {end}");
            let end_of_line = format!("(line {line}, column {column})");
            let mut lines = words.stdout.lines();
            assert!(
                lines.any(|line| line.starts_with(path) && line.ends_with(&end_of_line)),
                "{path}: {}",
                words.stdout
            );
        }
    }
}

#[test]
fn a_missing_key_has_the_place_of_its_map() {
    let file = document("no_name.yaml");
    let json = run(&["check", "--format", "json", &file]).json();
    let problem = &json["problems"][0];
    assert_eq!(
        problem["path"], "services.orders.routes[1].name",
        "{json:#}"
    );
    assert_eq!(
        (problem["line"].as_u64(), problem["column"].as_u64()),
        (Some(8), Some(9))
    );
}

#[test]
fn what_cannot_be_read_has_its_place_or_a_hint() {
    for (end, text, wanted) in [
        ("yaml", "version: 1\nretry: {base: [}\n", "line 2"),
        ("toml", "version = 1\nretry = = 2\n", "line 2 column 9"),
        ("json", "{\"version\": 1,\n  retry}", "line 2 column 3"),
        (
            "yaml",
            "version: 1\nretry:\n\tbase: 2s\n",
            "line 3 column 1, while scanning for the next token: indent with spaces, not with tabs",
        ),
        ("yaml", "", "is empty: write version: 1"),
        ("json", " \n", "is empty: write version: 1"),
        ("toml", "# later\n", "version: is missing: write version: 1"),
    ] {
        let name = format!("http-retry-unread-{}.{end}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        let outcome = run(&["check", file.to_str().unwrap()]);
        std::fs::remove_file(&file).unwrap();
        let said = outcome.stdout + &outcome.stderr;
        assert!(
            outcome.code > 0 && said.contains(wanted),
            "{text:?}: {said}"
        );
    }
}

#[test]
fn problems_are_json_for_programs() {
    let outcome = run(&["check", "--format", "json", &document("broken.yaml")]);
    let json = outcome.json();
    assert_eq!((outcome.code, json["count"].as_u64()), (1, Some(3)));
    assert_eq!(json["problems"][0]["path"], "retry.base");
    let good = run(&["check", "--format", "json", &document("good.yaml")]).json();
    assert_eq!(good["problems"].as_array().map(Vec::len), Some(0));
    assert_eq!(good["entries"][0]["worst_case"]["attempts"], 4);
}

/// The paths, lines and first words of the warnings of `odd.yaml` that need no storm.
const ODD: [(&str, u64, &str); 4] = [
    ("budgets.spare", 5, "no service uses this budget"),
    ("policies.forgotten", 10, "no service uses this policy"),
    (
        "services.orders",
        13,
        "it fails over to again, which is the same server",
    ),
    (
        "services.unmet",
        19,
        "it has no match, and no failover leads to it",
    ),
];

#[test]
fn a_good_document_is_warned_of_what_is_likely_not_meant() {
    let file = document("odd.yaml");
    let outcome = run(&["check", &file]);
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
    let warnings: Vec<&str> = outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect();
    assert_eq!(warnings.len(), ODD.len(), "{}", outcome.stdout);
    let json = run(&["check", "--format", "json", &file]).json();
    for ((line, found), (path, row, words)) in warnings
        .iter()
        .zip(json["warnings"].as_array().unwrap())
        .zip(ODD)
    {
        assert!(
            line.starts_with(&format!("warning: {path}: {words}")),
            "{line}"
        );
        assert!(line.contains(&format!("(line {row}, column ")), "{line}");
        assert_eq!(
            (&found["path"], &found["line"]),
            (&path.into(), &row.into())
        );
    }
    for name in SHOWN {
        let shown = run(&[&["check", &shown(name)][..], &BROUGHT].concat()).stdout;
        assert!(!shown.contains("warning: "), "{name}: {shown}");
    }
}

#[test]
fn a_strict_check_puts_each_service_into_a_storm() {
    let file = document("odd.yaml");
    let outcome = run(&["check", "--strict", &file]);
    assert_eq!(outcome.code, 1);
    assert_eq!(outcome.stderr, format!("http-retry: {file}: 6 warnings\n"));
    let line = outcome
        .stdout
        .lines()
        .find(|line| line.starts_with("warning: services.flooded: "));
    assert!(
        line.is_some_and(|line| line.contains("attempts per call") && line.contains("(line 20, ")),
        "{}",
        outcome.stdout
    );
    let good = document("good.yaml");
    let good = run(&["check", "--strict", &good, &shown("three_apis")]);
    assert_eq!((good.code, &*good.stderr), (0, ""), "{}", good.stdout);
}
