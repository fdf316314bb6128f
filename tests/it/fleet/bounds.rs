//! How many retries a fleet gets, whatever happens to what the store keeps.

use super::process::{BOTH, Process};
use super::server::Server;
use http_retry::fleet::Fleet;
use http_retry::rules::{Failover, OnExhausted};
use http_retry::services::{Service, Services};
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy, ServiceBudgets};
use tower::{Layer, ServiceExt};

const KEY: &str = "http-retry:1:{orders}:budget";

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn processes_share_the_tokens_of_one() {
    let server = Server::start(&[]);
    let [stack, other] = BOTH;
    let processes = [
        Process::joined(stack, &server.url()).await,
        Process::joined(other, &server.url()).await,
    ];
    let mut retries = 0;
    for _ in 0..3 {
        for process in &processes {
            process.is_down(true);
            retries += process.retries(10).await;
        }
    }
    assert_eq!(retries, 20);
    for mut process in processes {
        assert!(process.fleet.status().joined);
        assert_eq!(process.other_events(), [""; 0]);
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_store_that_forgets_gives_no_second_fortune() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        let mut process = Process::joined(stack, &server.url()).await;
        process.is_down(true);
        assert_eq!(process.retries(5).await, 5);
        let mut retries = 0;
        for _ in 0..10 {
            server.ask(&["FLUSHALL"]).unwrap();
            retries += process.retries(5).await;
        }
        // The process remembers that 15 were left.
        assert!((10..=15).contains(&retries), "{retries}");
        assert_eq!(process.other_events(), [""; 0]);
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn garbage_in_the_store_is_a_bucket_anew() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        let mut process = Process::joined(stack, &server.url()).await;
        process.is_down(true);
        assert_eq!(process.retries(5).await, 5);
        for garbage in ["nan", "1e308", "0x10", "-5.5", ""] {
            server
                .ask(&["HSET", KEY, "t", garbage, "at", garbage])
                .unwrap();
            assert_eq!(process.retries(1).await, 1, "{garbage}");
        }
        assert!(process.retries(30).await <= 10);
        assert_eq!(process.other_events(), [""; 0]);
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn what_is_given_by_hand_wins_whatever_the_order() {
    let server = Server::start(&[]);
    let fleet = Fleet::redis(&server.url()).unwrap();
    let own = || RetryBudget::builder().capacity(7).build().unwrap();
    let layer = || RetryLayer::new(RetryPolicy::background());
    let layers = [
        layer().fleet(&fleet).budget(own()),
        layer().budget(own()).fleet(&fleet),
        layer().fleet(&fleet).budgets(ServiceBudgets::default()),
        layer().budgets(ServiceBudgets::default()).fleet(&fleet),
    ];
    for layer in layers {
        let shown = format!("{layer:?}");
        assert!(!shown.contains("each: Made"), "{shown}");
    }
    let shown = format!("{:?}", layer().fleet(&fleet));
    assert!(shown.contains("each: Made"), "{shown}");
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_budget_by_hand_has_its_own_numbers_and_is_told_at_the_end() {
    let server = Server::start(&[]);
    let fleet = Fleet::redis(&server.url()).unwrap();
    let numbers = RetryBudget::builder().capacity(50).initial(0);
    let budget = fleet.budget("orders", numbers.per_success(1)).unwrap();
    for _ in 0..9 {
        budget.deposit(std::time::Duration::ZERO);
    }
    // The first look makes the bucket; a program of one request may end before any.
    while !fleet.status().joined {
        fleet.close().await;
    }
    let tokens = server.ask(&["HGET", KEY, "t"]).unwrap();
    assert_eq!(redis::from_redis_value::<i64>(tokens).unwrap(), 9_000_000);
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn another_service_takes_over_once_the_fleet_refuses() {
    let server = Server::start(&[]);
    let other = Process::joined(BOTH[0], &server.url()).await;
    other.is_down(true);
    assert_eq!(other.retries(40).await, 20);
    let fleet = Fleet::builder().wait(std::time::Duration::from_secs(1));
    let fleet = fleet.redis(&server.url()).unwrap();
    let orders = RetryPolicy::background().to_builder().max_gate_wait(None);
    let orders = orders.on_exhausted(OnExhausted::failover(Failover::to("backup")));
    let services = Services::builder(RetryPolicy::never())
        .service(Service::new("orders", orders.build().unwrap()).host("a.test"))
        .service(Service::new("backup", RetryPolicy::never()).base_url("http://b.test"))
        .build()
        .unwrap();
    let service = Script::new().status(503).status(200);
    let layer = RetryLayer::for_services(&services).fleet(&fleet);
    let request = http::Request::get("http://a.test/x").body(String::new());
    let response = layer.layer(service.clone()).oneshot(request.unwrap()).await;
    assert_eq!(response.unwrap().status(), 200);
    let asked: Vec<_> = service
        .calls()
        .iter()
        .map(|(_, uri)| uri.to_string())
        .collect();
    assert_eq!(asked, ["http://a.test/x", "http://b.test/x"]);
}
