//! The bodies that reqwest can send.

use super::super::connections::client::{Speaks, bare_reqwest, without_waits};
use super::super::server::FaultServer;
use super::{Framing, assert_sent_again, first_ends, pieces, text};
use crate::in_time::in_time;
use futures_util::TryStreamExt;
use http_body_util::Full;
use http_retry::RetryBudget;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Absent,
    Text,
    Bytes,
    Wrapped,
    Stream,
    StreamOfToldLength,
    Form,
    FormWithStream,
    FormWithStreamOfToldLength,
}

const KINDS: [Kind; 9] = [
    Kind::Absent,
    Kind::Text,
    Kind::Bytes,
    Kind::Wrapped,
    Kind::Stream,
    Kind::StreamOfToldLength,
    Kind::Form,
    Kind::FormWithStream,
    Kind::FormWithStreamOfToldLength,
];

const LENGTH: usize = 30_000;

/// A request as it is to be sent, and what of it has to arrive.
struct Put {
    request: reqwest::Request,
    body: Vec<u8>,
    told: Framing,
}

impl Put {
    async fn of(kind: Kind, url: &str) -> Self {
        let put = bare_reqwest(Speaks::Http1).put(url);
        let text = text(LENGTH);
        let stream = || Body::wrap_stream(pieces(&super::text(LENGTH)));
        let known = Framing::Length(LENGTH);
        let (request, told) = match kind {
            Kind::Absent => return Self::new(put, Vec::new(), Framing::None),
            Kind::Text => (put.body(String::from_utf8(text.to_vec()).unwrap()), known),
            Kind::Bytes => (put.body(text.clone()), known),
            Kind::Wrapped => (put.body(Body::wrap(Full::new(text.clone()))), known),
            Kind::Stream => (put.body(stream()), Framing::Chunked),
            Kind::StreamOfToldLength => {
                let put = put.header("content-length", LENGTH);
                (put.body(stream()), known)
            }
            Kind::Form | Kind::FormWithStream | Kind::FormWithStreamOfToldLength => {
                return Self::of_form(kind, put).await;
            }
        };
        Self::new(request, text.to_vec(), told)
    }

    async fn of_form(kind: Kind, put: reqwest::RequestBuilder) -> Self {
        let (sent, twin) = (form(kind), form(kind));
        let boundaries = (sent.boundary().to_owned(), twin.boundary().to_owned());
        let body: Vec<_> = twin.into_stream().try_collect().await.unwrap();
        let body = String::from_utf8(body.concat()).unwrap();
        let body = body.replace(&boundaries.1, &boundaries.0).into_bytes();
        let told = match kind {
            Kind::FormWithStream => Framing::Chunked,
            _ => Framing::Length(body.len()),
        };
        Self::new(put.multipart(sent), body, told)
    }

    fn new(request: reqwest::RequestBuilder, body: Vec<u8>, told: Framing) -> Self {
        Self {
            request: request.build().unwrap(),
            body,
            told,
        }
    }
}

fn form(kind: Kind) -> Form {
    let stream = Body::wrap_stream(pieces(&text(LENGTH)));
    let part = match kind {
        Kind::FormWithStream => Part::stream(stream),
        Kind::FormWithStreamOfToldLength => {
            Part::stream_with_length(stream, u64::try_from(LENGTH).unwrap())
        }
        _ => Part::bytes(text(LENGTH).to_vec()),
    };
    let part = part.file_name("numbers.txt");
    Form::new().text("name", "numbers").part("file", part)
}

fn client() -> ClientWithMiddleware {
    let retries = RetryMiddleware::new(without_waits(3))
        .budget(RetryBudget::unlimited())
        .runtime(ManualRuntime::paused());
    let client = bare_reqwest(Speaks::Http1);
    ClientBuilder::new(client).with(retries).build()
}

#[tokio::test]
async fn whatever_the_server_had_read_all_of_the_body_is_sent_again() {
    let client = client();
    for kind in KINDS {
        for act in first_ends() {
            let why = format!("{kind:?} after {act:?}");
            let server = FaultServer::start([act]).await;
            let put = Put::of(kind, &server.url("/")).await;
            let answer = in_time(client.execute(put.request)).await;
            assert_eq!(answer.unwrap().status(), 200, "{why}");
            assert_sent_again(&server, &put.body, put.told, &why);
        }
    }
}

#[tokio::test]
async fn a_body_is_sent_as_often_as_the_limit_of_attempts_allows() {
    let client = client();
    for kind in KINDS {
        let mut acts = first_ends().into_iter().rev();
        let server = FaultServer::start(acts.by_ref().take(3)).await;
        let put = Put::of(kind, &server.url("/")).await;
        let answer = in_time(client.execute(put.request)).await;
        assert_eq!(answer.unwrap().status(), 200, "{kind:?}");
        assert_eq!(server.received().len(), 4, "{kind:?}");
        assert_sent_again(&server, &put.body, put.told, &format!("{kind:?}"));
    }
}
