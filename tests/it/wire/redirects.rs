//! Redirects that reqwest follows by itself, in every state of what is known of them: a POST that was answered by one is
//! sent once, and one that was not is repeated wherever that is known.

pub(crate) mod client;
mod elsewhere;
mod known;
mod rules;

use super::connections::client::without_waits;
use super::server::{Act, Answer, FaultServer};
use crate::listening::nobody;
use client::{ADAPTERS, Call, Client, State};
use http::Method;
use http_retry::llm::LlmPreset;
use http_retry::{Methods, Reach, RetryPolicy, StopReason};
use tokio::net::TcpSocket;

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// Where a redirect leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    SameUrl,
    SamePlace,
    SameButFragment,
    Other,
    /// To another URL, and back.
    Detour,
}

const WAYS: [Way; 5] = [
    Way::SameUrl,
    Way::SamePlace,
    Way::SameButFragment,
    Way::Other,
    Way::Detour,
];

/// What comes of the request that is not redirected any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Status(u16),
    Invites503,
    Cut,
    Refused,
}

const ENDS: [End; 8] = [
    End::Status(200),
    End::Status(408),
    End::Status(425),
    End::Status(429),
    End::Status(500),
    End::Invites503,
    End::Cut,
    End::Refused,
];

impl Way {
    fn locations(self, path: &str) -> Vec<String> {
        match self {
            Self::SameUrl => vec![path.to_owned()],
            Self::SamePlace => vec![format!("/.{path}")],
            Self::SameButFragment => vec![format!("{path}#x")],
            Self::Other => vec!["/receipt".to_owned()],
            Self::Detour => vec!["/detour".to_owned(), path.to_owned()],
        }
    }

    fn hops(self) -> usize {
        self.locations("").len()
    }
}

impl End {
    fn act(self) -> Option<Act> {
        match self {
            Self::Status(status) => Some(Act::status(status)),
            Self::Invites503 => Some(Act::Answer(Answer::new(503).header("retry-after", "1"))),
            Self::Cut => Some(Act::CloseAfterRequest),
            Self::Refused => None,
        }
    }

    /// Whether it says that the request it belongs to was not processed.
    fn is_unprocessed(self) -> bool {
        matches!(self, Self::Status(408 | 425 | 429) | Self::Refused)
    }

    fn is_error(self) -> bool {
        matches!(self, Self::Cut | Self::Refused)
    }
}

/// A server that redirects a request by each of the locations, and then ends it like this.
async fn server(status: u16, locations: &[String], end: End) -> (FaultServer, TcpSocket) {
    let (socket, closed) = nobody();
    let mut acts = Vec::new();
    for (place, location) in locations.iter().enumerate() {
        let last = place + 1 == locations.len();
        let location = match end {
            End::Refused if last => format!("http://{closed}{location}"),
            _ => location.clone(),
        };
        let answer = Answer::new(status).header("location", location);
        acts.push(Act::Answer(answer));
    }
    acts.extend(end.act());
    (FaultServer::start(acts).await, socket)
}

/// Three retries at once, by the standard rules and by those for language models.
fn policies() -> [RetryPolicy; 2] {
    let llm = RetryPolicy::llm().to_builder();
    let llm = llm.methods(Methods::Idempotent).max_retries(3);
    [without_waits(3), llm.build().unwrap()]
}

/// Every client whose state is one of these.
fn clients(states: &[State]) -> Vec<Client> {
    let mut clients = Vec::new();
    for &state in states {
        for adapter in ADAPTERS {
            for policy in policies() {
                for told in [true, false] {
                    clients.push(Client::new(adapter, state, policy.clone(), told));
                }
            }
        }
    }
    clients
}

/// Sends a request in every way that redirects can take, and says what was seen. No two tests at the same time ask for the
/// same path, since one cannot know that the redirects of the other are not its own.
async fn every_way(
    client: &Client,
    (method, path): (Method, &str),
    check: impl Fn(Way, End, Call, usize),
) {
    for status in STATUSES {
        for way in WAYS {
            for end in ENDS {
                let (server, _socket) = server(status, &way.locations(path), end).await;
                let call = client.send(method.clone(), &server.url(path)).await;
                check(way, end, call, server.received().len());
            }
        }
    }
}

#[tokio::test]
async fn a_redirected_post_is_sent_once_by_every_client() {
    for client in clients(&[State::Watched, State::Unknown]) {
        every_way(
            &client,
            (Method::POST, "/once"),
            |way, end, call, received| {
                let why = format!("{way:?} {end:?} {client:?} {call:?}");
                let hops = way.hops();
                let sent = hops + usize::from(end != End::Refused);
                assert_eq!(received, sent, "{why}");
                let stop = match end {
                    End::Status(200) => StopReason::Succeeded,
                    _ if end.is_unprocessed() && client.state == State::Unknown => {
                        StopReason::RedirectsUnknown
                    }
                    _ => StopReason::NotIdempotent,
                };
                let reach = if end.is_error() {
                    Reach::Ambiguous
                } else {
                    Reach::Answered
                };
                if let Some(report) = call.report {
                    assert_eq!(report.stop, stop, "{why}");
                    assert_eq!(report.attempts[0].reach, reach, "{why}");
                }
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_redirected_put_is_repeated_by_every_client() {
    for client in clients(&[State::Watched, State::Unknown]) {
        every_way(
            &client,
            (Method::PUT, "/put"),
            |way, end, call, received| {
                let why = format!("{way:?} {end:?} {client:?} {call:?}");
                let hops = way.hops();
                let sent = hops + usize::from(end != End::Refused);
                let again = usize::from(end != End::Status(200));
                assert_eq!((call.status, received), (Some(200), sent + again), "{why}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_redirect_that_is_not_followed_is_a_success() {
    for client in clients(&[State::Off]) {
        every_way(
            &client,
            (Method::POST, "/off"),
            |way, end, call, received| {
                let redirected = call.status.is_some_and(|status| STATUSES.contains(&status));
                assert!(redirected && received == 1, "{way:?} {end:?} {call:?}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_post_that_was_not_redirected_is_repeated_where_known() {
    for client in clients(&[State::Off, State::Watched, State::Unknown]) {
        for end in ENDS {
            let (server, socket) = server(200, &[], end).await;
            let url = match end {
                End::Refused => format!("http://{}/plain", socket.local_addr().unwrap()),
                _ => server.url("/plain"),
            };
            let call = client.send(Method::POST, &url).await;
            let why = format!("{end:?} {client:?} {call:?}");
            let known = client.state != State::Unknown;
            let (stop, attempts) = match end {
                End::Status(200) => (StopReason::Succeeded, 1),
                End::Refused if known => (StopReason::AttemptsExhausted, 4),
                _ if end.is_unprocessed() && known => (StopReason::Succeeded, 2),
                _ if end.is_unprocessed() => (StopReason::RedirectsUnknown, 1),
                _ => (StopReason::NotIdempotent, 1),
            };
            if end != End::Refused {
                assert_eq!(server.received().len(), attempts, "{why}");
            }
            if let Some(report) = call.report {
                let seen = (report.stop, report.attempt_count as usize);
                assert_eq!(seen, (stop, attempts), "{why}");
            }
        }
    }
}
