//! A request and what the network does to it, out of a seed.

use super::super::connections::client::{STACKS, Stack};
use super::super::schedules::text;
use super::super::server::{Act, Answer, Received};
use crate::random::Random;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_retry::{Class, Outcome};

/// What a schedule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Redirects,
    Proxy,
}

/// What the retry layer is told of redirects, and what its client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirects {
    Off,
    Watched,
    Unknown,
}

/// One request, and the acts of the server that it meets.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) stack: Stack,
    pub(super) redirects: Redirects,
    /// By the tower layer, where the client is reqwest's and follows redirects.
    pub(super) by_layer: bool,
    /// What a proxy answers in the place of the server, where there is one.
    pub(super) apology: Option<Answer>,
    /// No other schedule has it, so that nobody's redirects are taken for those of another.
    pub(super) path: String,
    pub(super) max_retries: u32,
    pub(super) acts: Vec<Act>,
    method: Method,
    key: bool,
    length: usize,
}

/// What must come of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// The limit of attempts is not reached before a success.
    Success,
    /// Some failure may be the last outcome.
    None,
}

/// What one act does to a request that may be processed twice.
enum Effect {
    Succeeds,
    Ends,
    /// It costs up to so many attempts.
    Costs(u32),
}

impl Schedule {
    pub(super) fn of(kind: Kind, seed: usize) -> Self {
        let mut random = Random::of(seed as u64);
        let method = random.one_of(&[Method::POST, Method::POST, Method::GET, Method::PUT]);
        let acts = 0..1 + random.below(5);
        let path = format!("/{kind:?}/{seed}");
        Self {
            stack: STACKS[usize::from(seed % 2 == 1)],
            max_retries: random.below(5),
            key: method == Method::POST && random.one_in(4),
            length: match method {
                Method::GET => 0,
                _ => random.one_of(&[0, 1, 10, 200, 3_000, 70_000]),
            },
            method,
            acts: acts.map(|_| act(kind, &path, &mut random)).collect(),
            redirects: match kind {
                Kind::Redirects => {
                    let states = [Redirects::Off, Redirects::Watched, Redirects::Unknown];
                    random.one_of(&[states, [Redirects::Watched; 3]].concat())
                }
                Kind::Plain | Kind::Proxy => Redirects::Off,
            },
            by_layer: kind == Kind::Redirects && random.one_in(2),
            apology: (kind == Kind::Proxy).then(|| apology(&mut random)),
            path,
        }
    }

    pub(super) fn request(&self, url: &str) -> Request<Bytes> {
        self.request_of(url, self.body())
    }

    pub(super) fn request_of<B>(&self, url: &str, body: B) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = url.parse().unwrap();
        if self.key {
            let key = http::HeaderValue::from_static("order-7");
            request.headers_mut().insert("idempotency-key", key);
        }
        request
    }

    pub(super) fn body(&self) -> Bytes {
        text(b"abcdefghijklmnopqrstuvw", self.length).into()
    }

    /// Whether this is the request itself, and not what a redirect made of it.
    pub(super) fn is_own(&self, received: &Received) -> bool {
        received.method() == self.method && received.body == self.body()
    }

    /// Whether this is what a redirect may make of the request.
    pub(super) fn is_of_a_redirect(&self, received: &Received) -> bool {
        self.follows_redirects() && received.method() == Method::GET && received.body.is_empty()
    }

    /// Whether the client goes on from what it was answered here.
    pub(super) fn follows(&self, received: &Received) -> bool {
        self.follows_redirects() && received.act.as_ref().is_some_and(is_redirect)
    }

    fn follows_redirects(&self) -> bool {
        self.stack == Stack::Reqwest && self.redirects != Redirects::Off
    }

    /// Whether processing this request twice would do harm.
    pub(super) fn is_once_only(&self) -> bool {
        self.method == Method::POST && !self.key
    }

    /// Whether the request carries a key of idempotency.
    pub(super) fn is_keyed(&self) -> bool {
        self.key
    }

    /// What must come of a request that may be processed twice, however unluckily its attempts fall.
    pub(super) fn promise(&self) -> Promise {
        let mut spent = 0;
        for act in &self.acts {
            let effect = match self.apology {
                Some(_) => effect_behind_a_proxy(act),
                None => effect(act),
            };
            match effect {
                _ if is_redirect(act) && self.follows_redirects() => {}
                Effect::Succeeds => break,
                Effect::Ends => return Promise::None,
                Effect::Costs(attempts) => spent += attempts,
            }
        }
        if spent <= self.max_retries && !self.is_once_only() {
            Promise::Success
        } else {
            Promise::None
        }
    }
}

fn act(kind: Kind, path: &str, random: &mut Random) -> Act {
    match kind {
        Kind::Redirects => match random.below(10) {
            0..=3 => redirect(path, random),
            // What a redirect hides.
            4..=6 => Act::status(random.one_of(&[408, 425, 429])),
            _ => act_of(random.below(30), random),
        },
        Kind::Proxy => act_of(random.below(25), random),
        Kind::Plain => act_of(random.below(30), random),
    }
}

fn act_of(number: u64, random: &mut Random) -> Act {
    match number {
        0..=9 => Act::Answer(answer(random)),
        10..=11 => Act::AnswerThenClose(answer(random)),
        12..=13 => Act::AnswerEarly(answer(random)),
        14 => Act::CloseUnread,
        15 => Act::ResetUnread,
        16 => Act::ResetAfterRequestHead,
        17..=18 => Act::CloseAfterRequest,
        19..=20 => Act::ResetAfterRequest,
        21 => Act::CloseInHead,
        22 => Act::ResetInHead,
        23 => Act::CutBody(status(random)),
        24 => Act::ResetInBody(status(random)),
        25 => Act::StallHead,
        26 => Act::StallBody(status(random)),
        27 if random.one_in(8) => Act::EndlessBody(status(random)),
        27 => Act::Garbage,
        28 => Act::BadGzip,
        _ => Act::status(503),
    }
}

fn redirect(path: &str, random: &mut Random) -> Act {
    let status = random.one_of(&[301, 302, 303, 303, 307, 308]);
    let places = [path.to_owned(), format!("/.{path}"), format!("{path}#x")];
    let place = if random.one_in(4) {
        "/receipt".to_owned()
    } else {
        random.one_of(&places)
    };
    Act::Answer(Answer::new(status).header("location", place))
}

fn is_redirect(act: &Act) -> bool {
    matches!(act, Act::Answer(answer) if (300..400).contains(&answer.status))
}

/// What a proxy says of itself, whatever the server behind it has done.
fn apology(random: &mut Random) -> Answer {
    let answer = Answer::new(random.one_of(&[502, 503, 503, 503, 504]));
    if random.one_in(3) {
        answer
    } else {
        answer.header("retry-after", random.one_of(&["0", "7"]))
    }
}

fn answer(random: &mut Random) -> Answer {
    let answer = Answer::new(status(random));
    let answer = match random.below(8) {
        0 => answer.body([]),
        1 => answer.body([b'x'; 3_000]),
        2 if random.one_in(4) => answer.body([b'x'; 200_000]),
        _ => answer,
    };
    match random.below(6) {
        0 => answer.header("retry-after", "0"),
        1 => answer.header("retry-after", "7"),
        2 => answer.header("retry-after", "soon"),
        _ => answer,
    }
}

fn status(random: &mut Random) -> u16 {
    let class = random.one_of(&[
        &[200, 200, 201][..],
        &[500, 502, 503, 504, 520, 529, 599],
        &[503, 503, 413],
        &[408, 425, 429],
        &[500, 503, 429, 400, 404, 409, 501, 505],
    ]);
    random.one_of(class)
}

/// Whether the server says by this act that it did not process the request.
pub(super) fn refuses(act: &Act) -> bool {
    let invites = |answer: &Answer| {
        let mut headers = answer.headers.iter();
        headers.any(|(name, value)| *name == "retry-after" && value.parse::<u64>().is_ok())
    };
    match act {
        // The server sends the request elsewhere before it has done anything.
        Act::Answer(answer) if matches!(answer.status, 307 | 308) => true,
        Act::Answer(answer) | Act::AnswerThenClose(answer) | Act::AnswerEarly(answer) => {
            is_refusal(answer.status) || (answer.status == 413 && invites(answer))
        }
        Act::CutBody(status)
        | Act::ResetInBody(status)
        | Act::StallBody(status)
        | Act::EndlessBody(status) => is_refusal(*status),
        _ => false,
    }
}

fn is_refusal(status: u16) -> bool {
    matches!(status, 408 | 425 | 429)
}

fn effect(act: &Act) -> Effect {
    match act {
        Act::Answer(answer) | Act::AnswerEarly(answer) => after_status(answer.status, act, 1),
        // The next attempt may go out on the connection that is about to close.
        Act::AnswerThenClose(answer) => after_status(answer.status, act, 2),
        Act::CutBody(status) | Act::EndlessBody(status) => after_status(*status, act, 1),
        // A reset may take the head with it, and a stall the attempt.
        Act::ResetInBody(status) | Act::StallBody(status) => match after_status(*status, act, 1) {
            Effect::Succeeds => Effect::Costs(1),
            effect => effect,
        },
        Act::BadGzip => Effect::Succeeds,
        Act::Garbage => Effect::Ends,
        _ => Effect::Costs(1),
    }
}

/// A proxy answers for itself where the server has not answered in full.
fn effect_behind_a_proxy(act: &Act) -> Effect {
    match act {
        Act::Answer(answer) | Act::AnswerThenClose(answer) | Act::AnswerEarly(answer) => {
            after_status(answer.status, act, 1)
        }
        _ => Effect::Costs(1),
    }
}

fn after_status(status: u16, act: &Act, attempts: u32) -> Effect {
    let headers = HeaderMap::new();
    let status = StatusCode::from_u16(status).unwrap();
    match Outcome::response(status, &headers).class() {
        Class::Success => Effect::Succeeds,
        Class::Permanent if !refuses(act) => Effect::Ends,
        _ => Effect::Costs(attempts),
    }
}
