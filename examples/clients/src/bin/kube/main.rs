//! kube: a ConfigMap is replaced.

mod client;

use clients::{Meant, Result, Server, json, same};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::json;
use std::time::Instant;

const STORED: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","resourceVersion":"8"}}"#;

#[tokio::main]
async fn main() -> Result {
    let server = Server::failing(2, || json(200, STORED)).await?;
    let started = Instant::now();
    let client = client::client(kube::Config::new(server.url.parse()?))?;
    let map: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "settings", "resourceVersion": "7"},
        "data": {"level": "x".repeat(20_000)},
    }))?;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let replaced = maps
        .replace("settings", &PostParams::default(), &map)
        .await?;
    let meant = Meant {
        attempts: 3,
        method: "PUT",
        target: "/api/v1/namespaces/default/configmaps/settings?",
        body: &serde_json::to_vec(&map)?,
    };
    meant.check("kube", &server, started)?;
    same(replaced.metadata.resource_version.as_deref(), Some("8"))
}
