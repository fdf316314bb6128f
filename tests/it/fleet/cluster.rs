//! A cluster of three nodes, which a fleet does not follow.

use super::process::{BOTH, LONG, Process};
use super::server::Server;
use http_retry::fleet::Fleet;
use http_retry::runtime::{Runtime, TokioRuntime};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

const SLOTS: [RangeInclusive<u16>; 3] = [0..=5_460, 5_461..=10_922, 10_923..=16_383];

/// Three nodes that know each other, each with a third of the slots.
struct Cluster {
    nodes: Vec<Server>,
    folder: PathBuf,
}

impl Cluster {
    async fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("http-retry-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut cluster = Self {
            nodes: Vec::new(),
            folder,
        };
        for number in 0..SLOTS.len() {
            let (dir, file) = (cluster.folder.to_str().unwrap(), format!("{number}.conf"));
            let own = ["--dir", dir, "--cluster-config-file", &file];
            let node = Server::start(&[&["--cluster-enabled", "yes"], &own[..]].concat());
            cluster.nodes.push(node);
        }
        for (node, slots) in cluster.nodes.iter().zip(SLOTS) {
            // `ADDSLOTSRANGE` is none of 6.2's.
            let slots: Vec<String> = slots.map(|slot| slot.to_string()).collect();
            let slots = slots.iter().map(String::as_str);
            let words: Vec<&str> = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots).collect();
            node.ask(&words).unwrap();
            let port = cluster.nodes[0].port().to_string();
            node.ask(&["CLUSTER", "MEET", "127.0.0.1", &port]).unwrap();
        }
        let is_up = async {
            while !cluster.nodes.iter().all(is_well) {
                TokioRuntime.sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LONG, is_up).await.unwrap();
        cluster
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether a node knows who has which slot.
fn is_well(node: &Server) -> bool {
    let info = node.ask(&["CLUSTER", "INFO"]).unwrap();
    let info: String = redis::from_redis_value(info).unwrap();
    info.contains("cluster_state:ok")
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_key_of_another_node_is_told_and_calls_go_on() {
    let cluster = Cluster::start().await;
    let slot = cluster.nodes[0].ask(&["CLUSTER", "KEYSLOT", "orders"]);
    let slot: u16 = redis::from_redis_value(slot.unwrap()).unwrap();
    let owner = SLOTS.iter().position(|slots| slots.contains(&slot));
    for (number, node) in cluster.nodes.iter().enumerate() {
        let fleet = Fleet::builder().wait(Duration::from_secs(1));
        let fleet = fleet.redis(&node.url()).unwrap();
        let mut process = Process::start(BOTH[number % 2], fleet).await;
        assert_eq!(process.get().await.status, 200);
        process.is_down(true);
        if Some(number) == owner {
            assert_eq!(process.event().await, "orders joined");
            assert_eq!(process.retries(40).await, 20);
        } else {
            assert_eq!(process.event().await, "orders left: moved");
            assert_eq!(process.retries(40).await, 1, "nobody was heard of");
        }
        assert_eq!(process.other_events(), [""; 0]);
    }
}
