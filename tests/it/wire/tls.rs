//! Handshakes that go wrong on purpose, and what retries make of them.

pub(crate) mod certificates;
pub(crate) mod server;

use super::table::clients::{Kit, Retries, Stack};
use super::table::ending::Ending;
use super::table::orders::Order;
use crate::in_time::in_time;
use certificates::{Authority, known_as, serving, serving_known_clients, trusting};
use rustls::ClientConfig;
use server::{Greeting, TlsServer};
use std::sync::Arc;

async fn send(server: &TlsServer, tls: &ClientConfig, stack: Stack, order: Order) -> Ending {
    let kit = Kit {
        tls: tls.clone(),
        ..Kit::new(server.url())
    };
    let sent = stack.send(&kit, order, &Retries::Silent);
    in_time(sent).await
}

#[tokio::test]
async fn a_handshake_that_was_cut_is_made_again_even_for_a_post() {
    let ours = Authority::new("ours");
    let config = serving(ours.sign_here(3000));
    for cut in [Greeting::CutHandshake, Greeting::ResetHandshake] {
        for stack in Stack::ALL {
            let greetings = [cut.clone(), Greeting::Serve(Arc::clone(&config))];
            let server = TlsServer::start(greetings).await;
            let ending = send(&server, &trusting(&ours), stack, Order::Post).await;
            let expected = match stack {
                // Where redirects are followed, the handshake may have been of a later request.
                Stack::Reqwest | Stack::ReqwestService => (None, 1),
                _ => (Some(200), 2),
            };
            assert_eq!((ending.status, server.connections()), expected, "{stack:?}");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_was_refused_is_not_looked_at_again() {
    let (ours, other) = (Authority::new("ours"), Authority::new("another"));
    let shown = [
        ours.sign_here(2000),
        other.sign_here(3000),
        ours.sign("other.example", 3000),
    ];
    for identity in shown {
        let server = TlsServer::start([Greeting::Serve(serving(identity))]).await;
        for (before, stack) in Stack::ALL.into_iter().enumerate() {
            let ending = send(&server, &trusting(&ours), stack, Order::Get).await;
            assert_eq!(
                (ending.status, server.connections()),
                (None, before + 1),
                "{stack:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_client_with_a_good_certificate_is_answered() {
    let ours = Authority::new("ours");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = serving_known_clients(ours.sign_here(3000), &ours, version);
        let server = TlsServer::start([Greeting::Serve(config)]).await;
        let client = known_as(&ours, ours.sign("client", 3000));
        for stack in Stack::ALL {
            let ending = send(&server, &client, stack, Order::Put).await;
            assert_eq!(ending.status, Some(200), "{stack:?}");
        }
    }
}
