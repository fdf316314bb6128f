//! http-cache-reqwest: a page is fetched through failures, and then comes from the cache; one is deleted, and one posted.

mod client;

use clients::{Meant, Result, Server, answer, same};
use http::{HeaderValue, Method};
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let fresh = || {
        let mut page = answer(200, "text/plain", "the page");
        let day = HeaderValue::from_static("max-age=86400");
        page.headers_mut().insert("cache-control", day);
        page
    };
    let server = Server::failing(2, fresh).await?;
    let started = Instant::now();
    let (client, url) = (client::client()?, format!("{}/page", server.url));
    for _ in 0..3 {
        let page = client.get(&url).send().await?.text().await?;
        same(page, "the page")?;
    }
    let meant = Meant {
        attempts: 3,
        method: "GET",
        target: "/page",
        body: b"",
    };
    meant.check("http-cache-reqwest, 3 calls", &server, started)?;

    for (method, body) in [(Method::DELETE, ""), (Method::POST, "a note")] {
        let server = Server::failing(2, || answer(200, "text/plain", "done")).await?;
        let started = Instant::now();
        let url = format!("{}/page", server.url);
        let request = client::client()?.request(method.clone(), url);
        let done = request.body(body).send().await?.text().await?;
        let meant = Meant {
            attempts: 3,
            method: method.as_str(),
            target: "/page",
            body: body.as_bytes(),
        };
        meant.check("http-cache-reqwest", &server, started)?;
        same(done, "done")?;
    }
    Ok(())
}
