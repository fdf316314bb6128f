//! Thousands of downloads among servers whose files have equal validators, with failovers and redirects that move: each is
//! of one file, the one that its head is of, or an error.
//!
//! `HTTP_RETRY_SCHEDULES=10000 cargo test --all-features --test it resume::elsewhere -- --nocapture` plays 10,000 of each
//! kind, a third of them by each client, and prints what came of them; `HTTP_RETRY_SEED` plays one of each kind.

use super::alike::{Act, Alike, FILE, FILES, Host, Servers, Validator};
use super::clients::{Stack, policy, reqwest_client, why};
use super::steered::Steered;
use super::world::{End, Fault};
use crate::in_time::IN_VAIN;
use crate::random::Random;
use crate::wire::schedules::play_all;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::{RetryMiddleware, SendResumed};
use http_retry::resume::ResumeProgress;
use http_retry::rules::{Condition, ErrorGroup, Failover, OnExhausted, Rule};
use http_retry::services::{Service, Services};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryOverride, RetryPolicy};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::ClientBuilder;
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use tokio::time::timeout;
use tower::{BoxError, Layer, ServiceExt};

/// In an ordinary run.
const SCHEDULES: usize = 300;
const LONGEST: usize = 256 * 1024;
const MOST_ACTS: usize = 24;
const MOST_FAULTS: usize = 4;
/// As reqwest has it.
const MOST_REDIRECTS: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failover,
    Redirects,
    Both,
}

/// When a request goes to the next server.
#[derive(Debug, Clone, Copy)]
enum Fails {
    Never,
    OnceExhausted,
    ByStatus,
    ByStatusOrError,
}

const FAILS: [Fails; 3] = [
    Fails::OnceExhausted,
    Fails::ByStatus,
    Fails::ByStatusOrError,
];

/// A download, and what the servers do with it.
#[derive(Debug)]
struct Schedule {
    stack: Stack,
    alike: Alike,
    range: Option<Range<usize>>,
    fails: Fails,
    /// The second server fails over to the third one.
    chain: bool,
    /// Each service takes the requests to its host, and not all requests the first.
    by_host: bool,
    /// The request names the first service.
    by_name: bool,
    watched: bool,
}

impl Schedule {
    fn of(kind: Kind, seed: usize) -> Self {
        let mut random = Random::of((seed as u64) << 2 | kind as u64);
        let longest = LONGEST >> random.below(12_usize);
        let length = 1 + random.below(longest);
        let range = random.one_in(4).then(|| {
            let first = random.below(length);
            first..first + 1 + random.below(length - first)
        });
        let validators = [Validator::Tag, Validator::Date, Validator::Both];
        let validator = if random.one_in(8) {
            Validator::Nothing
        } else {
            random.one_of(&validators)
        };
        let alike = Alike {
            length,
            stride: random.one_of(&[1, 3000, 40_000, LONGEST]),
            validator,
            hosts: std::array::from_fn(|number| {
                let acts = (0..MOST_ACTS).map(|_| act(kind, number, &mut random));
                Host {
                    acts: acts.collect(),
                    faults: faults(validator, length, &mut random),
                    ranges: !random.one_in(8),
                }
            }),
        };
        Self {
            stack: [Stack::Middleware, Stack::Tower, Stack::Direct][seed % 3],
            alike,
            range,
            fails: if kind == Kind::Redirects {
                Fails::Never
            } else {
                random.one_of(&FAILS)
            },
            chain: random.one_in(2),
            by_host: random.one_in(2),
            by_name: random.one_in(3),
            watched: random.one_in(2),
        }
    }

    fn policy_to(&self, to: Option<&str>) -> RetryPolicy {
        let Some(to) = to.map(Failover::to) else {
            return policy();
        };
        let builder = policy().to_builder();
        let failed = Condition::status(503..=599).unwrap();
        let builder = match self.fails {
            Fails::Never => builder,
            Fails::OnceExhausted => {
                let exhausted = OnExhausted::failover(to);
                builder.max_retries(1).on_exhausted(exhausted)
            }
            Fails::ByStatus => builder.rule(Rule::when(failed).failover(to)),
            Fails::ByStatusOrError => {
                let failed = failed.or(Condition::error(ErrorGroup::Any));
                builder.rule(Rule::when(failed).failover(to))
            }
        };
        builder.build().unwrap()
    }

    fn services(&self, servers: &Servers) -> Services {
        let service = |number: usize, name: &str, policy: RetryPolicy| {
            let service = Service::new(name, policy).budget(RetryBudget::unlimited());
            let service = service.base_url(servers.url(number));
            if self.by_host {
                service.host(servers.authority(number))
            } else {
                service
            }
        };
        let second = self.policy_to(self.chain.then_some("third"));
        let services = Services::builder(self.policy_to(Some("second")))
            .service(service(0, "first", self.policy_to(Some("second"))))
            .service(service(1, "second", second))
            .service(service(2, "third", policy()));
        services.build().unwrap()
    }

    async fn get(&self, servers: &Servers, steered: &Steered) -> Result<Got, BoxError> {
        let (services, url) = (self.services(servers), servers.front());
        let layer = RetryLayer::for_services(&services).runtime(steered.clone());
        match self.stack {
            Stack::Middleware => {
                let retries = RetryMiddleware::for_services(&services).runtime(steered.clone());
                self.by_middleware(retries, &url).await
            }
            Stack::Direct => self.by_layer(layer, &url).await,
            _ => self.by_hyper(layer, url).await,
        }
    }

    fn range_header(&self) -> Option<String> {
        let range = self.range.as_ref()?;
        Some(format!("bytes={}-{}", range.start, range.end - 1))
    }

    fn name(&self) -> Option<RetryOverride> {
        let first = RetryOverride::new().service("first");
        self.by_name.then_some(first)
    }

    async fn by_middleware(&self, retries: RetryMiddleware, url: &str) -> Result<Got, BoxError> {
        let (retries, client) = if self.watched {
            (retries.redirects_watched(), watched())
        } else {
            (retries, reqwest_client())
        };
        let client = ClientBuilder::new(client).with(retries).build();
        let mut request = client.get(url);
        if let Some(range) = self.range_header() {
            request = request.header("range", range);
        }
        if let Some(first) = self.name() {
            request = request.with_extension(first);
        }
        Ok(Got::read(request.send_resumed().await?.into()).await)
    }

    async fn by_layer(&self, layer: RetryLayer, url: &str) -> Result<Got, BoxError> {
        let (layer, client) = if self.watched {
            (layer.redirects_watched(), watched())
        } else {
            (layer, reqwest_client())
        };
        let service = layer.resume_downloads().layer(client);
        let mut request = reqwest::Request::new(http::Method::GET, url.parse()?);
        if let Some(range) = self.range_header() {
            request.headers_mut().insert("range", range.parse()?);
        }
        let response: reqwest::Response = service.oneshot(request).await?;
        Ok(Got::read(response.into()).await)
    }

    /// Follows redirects outside of the layer.
    async fn by_hyper(&self, layer: RetryLayer, mut url: String) -> Result<Got, BoxError> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let service = layer.resume_downloads().layer(client);
        for _ in 0..=MOST_REDIRECTS {
            let mut request = Request::get(&url);
            if let Some(range) = self.range_header() {
                request = request.header("range", range);
            }
            if let Some(first) = self.name() {
                request = request.extension(first);
            }
            let request = request.body(Full::<Bytes>::default())?;
            let response = service.clone().oneshot(request).await?;
            match response.headers().get("location") {
                Some(to) => url = to.to_str()?.to_owned(),
                None => return Ok(Got::read(response).await),
            }
        }
        Err("too many redirects".into())
    }

    async fn play(&self) -> Seen {
        let steered = Steered::new(self.stack.patience());
        let servers = self.alike.start(&steered).await;
        let ended = timeout(IN_VAIN, self.get(&servers, &steered)).await;
        let got = match ended.unwrap_or_else(|_| panic!("it never ends: {self:#?}")) {
            Ok(got) => got,
            Err(_) => return Seen::error("no head"),
        };
        let Some(file) = got.file else {
            return Seen::error("another status");
        };
        // A server that knows no ranges sends the whole to a request for a part.
        let range = self.range.clone().filter(|_| got.is_part);
        let wanted = servers.file(file);
        let wanted = wanted.slice(range.unwrap_or(0..self.alike.length));
        match got.error {
            None if got.read == wanted => Seen {
                whole: 1,
                resumed: usize::from(got.resumes > 0),
                resumed_elsewhere: usize::from(got.resumes > 0 && file > 0),
                ..Seen::default()
            },
            Some(error) if wanted.starts_with(&got.read) => Seen::error(&why(&error)),
            _ => Seen {
                wrong: 1,
                ..Seen::default()
            },
        }
    }
}

fn act(kind: Kind, host: usize, random: &mut Random) -> Act {
    let leads = random.one_in(if host == 0 { 2 } else { 6 });
    if leads && kind != Kind::Failover {
        return Act::Lead(random.below(FILES));
    }
    let busy = random.one_in(if host == 0 { 2 } else { 4 }) && kind != Kind::Redirects;
    if busy { Act::Busy } else { Act::Serve }
}

fn faults(validator: Validator, length: usize, random: &mut Random) -> Vec<Fault> {
    // Nothing ends the wait for a body that cannot be resumed.
    let ends = match validator {
        Validator::Nothing => &[End::Close, End::Reset][..],
        _ => &[End::Close, End::Close, End::Reset, End::Reset, End::Stall],
    };
    let mut fault = || {
        let at = if random.one_in(4) {
            usize::MAX
        } else {
            random.below(length + 300)
        };
        (at, random.one_of(ends))
    };
    (0..MOST_FAULTS).map(|_| fault()).collect()
}

fn watched() -> reqwest::Client {
    let policy = http_retry::reqwest::redirect_policy(reqwest::redirect::Policy::default());
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
    client.redirect(policy).build().unwrap()
}

/// What the caller has in the end.
struct Got {
    /// The file that the head is of.
    file: Option<usize>,
    is_part: bool,
    read: Vec<u8>,
    error: Option<BoxError>,
    resumes: u32,
}

impl Got {
    async fn read<B>(response: http::Response<B>) -> Self
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
    {
        let (head, mut body) = response.into_parts();
        let file = |headers: &HeaderMap| headers.get(FILE)?.to_str().ok()?.parse().ok();
        let (mut read, mut error) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => read.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Err(broken) => error = Some(broken.into()),
            }
        }
        let progress = head.extensions.get::<ResumeProgress>();
        Self {
            file: file(&head.headers),
            is_part: head.status == 206,
            read,
            error,
            resumes: progress.map_or(0, ResumeProgress::resumes),
        }
    }
}

#[derive(Debug, Default)]
struct Seen {
    whole: usize,
    /// Of those, whose rest was asked for.
    resumed: usize,
    /// Of those, whose file is not the one that the caller asked for.
    resumed_elsewhere: usize,
    wrong: usize,
    wrong_seeds: Vec<usize>,
    errors: BTreeMap<String, usize>,
}

impl Seen {
    fn error(why: &str) -> Self {
        let why = why.split(": ").next().unwrap_or_default();
        Self {
            errors: BTreeMap::from([(why.to_owned(), 1)]),
            ..Self::default()
        }
    }
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.whole += other.whole;
        self.resumed += other.resumed;
        self.resumed_elsewhere += other.resumed_elsewhere;
        self.wrong += other.wrong;
        self.wrong_seeds.extend(other.wrong_seeds);
        for (why, number) in other.errors {
            *self.errors.entry(why).or_default() += number;
        }
    }
}

async fn play(kind: Kind, seed: usize) -> Seen {
    let mut seen = Schedule::of(kind, seed).play().await;
    if seen.wrong > 0 {
        seen.wrong_seeds.push(seed);
    }
    seen
}

/// Checks that no download was wrong, and that the schedules had enough of what could have gone wrong.
#[expect(clippy::print_stdout, reason = "the counts are for who asks")]
fn check(kind: Kind, seen: Option<Seen>) {
    println!("{kind:?}: {seen:?}");
    let Some(seen) = seen else { return };
    assert_eq!(seen.wrong, 0, "HTTP_RETRY_SEED: {:?}", seen.wrong_seeds);
    let changed = seen.errors.get("changed").copied().unwrap_or_default();
    assert!(seen.resumed > 10 && changed > 10, "{seen:?}");
    if kind != Kind::Failover {
        assert!(seen.resumed_elsewhere > 5, "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_fails_over_is_of_one_server() {
    let plays = play_all(SCHEDULES, |seed| play(Kind::Failover, seed));
    check(Kind::Failover, plays.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_whose_redirects_move_is_of_one_server() {
    let plays = play_all(SCHEDULES, |seed| play(Kind::Redirects, seed));
    check(Kind::Redirects, plays.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_fails_over_and_moves_is_of_one_server() {
    let plays = play_all(SCHEDULES, |seed| play(Kind::Both, seed));
    check(Kind::Both, plays.await);
}
