//! The page of the middleware's tests.

use crate::http::{Request, Response};
use crate::script::Scripts;
use crate::{Site, open_site};
use anyhow::Result;
use std::fs;
use wasm_bindgen_cli_support::Bindgen;

const PAGE: &str = include_str!("page.html");

pub(crate) fn site(wasm: &str) -> Result<Site> {
    let folder = tempfile::tempdir()?;
    Bindgen::new()
        .input_path(wasm)
        .web(true)?
        .typescript(false)
        .out_name("tests")
        .generate(folder.path())?;
    let script = fs::read(folder.path().join("tests.js"))?;
    let program = fs::read(folder.path().join("tests_bg.wasm"))?;
    let scripts = Scripts::default();
    let failing = open_site(move |request| scripts.respond(request))?;
    let page = PAGE.replace("ORIGIN", failing.trim_end_matches('/'));
    Ok(Box::new(move |request: &Request| {
        let (of, body) = match request.path.as_str() {
            "/" => ("text/html", page.as_bytes()),
            "/tests.js" => ("text/javascript", &*script),
            "/tests_bg.wasm" => ("application/wasm", &*program),
            _ => return Response::of(404),
        };
        Response::of(200).with("content-type", of).body(body)
    }))
}
