//! kube: a ConfigMap is replaced, read, created and deleted.

mod client;

use clients::{Meant, Result, Server, json, same};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use std::time::Instant;

const STORED: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","resourceVersion":"8"}}"#;

const TARGET: &str = "/api/v1/namespaces/default/configmaps/settings";

#[tokio::main]
async fn main() -> Result {
    let map: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "settings", "resourceVersion": "7"},
        "data": {"level": "x".repeat(20_000)},
    }))?;
    let body = serde_json::to_vec(&map)?;
    for (method, target, body) in [
        ("PUT", format!("{TARGET}?"), &body[..]),
        ("GET", TARGET.to_owned(), b""),
        ("POST", TARGET.replace("/settings", "?"), &body),
        ("DELETE", format!("{TARGET}?"), b"{}"),
    ] {
        let server = Server::failing(2, || json(200, STORED)).await?;
        let started = Instant::now();
        let client = client::client(kube::Config::new(server.url.parse()?))?;
        let stored = call(Api::namespaced(client, "default"), method, &map).await;
        let meant = Meant {
            attempts: 3,
            method,
            target: &target,
            body,
        };
        meant.check("kube", &server, started)?;
        same(stored?.metadata.resource_version.as_deref(), Some("8"))?;
    }
    Ok(())
}

async fn call(maps: Api<ConfigMap>, method: &str, map: &ConfigMap) -> kube::Result<ConfigMap> {
    let params = PostParams::default();
    match method {
        "GET" => maps.get("settings").await,
        "POST" => maps.create(&params, map).await,
        "DELETE" => {
            let deleted = maps.delete("settings", &DeleteParams::default()).await?;
            Ok(deleted.left().expect("the deleted map"))
        }
        _ => maps.replace("settings", &params, map).await,
    }
}
