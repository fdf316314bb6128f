//! The blocks of code of the README and of the cookbook, each built in a package that has exactly the dependencies that
//! its page lists. Programs that no other test runs, since they call a server or need a crate of their own, run here, all
//! with one list.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};
use tokio::io::{AsyncBufReadExt, BufReader};
use toml::{Table, Value};
use wiremock::matchers::{any, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A list of dependencies, and the programs that are built with it, by the names of their binaries.
type Package<'a> = (&'a str, BTreeMap<String, String>);

#[test]
fn each_block_of_the_readme_builds_with_a_list_of_its_own() {
    assert_each_block_builds(&[("readme".to_owned(), read("README.md"))]);
}

#[test]
fn each_recipe_builds_with_the_dependencies_that_it_lists() {
    let folder = Path::new(ROOT).join("src/docs/cookbook");
    let pages = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    let pages: Vec<_> = pages.collect();
    assert!(pages.len() >= 16);
    assert_each_block_builds(&pages);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_of_the_readme_get_the_answer_after_a_503() {
    let page = read("README.md");
    let programs = named("readme", &page).into_iter();
    let programs = programs.filter(|(_, program)| program.contains("fn main"));
    let printed = ["Hello!\n", "200 OK\n"];
    let rows: Vec<_> = programs.zip(printed).collect();
    assert_eq!(rows.len(), printed.len());
    for ((name, program), printed) in rows {
        let server = fails_first(ResponseTemplate::new(200).set_body_string("Hello!")).await;
        let at = server.address().to_string();
        let program = replace(&program, &[("localhost:8080", &at)]);
        let output = Command::new(program_of(&name, &program)).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            printed,
            "{output:?}"
        );
        assert_eq!(server.received_requests().await.unwrap().len(), 2, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recipe_llm_prints_the_answer_after_a_503() {
    let answer = serde_json::json!({"choices": [{"message": {"content": "Light scatters."}}]});
    let server = fails_first(ResponseTemplate::new(200).set_body_json(answer)).await;
    let (name, program) = recipe("llm");
    let output = Command::new(program_of(&name, &program))
        .env("LLM_URL", server.uri())
        .env("LLM_KEY", "key")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "Light scatters.\n",
        "{output:?}"
    );
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("2 attempts"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recipe_axum_answers_in_the_time_of_its_caller() {
    let orders = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(std::time::Duration::from_secs(3_600));
    let late = Mock::given(path("/orders/8")).respond_with(late);
    late.mount(&orders).await;
    mount_failure_first(
        &orders,
        ResponseTemplate::new(200).set_body_string("an order"),
    )
    .await;
    let (name, program) = recipe("axum");
    let at = orders.address().to_string();
    let program = replace(
        &program,
        &[
            ("orders.internal:8080", &at),
            ("127.0.0.1:3000", "127.0.0.1:0"),
            (
                "    axum::serve",
                "    println!(\"{}\", listener.local_addr()?);\n    axum::serve",
            ),
        ],
    );
    let mut handler = tokio::process::Command::new(program_of(&name, &program))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(handler.stdout.take().unwrap()).lines();
    let at = printed.next_line().await.unwrap().unwrap();
    for (order, time, expected) in [(7, "60000", (200, "an order")), (8, "100", (504, ""))] {
        let request = reqwest::Client::new().get(format!("http://{at}/orders/{order}"));
        let response = request.header("x-timeout-ms", time).send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        assert_eq!((status, &*text), expected, "order {order}");
    }
    let sent = orders.received_requests().await.unwrap();
    let sent = sent
        .iter()
        .filter(|request| request.url.path() == "/orders/7");
    assert_eq!(sent.count(), 2);
}

/// A server that answers a 503, and from then on so.
async fn fails_first(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    mount_failure_first(&server, answer).await;
    server
}

async fn mount_failure_first(server: &MockServer, answer: ResponseTemplate) {
    let failure = Mock::given(any()).respond_with(ResponseTemplate::new(503));
    failure.up_to_n_times(1).mount(server).await;
    let answer = Mock::given(any()).respond_with(answer);
    answer.mount(server).await;
}

/// The program of a recipe, with a name.
fn recipe(page: &str) -> (String, String) {
    let text = read(&format!("src/docs/cookbook/{page}.md"));
    named(page, &text).remove(0)
}

/// The program with other texts in the place of those, each of which it must have.
fn replace(program: &str, texts: &[(&str, &str)]) -> String {
    texts
        .iter()
        .fold(program.to_owned(), |program, (old, new)| {
            assert!(program.contains(old), "{old} is not in\n{program}");
            program.replace(old, new)
        })
}

/// Builds a program, and returns where it is.
fn program_of(name: &str, program: &str) -> PathBuf {
    let programs = BTreeMap::from([(name.to_owned(), program.to_owned())]);
    let folder = package(&format!("run_{name}"), &dependencies_to_run(), &programs);
    let (messages, log) = cargo("build", &folder);
    let built = messages
        .iter()
        .filter(|line| line["target"]["name"] == name);
    let mut built = built.filter_map(|line| line["executable"].as_str());
    built.next().unwrap_or_else(|| panic!("{log}")).into()
}

/// One list for all programs that run, so that what they stand on is built once: that of the package of recipes, and what
/// only the README needs. That each builds with the list of its page is not for those tests to say.
fn dependencies_to_run() -> String {
    let recipes: Table = read("examples/recipes/Cargo.toml").parse().unwrap();
    let mut dependencies = recipes["dev-dependencies"].as_table().unwrap().clone();
    for list in blocks(&read("README.md"), "toml") {
        let list: Table = list.parse().unwrap();
        for (name, wanted) in list["dependencies"].as_table().unwrap() {
            dependencies.entry(name).or_insert_with(|| wanted.clone());
        }
    }
    Table::from_iter([("dependencies".to_owned(), dependencies.into())]).to_string()
}

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

/// Builds every block of each page with every list of that page: one list must suffice for a block, and each list must
/// suffice for one.
fn assert_each_block_builds(pages: &[(String, String)]) {
    // Pages with the same list share a package, which is built once.
    let mut packages: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for (page, text) in pages {
        for list in blocks(text, "toml") {
            let programs = packages.entry(list).or_default();
            programs.extend(named(page, text));
        }
    }
    let errors: BTreeMap<&str, BTreeMap<String, String>> = packages
        .into_iter()
        .enumerate()
        .map(|(number, package)| (package.0, build(&pages[0].0, number, package)))
        .collect();
    for (page, text) in pages {
        let (lists, programs) = (blocks(text, "toml"), named(page, text));
        assert!(!lists.is_empty() && !programs.is_empty(), "{page}");
        for list in &lists {
            let built = programs
                .iter()
                .any(|(name, _)| !errors[list].contains_key(name));
            assert!(
                built,
                "no block of {page} builds with\n{list}{:#?}",
                errors[list]
            );
        }
        let mains = programs
            .iter()
            .filter(|(_, program)| program.contains("fn main"));
        for ((name, _), list) in mains.zip(&lists) {
            let error = errors[list].get(name);
            assert_eq!(error, None, "{name} needs more than the list beside it");
        }
        for (name, program) in &programs {
            let built = lists.iter().any(|list| !errors[list].contains_key(name));
            let errors: Vec<_> = lists.iter().map(|list| errors[list].get(name)).collect();
            assert!(
                built,
                "{program}\nneeds more than {page} lists: {errors:#?}"
            );
        }
    }
}

/// The programs of a page, by the names of their binaries.
fn named(page: &str, text: &str) -> Vec<(String, String)> {
    let programs = blocks(text, "rust").into_iter().enumerate();
    let programs = programs.map(|(number, code)| (format!("{page}{number}"), code.to_owned()));
    programs.collect()
}

/// The blocks of this language, whatever else stands behind its name.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| block.split_once('\n'));
    let is_wanted = |info: &str| info.split(',').next() == Some(language);
    let wanted = blocks.filter(|(info, _)| is_wanted(info));
    wanted.map(|(_, code)| code).collect()
}

/// Builds the programs of a package, and returns the first error of each that does not build.
fn build(page: &str, number: usize, (list, programs): Package<'_>) -> BTreeMap<String, String> {
    check(
        &package(&format!("{page}{number}"), list, &programs),
        &programs,
    )
}

/// Writes a package of these programs with this list.
fn package(folder: &str, list: &str, programs: &BTreeMap<String, String>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = fs::remove_dir_all(folder.join("src"));
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    for (name, program) in programs {
        let end = if program.contains("fn main") {
            ""
        } else {
            "\nfn main() {}\n"
        };
        let text = format!("#![allow(dead_code)]\n{program}{end}");
        fs::write(folder.join(format!("src/bin/{name}.rs")), text).unwrap();
    }
    fs::write(folder.join("Cargo.toml"), manifest(list)).unwrap();
    // The versions that this workspace is tested with, which are there without a network.
    fs::copy(
        Path::new(ROOT).join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )
    .unwrap();
    folder
}

/// A package outside of the workspace, with this list, and with http-retry as it is here.
fn manifest(list: &str) -> String {
    let mut manifest: Table = list.parse().unwrap();
    let dependencies = manifest["dependencies"].as_table_mut().unwrap();
    let listed = dependencies.remove("http-retry").unwrap();
    let mut own = match listed {
        Value::Table(own) => own,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    own.insert("path".to_owned(), ROOT.into());
    dependencies.insert("http-retry".to_owned(), own.into());
    let package = [
        ("name", "readme"),
        ("version", "0.0.0"),
        ("edition", "2024"),
    ];
    let package = package.map(|(key, value)| (key.to_owned(), value.into()));
    manifest.insert("package".to_owned(), Table::from_iter(package).into());
    manifest.insert("workspace".to_owned(), Table::new().into());
    let workspace: Table = read("Cargo.toml").parse().unwrap();
    // With the same profile, what the workspace has built need not be built again. The family's crates are: they have other
    // features here, and simulate no hours.
    let mut profile = workspace["profile"].clone();
    let packages = profile["dev"]["package"].as_table_mut().unwrap();
    packages.retain(|name, _| !name.starts_with("http-retry"));
    manifest.insert("profile".to_owned(), profile);
    manifest.to_string()
}

/// Calls cargo in a package, and returns its messages, and its log.
fn cargo(verb: &str, folder: &Path) -> (Vec<Json>, String) {
    let output = Command::new(env::var("CARGO").expect("cargo runs this test"))
        .args([
            verb,
            "--offline",
            "--bins",
            "--keep-going",
            "--message-format",
            "json",
        ])
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap(),
        )
        .current_dir(folder)
        .output()
        .unwrap();
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages.lines().map(serde_json::from_str);
    let messages = messages.collect::<Result<_, _>>().unwrap();
    (messages, String::from_utf8(output.stderr).unwrap())
}

fn check(folder: &Path, programs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let (messages, log) = cargo("check", folder);
    let mut errors = BTreeMap::new();
    let mut built = 0;
    for line in messages {
        let name = line["target"]["name"].as_str().unwrap_or_default();
        if !programs.contains_key(name) {
            continue;
        }
        if line["reason"] == "compiler-artifact" {
            built += 1;
        } else if line["message"]["level"] == "error" {
            let text = line["message"]["rendered"].as_str().unwrap();
            errors
                .entry(name.to_owned())
                .or_insert_with(|| text.to_owned());
        }
    }
    assert_eq!(built + errors.len(), programs.len(), "{log}");
    errors
}
