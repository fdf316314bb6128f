//! Serves tests to a headless browser, and reports what they found.
//!
//! - `browser CHROMIUM middleware WASM`: the tests of this package, built for wasm32-unknown-unknown. A server of another
//!   site fails for them as their scripts say.
//! - `browser CHROMIUM playground FOLDER PROGRAM`: the playground in a folder, whose numbers are those of the program
//!   `http-retry`. With `HTTP_RETRY_SCREENSHOTS` it also takes pictures into that folder.
#![cfg(not(target_arch = "wasm32"))]

mod http;
mod middleware_page;
mod playground_page;
mod script;

use anyhow::{Context, Result, bail, ensure};
use http::{Request, Response, serve};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The longest time without a result.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        [browser, "middleware", wasm] => run(browser, middleware_page::site(wasm)?),
        [browser, "playground", folder, program] => {
            run(browser, playground_page::site(folder, program)?)?;
            match std::env::var("HTTP_RETRY_SCREENSHOTS") {
                Ok(to) => playground_page::take_pictures(browser, folder, program, &to),
                Err(_) => Ok(()),
            }
        }
        _ => bail!("usage: browser CHROMIUM (middleware WASM | playground FOLDER PROGRAM)"),
    }
}

/// Responds to the requests of a page.
type Site = Box<dyn Fn(&Request) -> Response + Send + Sync>;

/// Opens a page that runs tests, and takes its results until it says how many there are.
fn run(browser: &str, site: Site) -> Result<()> {
    let (results, received) = channel();
    let url = open_site(move |request| {
        if request.path == "/result" {
            let _ = results.send(String::from_utf8_lossy(&request.body).into_owned());
            return Response::of(204);
        }
        site(request)
    })?;
    let _browser = Browser::open(browser, &["--remote-debugging-port=0", &url])?;
    let (mut passed, mut failed) = (0, 0);
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

/// Serves a site on a port of its own, and returns its URL.
fn open_site(site: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    serve(listener, site);
    Ok(url)
}

/// A browser with a profile of its own, which is closed when this is dropped.
struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn open(program: &str, arguments: &[&str]) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let child = Command::new(program)
            // A container has no user namespace for the sandbox, and the page is this folder's own.
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("{program} does not start"))?;
        Ok(Self {
            child,
            _profile: profile,
        })
    }

    /// Waits until it ends by itself.
    fn wait(mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "the browser ended with {status}");
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The program may be a script around the browser, which has processes of its own.
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        let kill = kill.args(["-KILL", "--", &group]).stderr(Stdio::null());
        let _ = kill.status();
        let _ = self.child.wait();
    }
}
