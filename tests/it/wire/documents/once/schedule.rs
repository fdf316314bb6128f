//! One request out of a seed, and what it meets.

use super::super::super::schedules::text;
use super::super::super::server::{Act, Answer};
use super::super::stacks::{STACKS, Stack};
use crate::random::Random;
use bytes::Bytes;
use http::{Method, Request};

pub(super) const SECRET: &str = "for-the-first-alone";

/// One request, and what it meets at either service.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) stack: Stack,
    pub(super) method: Method,
    pub(super) key: bool,
    /// The servers tell each other's requests by their keys.
    pub(super) same_keys: bool,
    pub(super) length: usize,
    pub(super) first: Vec<Act>,
    pub(super) second: Vec<Act>,
}

impl Schedule {
    pub(super) fn of(seed: usize) -> Self {
        let mut random = Random::of(seed as u64);
        let method = random.one_of(&[Method::POST, Method::POST, Method::GET, Method::PUT]);
        let stack = STACKS[seed % STACKS.len()];
        // Where no timeout can be told, a stall has no end.
        let stalls = |act: &Act| !matches!(act, Act::StallHead) || stack.can_fail();
        let mut acts = |most| {
            let acts = (0..random.below(most)).map(|_| act(&mut random));
            acts.filter(stalls).collect()
        };
        let (first, second) = (acts(6), acts(4));
        Self {
            stack,
            key: method == Method::POST && random.one_in(3),
            same_keys: random.one_in(3),
            length: match method {
                Method::GET => 0,
                _ => random.one_of(&[0, 1, 200, 70_000]),
            },
            method,
            first,
            second,
        }
    }

    pub(super) fn request(&self, url: &str) -> Request<Bytes> {
        let mut request = Request::new(self.body());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = url.parse().unwrap();
        let headers = request.headers_mut();
        if self.key {
            let key = http::HeaderValue::from_static("order-7");
            headers.insert("idempotency-key", key);
        }
        for name in ["authorization", "cookie", "x-api-key", "x-vendor-key"] {
            headers.insert(name, http::HeaderValue::from_static(SECRET));
        }
        request
    }

    pub(super) fn body(&self) -> Bytes {
        text(b"abcdefghijklmnopqrstuvw", self.length).into()
    }

    /// Whether processing this request twice would do harm.
    pub(super) fn is_once_only(&self) -> bool {
        self.method == Method::POST && !self.key
    }
}

fn act(random: &mut Random) -> Act {
    match random.below(24) {
        0..=11 => Act::Answer(answer(random)),
        12 => Act::AnswerThenClose(answer(random)),
        13 => Act::AnswerEarly(answer(random)),
        14 => Act::CloseUnread,
        15 => Act::ResetUnread,
        16 => Act::ResetAfterRequestHead,
        17 => Act::CloseAfterRequest,
        18 => Act::ResetAfterRequest,
        19 => Act::CloseInHead,
        20 => Act::CutBody(status(random)),
        21 => Act::StallHead,
        22 => Act::StallBody(status(random)),
        _ if random.one_in(8) => Act::EndlessBody(status(random)),
        _ => Act::Garbage,
    }
}

fn answer(random: &mut Random) -> Answer {
    let bodies = [
        r#"{"code": "busy"}"#,
        r#"{"error": "oops, sorry"}"#,
        "",
        "answer",
    ];
    let answer = Answer::new(status(random)).body(random.one_of(&bodies));
    match random.below(6) {
        0 => answer.header("retry-after", "0"),
        1 => answer.header("retry-after", "7"),
        _ => answer,
    }
}

fn status(random: &mut Random) -> u16 {
    random.one_of(&[
        200, 202, 202, 204, 400, 404, 404, 408, 409, 413, 425, 429, 500, 500, 501, 502, 503, 503,
        504, 529,
    ])
}
