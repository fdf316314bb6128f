//! Services that stay on their thread, beside stacks that move between threads as ever.

use super::stack::{layer, policy, report, status, text};
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_retry::reqwest::{RetryMiddleware, SendResumed};
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Reach, ReplayBody, RetryBudget, StopReason};
use std::cell::Cell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::ready;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

type Request = http::Request<String>;
type Response = http::Response<super::stack::Body>;

fn put() -> Request {
    let request = http::Request::put("http://api.example/a");
    request.body("all of it".to_owned()).unwrap()
}

/// An error that stays on its thread too.
#[derive(Debug)]
struct Refused(Rc<str>);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

/// Answers 503, fails, and answers 200, with a future that stays on its thread.
fn server(
    calls: &Rc<Cell<u32>>,
) -> impl Service<Request, Response = Response, Error = Refused, Future: 'static> + Clone + use<> {
    let calls = Rc::clone(calls);
    service_fn(move |request: Request| {
        assert_eq!(request.body(), "all of it");
        calls.set(calls.get() + 1);
        let calls = Rc::clone(&calls);
        async move {
            match calls.get() {
                1 => Ok(text(503, "no room")),
                2 => Err(Refused("no door".into())),
                _ => Ok(status(200)),
            }
        }
    })
}

/// Runs what stays on its thread in a task of a [`LocalSet`].
fn in_a_local_set<F: Future<Output: 'static> + 'static>(task: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let tasks = LocalSet::new();
    let ended = tasks.run_until(async { spawn_local(task).await });
    runtime.unwrap().block_on(ended).unwrap()
}

#[test]
fn a_service_with_an_rc_is_retried_on_its_thread() {
    let calls = Rc::new(Cell::new(0));
    let known = policy().classify_error(|_: &Refused| (Class::Transient, Reach::Unsent));
    let layer = RetryLayer::new(known.build().unwrap()).runtime(ManualRuntime::new());
    let service = layer.unchanged_errors().layer(server(&calls));
    let answer = in_a_local_set(service.oneshot(put())).unwrap();
    assert_eq!((answer.status().as_u16(), calls.get()), (200, 3));
    assert_eq!(report(&answer).attempt_count, 3);
}

#[test]
fn a_local_service_has_the_same_settings_and_limits() {
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let server = service_fn(move |_: http::Request<Vec<u8>>| {
        counted.set(counted.get() + 1);
        ready(Ok::<_, BoxError>(status(503)))
    });
    let budget = RetryBudget::builder().capacity(1).initial(1).per_success(0);
    let budget = budget.build().unwrap();
    let layer = layer().budget(budget.clone());
    let layer = layer.copy_value(|body: &Vec<u8>| Some(body.clone()));
    let request = http::Request::put("http://api.example/a").body(vec![1]);
    let answer = in_a_local_set(layer.layer(server).oneshot(request.unwrap())).unwrap();
    assert_eq!(calls.get(), 2);
    assert_eq!(report(&answer).stop, StopReason::BudgetExhausted);
    assert_eq!(budget.available(Duration::ZERO), 0);
}

#[test]
fn a_local_service_keeps_the_type_of_its_responses() {
    let calls = Rc::new(Cell::new(0));
    let layer = layer().keep_response_type().unchanged_errors();
    let service = layer.layer(server(&calls));
    let kept: Result<Response, Refused> = in_a_local_set(service.oneshot(put()));
    assert_eq!(kept.unwrap_err().to_string(), "no door");
    assert_eq!(calls.get(), 2);
}

/// A body that can be made of any other.
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// Compiles where the future may move between threads.
fn may_be_spawned<F: Future + Send + 'static>(_: F) {}

#[test]
fn the_futures_of_all_other_stacks_move_between_threads() {
    let answers = || service_fn(|_: Request| ready(Ok::<Response, Infallible>(status(200))));
    may_be_spawned(layer().layer(answers()).oneshot(put()));
    may_be_spawned(layer().unchanged_errors().layer(answers()).oneshot(put()));
    let copied = layer().copy_body(|body: &String| Some(body.clone()));
    may_be_spawned(copied.layer(answers()).oneshot(put()));
    let kept = layer().keep_response_type();
    may_be_spawned(kept.layer(answers()).oneshot(put()));
    may_be_spawned(layer().resume_downloads().layer(answers()).oneshot(put()));
    let any = service_fn(|_: http::Request<AnyBody>| ready(Ok::<_, Infallible>(status(200))));
    let recorded = layer().record_body(|body: ReplayBody<AnyBody>| body.boxed_unsync());
    let request = http::Request::new(AnyBody::default());
    may_be_spawned(recorded.layer(any).oneshot(request));
    let direct = layer().layer(reqwest::Client::new());
    let url: reqwest::Url = "http://api.example/".parse().unwrap();
    may_be_spawned(direct.oneshot(reqwest::Request::new(http::Method::GET, url.clone())));
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
    let retries = RetryMiddleware::new(policy().build().unwrap());
    let client = client.with(retries).with(Script::new()).build();
    may_be_spawned(client.get(url.clone()).send());
    may_be_spawned(client.get(url).send_resumed());
    let runner = Runner::on(ManualRuntime::new(), policy().build().unwrap());
    may_be_spawned(async move { runner.run_by_policy(|_| ready(Ok::<_, BoxError>(()))).await });
}
