//! The page of the playground's tests.

use crate::http::{Request, Response};
use crate::{Browser, PATIENCE, Site, open_site};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

const PAGE: &str = include_str!("playground.html");
const PICTURE: &str = include_str!("picture.html");

pub(crate) fn site(folder: &str, program: &str) -> Result<Site> {
    let (folder, program) = (PathBuf::from(folder), program.to_owned());
    ensure!(folder.join("index.html").exists(), "no playground is there");
    Ok(Box::new(move |request: &Request| {
        match request.path.as_str() {
            "/" => Response::of(200)
                .with("content-type", "text/html")
                .body(PAGE.as_bytes()),
            "/native" => match printed(&program, &request.body) {
                Ok(text) => Response::of(200).body(&text),
                Err(error) => Response::of(500).body(error.to_string().as_bytes()),
            },
            path => file(&folder, path).unwrap_or_else(|| Response::of(404)),
        }
    }))
}

/// A file of the playground: of the folder itself, and of none in it.
fn file(folder: &Path, path: &str) -> Option<Response> {
    let name = path.strip_prefix("/playground/")?;
    let of = match name.rsplit_once('.')?.1 {
        "html" => "text/html",
        "css" => "text/css",
        "js" => "text/javascript",
        "wasm" => "application/wasm",
        _ => return None,
    };
    let body = fs::read(folder.join(name))
        .ok()
        .filter(|_| !name.contains('/'))?;
    Some(Response::of(200).with("content-type", of).body(&body))
}

/// What the program prints: its arguments stand on a line each, and its input after an empty one.
fn printed(program: &str, request: &[u8]) -> Result<Vec<u8>> {
    let request = String::from_utf8(request.to_vec())?;
    let (arguments, input) = request.split_once("\n\n").context("no arguments")?;
    let mut child = Command::new(program)
        .args(arguments.split('\n'))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    child
        .stdin
        .take()
        .context("no input")?
        .write_all(input.as_bytes())?;
    Ok(child.wait_with_output()?.stdout)
}

/// Takes a picture of the playground in each colour scheme, wide and narrow.
pub(crate) fn take_pictures(browser: &str, folder: &str, program: &str, to: &str) -> Result<()> {
    for (shape, width, size) in [
        ("wide", "100vw", "1200,1750"),
        ("narrow", "360px", "500,3100"),
    ] {
        for (scheme, setting) in [("light", 1), ("dark", 0)] {
            let picture = format!("{to}/playground-{scheme}-{shape}.png");
            let url = open_site(pictured(site(folder, program)?, width))?;
            let arguments = [
                format!("--blink-settings=preferredColorScheme={setting}"),
                format!("--window-size={size}"),
                format!("--screenshot={picture}"),
                "--hide-scrollbars".to_owned(),
                url,
            ];
            Browser::open(browser, &arguments.each_ref().map(String::as_str))?.wait()?;
            let taken = fs::read(&picture).unwrap_or_default();
            ensure!(taken.starts_with(b"\x89PNG"), "no picture: {picture}");
        }
    }
    Ok(())
}

/// The page around the playground of which a picture is taken, once a storm was played.
fn pictured(site: Site, width: &str) -> Site {
    let page = PICTURE.replace("WIDTH", width);
    let (played, waiting) = channel();
    let waiting = Mutex::new(waiting);
    Box::new(move |request| match request.path.as_str() {
        "/" => Response::of(200)
            .with("content-type", "text/html")
            .body(page.as_bytes()),
        "/played" => {
            let _ = played.send(());
            Response::of(204)
        }
        "/held" => {
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = waiting.recv_timeout(PATIENCE);
            Response::of(404)
        }
        _ => site(request),
    })
}
