//! The same with a service that must not be repeated, at a URL that is written in another way each time: it is sent
//! once.

use super::super::connections::client::{Stack, without_waits};
use super::super::schedules::{
    InVain, STALLS, Steered, all_closed, in_time, play_all, unless_lost,
};
use super::super::server::{FaultServer, Received};
use super::SCHEDULES;
use super::schedule::{Kind, Schedule};
use crate::random::Random;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use http_retry::reqwest::RetryMiddleware;
use http_retry::services::{Service, ServiceRoute, Services};
use http_retry::tower::RetryLayer;
use http_retry::{Methods, RetryBudget, RetryPolicy};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest_middleware::ClientBuilder;
use std::net::SocketAddr;
use std::ops::AddAssign;
use tokio::net::TcpStream;
use tower::{Layer, ServiceExt, service_fn};

const PATH: &str = "/v1/pay-it.now_~";

/// A POST to one of the spellings of a URL, or to a URL that only looks like one of them.
struct Spelled {
    schedule: Schedule,
    /// The authority without the port, then what is behind the port.
    url: [String; 2],
    is_protected: bool,
    services: Services,
}

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Requests of the service that failed, and were not sent again.
    left_alone: usize,
    /// Requests of no service that were.
    sent_again: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.left_alone += other.left_alone;
        self.sent_again += other.sent_again;
    }
}

impl Spelled {
    fn of(seed: usize) -> Self {
        let schedule = Schedule::of(Kind::Plain, seed);
        let mut random = Random::of(seed as u64 + (1 << 33));
        let is_protected = !random.one_in(4);
        let path = if is_protected {
            written(PATH, &mut random)
        } else {
            let near = [
                "/v1%2Fpay-it.now_~",
                "/v1/pay-it.now_~/x/.%2e",
                "/v1/pay-it.now_%257E",
            ];
            random.one_of(&near).to_owned()
        };
        let host = random.one_of(&["pay.test", "PAY.test", "pay.Test.", "pay.test."]);
        let user = random.one_of(&["", "", "user:password@"]);
        let scheme = random.one_of(&["http", "http", "HTTP"]);
        let zeros = random.one_of(&["", "", "0", "000"]);
        let query = random.one_of(&["", "?a=%76"]);
        Self {
            services: services(&mut random),
            schedule,
            url: [format!("{scheme}://{user}{host}:{zeros}"), path + query],
            is_protected,
        }
    }

    fn url(&self, port: u16) -> String {
        let [start, end] = &self.url;
        format!("{start}{port}{end}")
    }

    fn request(&self, port: u16) -> Request<Bytes> {
        let request = Request::post(self.url(port));
        request.body(self.schedule.body()).unwrap()
    }

    /// Sends the request over a client that finds the server under each of its names.
    async fn send(&self, server: SocketAddr, runtime: Steered) -> Option<u16> {
        let request = self.request(server.port());
        match self.schedule.stack {
            Stack::Reqwest => {
                let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
                let client = client
                    .resolve("pay.test", server)
                    .resolve("pay.test.", server);
                let client = client.redirect(reqwest::redirect::Policy::none());
                let client = client.retry(reqwest::retry::never()).build().unwrap();
                let retries = RetryMiddleware::for_services(&self.services)
                    .redirects_off()
                    .drain_before_retry(128 * 1024, STALLS)
                    .runtime(runtime);
                let client = ClientBuilder::new(client).with(retries).build();
                let answer = client.execute(request.try_into().unwrap()).await;
                Some(answer.ok()?.status().as_u16())
            }
            Stack::Tower => {
                let connect = service_fn(move |_: http::Uri| async move {
                    TcpStream::connect(server).await.map(TokioIo::new)
                });
                let connect = connect.map_future(Box::pin);
                let client = legacy::Client::builder(TokioExecutor::new()).build(connect);
                let retries = RetryLayer::for_services(&self.services)
                    .drain_before_retry(128 * 1024, STALLS)
                    .runtime(runtime);
                let answer = retries.layer(client).oneshot(request.map(Full::new)).await;
                Some(answer.ok()?.status().as_u16())
            }
        }
    }

    async fn received(&self) -> Result<Vec<Received>, InVain> {
        let server = FaultServer::start(self.schedule.acts.clone()).await;
        let runtime = Steered::default();
        let answer = async {
            tokio::select! {
                answer = self.send(server.address(), runtime.clone()) => answer,
                never = runtime.cut_off_stalls(&server) => match never {},
            }
        };
        in_time(answer, &[&server]).await?;
        all_closed(&[&server]).await?;
        Ok(server.received())
    }
}

/// A service whose requests must not be repeated, in one of its spellings; all else is repeated whatever comes of it.
fn services(random: &mut Random) -> Services {
    let repeated = without_waits(3).to_builder().methods(Methods::All);
    let repeated = repeated.attempt_timeout(STALLS).build().unwrap();
    let never = RetryPolicy::never().to_builder().attempt_timeout(STALLS);
    let never = never.build().unwrap();
    let path = random.one_of(&[
        PATH,
        "/v1/*",
        "//v1/./%70ay-it.now_~",
        "*now_~",
        "/x/../v1/*_%7e",
    ]);
    let host = random.one_of(&["pay.test", "Pay.Test.", "*.test"]);
    let unlimited = RetryBudget::unlimited;
    let service = if random.one_in(2) {
        Service::new("pay", never).host(host).path(path)
    } else {
        let route = ServiceRoute::new("now", never)
            .path(path)
            .method(Method::POST);
        Service::new("pay", repeated.clone())
            .host(host)
            .route(route)
    };
    let services = Services::builder(repeated).rest_budget(unlimited());
    services
        .service(service.budget(unlimited()))
        .build()
        .unwrap()
}

/// The path in another spelling of the same.
fn written(path: &str, random: &mut Random) -> String {
    let slashes = ["/", "/", "//", "/./", "/x/../", "/%2e/", "/x/y/%2E./../"];
    let mut written = random.one_of(&["", "/..", "/.%2E/.."]).to_owned();
    for letter in path.bytes() {
        match letter {
            b'/' => written += random.one_of(&slashes),
            _ if random.one_in(4) => written += &format!("%{letter:02x}"),
            _ if random.one_in(4) => written += &format!("%{letter:02X}"),
            _ => written.push(char::from(letter)),
        }
    }
    written + random.one_of(&["", "", "/", "/%2E//"])
}

/// Plays one schedule; its seed stands in every complaint.
async fn play(seed: usize) -> Seen {
    let spelled = Spelled::of(seed);
    let received = unless_lost(|| spelled.received()).await;
    let received = received.unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}"));
    let url = spelled.url(0);
    let twice = spelled.is_protected && received.len() > 1;
    assert!(
        !twice,
        "HTTP_RETRY_SEED={seed}: sent twice: {url}: {received:#?}"
    );
    let has_failed = spelled.schedule.acts.len() > 1 && received.len() == 1;
    Seen {
        left_alone: usize::from(spelled.is_protected && has_failed),
        sent_again: usize::from(received.len() > 1),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_sent_once_however_its_url_is_spelled() {
    if let Some(seen) = play_all::<Seen, _>(SCHEDULES, play).await {
        assert!(seen.left_alone > 2_000 && seen.sent_again > 500, "{seen:?}");
    }
}
