//! Serves the tests to a headless browser, fails for them as their scripts say, and reports what they found.
//!
//! `browser CHROMIUM WASM`: the name of a Chromium, and the tests, built for wasm32-unknown-unknown.
#![cfg(not(target_arch = "wasm32"))]

mod http;
mod script;

use anyhow::{Context, Result, bail, ensure};
use http::{Request, Response, serve};
use script::Scripts;
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use wasm_bindgen_cli_support::Bindgen;

const PAGE: &str = include_str!("page.html");
/// The longest time without a result.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [browser, wasm] = &*arguments else {
        bail!("usage: browser CHROMIUM WASM");
    };
    let folder = tempfile::tempdir()?;
    Bindgen::new()
        .input_path(wasm)
        .web(true)?
        .typescript(false)
        .out_name("tests")
        .generate(folder.path())?;
    let failing = listener()?;
    let origin = format!("http://{}", failing.local_addr()?);
    let scripts = Scripts::default();
    serve(failing, move |request| scripts.respond(request));
    let (results, received) = channel();
    let page = listener()?;
    let url = format!("http://{}/", page.local_addr()?);
    let files = files(folder.path(), &origin)?;
    serve(page, move |request| respond(request, &files, &results));
    let _browser = Browser::open(browser, &url, folder.path())?;
    let mut failed = 0;
    let mut passed = 0;
    loop {
        let result = received.recv_timeout(PATIENCE);
        let result = result.context("the browser says nothing more")?;
        match result.split_once('\t') {
            Some((name, "")) => {
                println!("test {name} ... ok");
                passed += 1;
            }
            Some((name, why)) => {
                println!("test {name} ... FAILED: {why}");
                failed += 1;
            }
            None => {
                println!("test result: {passed} passed; {failed} failed");
                let all: usize = result.parse().context("the number of tests")?;
                ensure!(
                    failed == 0 && passed == all && all > 0,
                    "{all} tests, and not all passed"
                );
                return Ok(());
            }
        }
    }
}

fn listener() -> Result<TcpListener> {
    Ok(TcpListener::bind("127.0.0.1:0")?)
}

/// The files of the page by their paths, with their types.
fn files(folder: &Path, origin: &str) -> Result<BTreeMap<String, (&'static str, Vec<u8>)>> {
    let page = PAGE.replace("ORIGIN", origin).into_bytes();
    let mut files = BTreeMap::from([("/".to_owned(), ("text/html", page))]);
    for (name, of) in [
        ("tests.js", "text/javascript"),
        ("tests_bg.wasm", "application/wasm"),
    ] {
        files.insert(format!("/{name}"), (of, fs::read(folder.join(name))?));
    }
    Ok(files)
}

/// Returns a file of the page, or takes a result from it.
fn respond(
    request: &Request,
    files: &BTreeMap<String, (&'static str, Vec<u8>)>,
    results: &Sender<String>,
) -> Response {
    if request.path == "/result" {
        let _ = results.send(String::from_utf8_lossy(&request.body).into_owned());
        return Response::of(204);
    }
    match files.get(&request.path) {
        Some((of, body)) => Response::of(200).with("content-type", of).body(body),
        None => Response::of(404),
    }
}

/// A browser, which is closed when this is dropped.
struct Browser(Child);

impl Browser {
    fn open(program: &str, url: &str, folder: &Path) -> Result<Self> {
        let profile = format!("--user-data-dir={}", folder.join("profile").display());
        let child = Command::new(program)
            // A container has no user namespace for the sandbox, and the page is this folder's own.
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
            ])
            .args([&profile, url])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("{program} does not start"))?;
        Ok(Self(child))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The program may be a script around the browser, which has processes of its own.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}
