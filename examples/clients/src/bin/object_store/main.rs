//! object_store: an object in several pieces is put, one is read, and one is deleted; its HTTP store sends no POST.

mod client;

use bytes::Bytes;
use clients::{Meant, Result, Server, answer, same};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let server = Server::failing(2, || answer(201, "text/plain", "")).await?;
    let started = Instant::now();
    let store = client::store(&server.url)?;
    let pieces: Vec<Bytes> = (0..40).map(|piece: u8| vec![piece; 3_000].into()).collect();
    store
        .put(
            &Path::from("notes/all"),
            PutPayload::from_iter(pieces.clone()),
        )
        .await?;
    let meant = Meant {
        attempts: 3,
        method: "PUT",
        target: "/notes/all",
        body: &pieces.concat(),
    };
    meant.check("object_store, put", &server, started)?;

    let server = Server::failing(2, || answer(200, "text/plain", "the object")).await?;
    let started = Instant::now();
    let store = client::store(&server.url)?;
    let read = store.get(&Path::from("notes/all")).await;
    let meant = Meant {
        attempts: 3,
        method: "GET",
        target: "/notes/all",
        body: b"",
    };
    meant.check("object_store, get", &server, started)?;
    same(read?.bytes().await?, "the object")?;

    let server = Server::failing(2, || answer(204, "text/plain", "")).await?;
    let started = Instant::now();
    let deleted = client::store(&server.url)?;
    let deleted = deleted.delete(&Path::from("notes/all")).await;
    let meant = Meant {
        attempts: 3,
        method: "DELETE",
        target: "/notes/all",
        body: b"",
    };
    meant.check("object_store, delete", &server, started)?;
    Ok(deleted?)
}
