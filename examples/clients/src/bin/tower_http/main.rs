//! A stack of tower-http: trace, redirects, authorization and decompression around the retries.

mod client;

use clients::{Answer, Meant, Result, Server, answer, same, status};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Method};
use std::io::Write;
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let zipped = gzip(b"the answer, unzipped")?;
    let there = Server::start(move |number, request| match number {
        _ if request.headers().get("authorization")
            != Some(&HeaderValue::from_static("Bearer token")) =>
        {
            status(401)
        }
        0 | 1 => status(503),
        _ => encoded(&zipped),
    });
    let there = there.await?;
    let location = HeaderValue::try_from(format!("{}/moved", there.url))?;
    let here = Server::start(move |number, _| match number {
        0 => status(503),
        _ => {
            let mut moved = status(303);
            moved.headers_mut().insert("location", location.clone());
            moved
        }
    });
    let here = here.await?;
    let started = Instant::now();
    let text = client::send(Method::PUT, format!("{}/old", here.url), "the same body").await?;
    let old = Meant {
        attempts: 2,
        method: "PUT",
        target: "/old",
        body: b"the same body",
    };
    old.check("tower-http, before a 303", &here, started)?;
    let moved = Meant {
        attempts: 3,
        method: "GET",
        target: "/moved",
        body: b"",
    };
    moved.check("tower-http, behind it", &there, started)?;
    same(text, "the answer, unzipped")?;

    for (method, body) in [
        (Method::GET, ""),
        (Method::DELETE, ""),
        (Method::POST, "a note"),
    ] {
        let server = Server::failing(2, || answer(200, "text/plain", "done")).await?;
        let started = Instant::now();
        let done = client::send(method.clone(), format!("{}/notes", server.url), body).await?;
        let meant = Meant {
            attempts: 3,
            method: method.as_str(),
            target: "/notes",
            body: body.as_bytes(),
        };
        meant.check("tower-http", &server, started)?;
        same(done, "done")?;
    }
    Ok(())
}

fn gzip(text: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    Ok(encoder.finish()?)
}

fn encoded(zipped: &[u8]) -> Answer {
    let mut encoded = answer(200, "text/plain", zipped.to_vec());
    let gzip = HeaderValue::from_static("gzip");
    encoded.headers_mut().insert("content-encoding", gzip);
    encoded
}
