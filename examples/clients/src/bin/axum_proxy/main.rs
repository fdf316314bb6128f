//! A reverse proxy of axum: the bodies of its callers are streams.

mod client;

use bytes::Bytes;
use clients::{Meant, Result, Server, answer, same};
use http::Method;
use std::time::Instant;
use tokio::net::TcpListener;

const PIECE: &str = "a piece of the body, ";

#[tokio::main]
async fn main() -> Result {
    for method in [Method::PUT, Method::GET, Method::DELETE, Method::POST] {
        let server = Server::failing(1, || answer(200, "text/plain", "stored")).await?;
        let started = Instant::now();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/notes?draft=1", listener.local_addr()?);
        let proxy = client::proxy(server.url.clone());
        tokio::spawn(async move { axum::serve(listener, proxy).await });
        let has_body = method == Method::PUT || method == Method::POST;
        let (body, whole) = if has_body {
            (stream(100), PIECE.repeat(100))
        } else {
            (reqwest::Body::default(), String::new())
        };
        let request = reqwest::Client::new().request(method.clone(), url);
        let sent = request.body(body).send().await;
        let meant = Meant {
            attempts: 2,
            method: method.as_str(),
            target: "/notes?draft=1",
            body: whole.as_bytes(),
        };
        meant.check("axum reverse proxy", &server, started)?;
        let response = sent?;
        same(response.status(), 200)?;
        same(response.text().await?, "stored")?;
    }
    Ok(())
}

/// A body whose length nobody is told.
fn stream(pieces: usize) -> reqwest::Body {
    let pieces = (0..pieces).map(|_| Ok::<_, std::io::Error>(Bytes::from(PIECE)));
    reqwest::Body::wrap_stream(futures_util::stream::iter(pieces))
}
