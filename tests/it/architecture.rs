//! What Cargo cannot see of the family: names, sizes, and who may ask the world.

mod names;
mod sources;
mod surface;
mod tokens;
mod words;

use sources::{every_file, folder, sources};
use std::collections::BTreeSet;
use std::fs;
use tokens::{code, words as words_of};

/// The modules that may ask for the time and for random numbers.
const WORLD: [&str; 6] = [
    "http-retry::runtime",
    "http-retry::runtime::browser",
    "http-retry::runtime::of_tokio",
    "http-retry-fleet::clock",
    "http-retry-ureq::runtime",
    "http-retry-lab::runtime",
];
/// A scenario that is set up wrongly ends at once, in a test.
const SCENARIOS: &str = "http-retry-lab::scenarios";
const MOST_LINES: usize = 600;
const LONGEST_NAME: usize = 60;
const NONE: [&str; 0] = [];

/// It decides, so it names no client and no runtime: only types, and two facades by feature.
#[test]
fn the_core_depends_on_nothing_that_does_io() {
    let known = ["http", "metrics", "serde", "tracing"];
    assert_eq!(
        dependencies("crates/core"),
        BTreeSet::from(known.map(str::to_owned))
    );
}

/// It is for programs without async, and shows that the core is enough for a client.
#[test]
fn the_adapter_for_ureq_depends_on_the_core_alone() {
    let known = ["http", "http-retry-core", "ureq"];
    assert_eq!(
        dependencies("crates/ureq"),
        BTreeSet::from(known.map(str::to_owned))
    );
}

/// The crates of the family, each above those that it may depend on.
const FAMILY: [&str; 13] = [
    "http-retry-core",
    "http-retry-hedge",
    "http-retry-resume",
    "http-retry-testing",
    "http-retry-rules",
    "http-retry-dialects",
    "http-retry-fleet",
    "http-retry-services",
    "http-retry-config",
    "http-retry-ureq",
    "http-retry",
    "http-retry-lab",
    "http-retry-cli",
];

#[test]
fn no_crate_depends_on_one_above_it() {
    let folders = fs::read_dir(folder("crates")).unwrap().count();
    assert_eq!(FAMILY.len(), folders + 1, "a crate is not listed");
    for (place, name) in FAMILY.iter().enumerate() {
        let of = name
            .strip_prefix("http-retry-")
            .map_or(".".to_owned(), |short| format!("crates/{short}"));
        let above = &FAMILY[place..];
        let wrong = dependencies(&of).into_iter();
        let wrong = wrong.filter(|dependency| above.contains(&dependency.as_str()));
        assert_eq!(wrong.collect::<Vec<_>>(), NONE, "{name}");
    }
}

/// The dependencies that a crate's manifest names, without those of its tests.
fn dependencies(of: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(folder(of).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let named = manifest["dependencies"].as_table().unwrap();
    named.keys().cloned().collect()
}

/// What language models need is said in `llm` and in the dialects; the policy calls it by a trait.
#[test]
fn the_policy_names_nothing_of_language_models() {
    let of_models = |word: &str| {
        let word = word.to_lowercase();
        OF_MODELS.iter().any(|part| word.contains(part))
    };
    let wrong = sources().into_iter().flat_map(|(module, text)| {
        let known = |word: &str| POLICY_WORDS.contains(&(module.as_str(), word));
        let found = words_of(code(&text)).into_iter();
        let of_policy = module.starts_with("http-retry-core::policy");
        found
            .filter(|word| of_policy && of_models(word) && !known(word))
            .map(|word| format!("{module}: {word}"))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

/// What has one body with a feature and another without it decides otherwise as soon as another crate turns the feature
/// on.
#[test]
fn no_public_item_has_another_body_without_a_feature() {
    let wrong = sources().into_iter().flat_map(|(module, text)| {
        let found = without_a_feature(&text).into_iter();
        found
            .map(|item| format!("{module}: {item}"))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

/// The public items of a file that are only there without a feature.
fn without_a_feature(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let hidden = lines.iter().enumerate().filter_map(|(place, line)| {
        let is_without = line.starts_with("#[cfg(not(") && line.contains("feature");
        let mut after = lines.iter().skip(place + 1);
        is_without.then(|| after.find(|line| !line.starts_with(['#', '/'])))?
    });
    hidden
        .copied()
        .filter(|item| item.starts_with("pub "))
        .collect()
}

#[test]
fn an_item_that_a_feature_takes_away_would_be_seen() {
    let public = "#[cfg(not(feature = \"a\"))]\n/// Doc.\n#[must_use]\npub fn b() {}";
    assert_eq!(without_a_feature(public), ["pub fn b() {}"]);
    for other in ["pub(crate) fn b() {}", "fn b() {}", "mod b;"] {
        let private = format!("#[cfg(not(feature = \"a\"))]\n{other}\npub fn c() {{}}");
        assert_eq!(without_a_feature(&private), NONE, "{other}");
    }
}

/// The modules that a user sees, with the most public names of each. A name more is a promise more.
const MODULES: [(&str, usize); 12] = [
    ("http-retry", 49),
    ("http-retry::report", 2),
    ("http-retry::reqwest", 4),
    ("http-retry::run", 1),
    ("http-retry::tower", 5),
    ("http-retry-core::attempt", 2),
    ("http-retry-core::budget", 4),
    ("http-retry-core::gate", 1),
    ("http-retry-core::policy", 22),
    ("http-retry-core::policy::rules", 12),
    ("http-retry-core::report", 13),
    ("http-retry-core::route", 4),
];

/// The types that a user meets first, with the most methods of each. What only adapters call is in the traits of
/// `adapter`.
const TYPES: [(&str, usize); 5] = [
    ("RetryPolicy", 11),
    ("Outcome", 19),
    ("Gate", 6),
    ("RetrySession", 8),
    ("RetryBudget", 10),
];

#[test]
fn no_module_has_more_public_names_than_before() {
    let sources = sources();
    for (module, most) in MODULES {
        let names = surface::names(&sources[module]);
        let count = names.len();
        assert!(count <= most, "{module} has {count}: {names:?}");
    }
}

#[test]
fn no_main_type_has_more_public_methods_than_before() {
    let core = sources().into_iter();
    let core: Vec<String> = core
        .filter(|(module, _)| module.starts_with("http-retry-core"))
        .map(|(_, text)| text)
        .collect();
    for (name, most) in TYPES {
        let methods = core.iter().flat_map(|text| surface::methods(text, name));
        let methods: Vec<String> = methods.collect();
        let count = methods.len();
        assert!(count <= most, "{name} has {count}: {methods:?}");
    }
}

#[test]
fn no_file_is_longer_than_can_be_read_at_once() {
    let long = every_file().into_iter().filter_map(|(path, text)| {
        let lines = text.lines().count();
        (lines > MOST_LINES).then(|| format!("{}: {lines} lines", path.display()))
    });
    assert_eq!(long.collect::<Vec<_>>(), NONE);
}

#[test]
fn every_test_has_a_name_that_can_be_scanned() {
    let names = every_file()
        .into_iter()
        .flat_map(|(_, text)| names::of_tests(&text));
    let long = names.filter(|name| name.len() > LONGEST_NAME);
    assert_eq!(long.collect::<Vec<_>>(), NONE);
}

#[test]
fn nothing_outside_of_tests_panics_by_its_own_word() {
    let of_library = |module: &String| !module.starts_with(SCENARIOS);
    let sources = sources().into_iter();
    let sources = sources.filter(|(module, _)| of_library(module));
    let wrong = sources.flat_map(|(module, text)| {
        let tokens = words_of(code(&text));
        let found = FORBIDDEN.iter().filter(|words| holds(&tokens, words));
        found
            .map(|words| format!("{module}: {}", words.concat()))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

#[test]
fn only_a_clock_asks_for_the_time_and_for_random_numbers() {
    let sources = sources();
    let asks = |text: &str| {
        let tokens = words_of(code(text));
        let found = OF_THE_WORLD.iter().filter(|words| holds(&tokens, words));
        found.map(|words| words.concat()).collect::<Vec<_>>()
    };
    for (module, text) in &sources {
        let asked = asks(text);
        assert!(
            WORLD.contains(&module.as_str()) || asked.is_empty(),
            "{module}: {asked:?}"
        );
    }
    assert!(
        sources
            .iter()
            .any(|(module, text)| WORLD.contains(&module.as_str()) && !asks(text).is_empty())
    );
}

const FORBIDDEN: [&[&str]; 7] = [
    &[".", "unwrap", "("],
    &[".", "expect", "("],
    &["panic", "!"],
    &["todo", "!"],
    &["unimplemented", "!"],
    &["dbg", "!"],
    &["unreachable", "!"],
];

const OF_MODELS: [&str; 5] = ["llm", "model", "prompt", "trunc", "textcut"];

const POLICY_WORDS: [(&str, &str); 0] = [];

const OF_THE_WORLD: [&[&str]; 5] = [
    &["Instant", "::", "now"],
    &["SystemTime", "::", "now"],
    &["UNIX_EPOCH", ".", "elapsed"],
    &["thread_rng"],
    &["rand", "::"],
];

fn holds(tokens: &[String], words: &[&str]) -> bool {
    tokens.windows(words.len()).any(|window| window == words)
}

#[test]
fn a_forbidden_word_would_be_seen_but_not_in_a_comment() {
    let seen = |text: &str| {
        FORBIDDEN
            .iter()
            .any(|forbidden| holds(&words_of(code(text)), forbidden))
    };
    for text in [
        "x.unwrap();",
        "x\n.expect(\"y\");",
        "panic!(\"x\")",
        "std::todo!()",
    ] {
        assert!(seen(text), "{text}");
    }
    for text in [
        "// x.unwrap()",
        "#[cfg(test)] mod t { fn f() { x.unwrap(); } }",
        "x.unwrap_or(y)",
        "#[expect(y)]",
    ] {
        assert!(!seen(text), "{text}");
    }
}

#[test]
fn a_look_at_the_clock_would_be_seen() {
    let seen = |text: &str| {
        OF_THE_WORLD
            .iter()
            .any(|forbidden| holds(&words_of(code(text)), forbidden))
    };
    for text in [
        "tokio::time::Instant::now()",
        "SystemTime::now()",
        "use rand::Rng;",
        "thread_rng()",
    ] {
        assert!(seen(text), "{text}");
    }
    assert!(!seen("\"Instant::now\" // rand::random()"));
}

/// Three drivers that each did these things by hand have drifted apart once.
#[test]
fn one_exchange_alone_pays_enters_gates_and_records() {
    let deeds: [(&[&str], &[&str]); 5] = [
        // A resumed download pays for its next part, which is no retry of a request.
        (&["engine", ".", "ask", "("], &["http-retry-resume"]),
        (&["route", ".", "ask", "("], &[]),
        (&["gate", ".", "enter", "("], &[]),
        (&["ReportRecorder", "::", "new"], &[]),
        (&[".", "attempt_ended", "("], &[]),
    ];
    let wrong = sources().into_iter().flat_map(|(module, text)| {
        let words = words_of(code(&text));
        let is_elsewhere = |others: &[&str]| {
            let mut allowed = others.iter().chain(&["http-retry-core::exchange"]);
            !allowed.any(|allowed| module.starts_with(allowed))
        };
        let found = deeds
            .iter()
            .filter(|(deed, others)| is_elsewhere(others) && holds(&words, deed));
        found
            .map(|(deed, _)| format!("{module}: {}", deed.concat()))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

/// The modules for those that build on the core, with their names: each has its own readers. A name more is a promise more.
const DOORS: [(&str, &str); 6] = [
    (
        "adapter",
        "BodyPart Budgets Changes End Ending Engine ErrorFacts Exchange \
         Found Head Inspected Kept Rebase RedirectMode RedirectSigns RequestSettings RewriteWith \
         Routes SaveOptions Todo follows_no_redirects follows_redirect warn_of_setting",
    ),
    (
        "downloads",
        "DownloadLimits DownloadRecorder RestOfDownload SessionExt",
    ),
    (
        "hedging",
        "AskedAttempt AttemptTerms CopyEnd CopyJudge CopyRefusal PaidCopy ask_attempt",
    ),
    (
        "reading",
        "BodyProbe OutcomeExt RetryTime Rewrite RewriteBody Rewritten StreamHolder all_hold any_holds bare_name \
         date_in_prose delay_in_prose is_grpc is_longer is_refusal_by_proxy is_refusal_to_connect joined \
         kind_of_tls_text",
    ),
    (
        "settings",
        "CLIENT_HEADER HostMap PolicyExt SharedMap authority_of_url base_url check_name host_pattern \
         is_client_header path_pattern public_authority scheme_pattern",
    ),
    (
        "sharing",
        "AccountReply BudgetExt BudgetTerms CallEnd CallKind GateExt GateRequest KeyGate Passed Payment \
         PaymentResult Peer Permit SharedAccount SharedServices vote",
    ),
];

#[test]
fn the_names_for_those_that_build_on_the_core_are_listed() {
    let sources = sources();
    for (module, listed) in DOORS {
        let names = surface::names(&sources[&format!("http-retry-core::{module}")]);
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(names, listed.split_whitespace().collect(), "{module}");
    }
}
