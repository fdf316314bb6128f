//! A client that blocks, on the exchange that all adapters stand on: it decides, and the loop below does I/O.
//! Run it: `cargo run --all-features --example sync_client`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program has a clock, and prints"
)]

use http::request::Parts;
use http::{Request, Response};
use http_retry::policy::Moment;
use http_retry::{ErrorKind, Outcome, RetryPolicy, RetryReport, StopReason};
use http_retry_core::adapter::{
    Changes, End, Engine, ErrorFacts, Exchange, Found, Head, Kept, RedirectSigns, RequestSettings,
    Todo,
};
use http_retry_core::runtime::{Runtime, Sleep, epoch};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Arc::new(Engine::new(RetryPolicy::background(), Arc::new(Blocking)));
    let mut statuses = [503, 200].into_iter();
    // In its place stands the call of a client that blocks, with the attempt's limit as its timeout.
    let mut send = |_: &Parts, _limit: Option<Duration>| {
        let response = Response::builder().status(statuses.next().unwrap_or(200));
        response.body(()).map_err(io::Error::other)
    };
    let request = Request::get("http://api.example/orders").body(())?;
    let (response, report) = call(&engine, request, &mut send);
    println!("{}", response?.status());
    println!("{}", report.ok_or("a retry has a report")?);
    Ok(())
}

type Send<'a> = dyn FnMut(&Parts, Option<Duration>) -> io::Result<Response<()>> + 'a;

/// Sends a request until its exchange says that it is finished.
fn call(
    engine: &Arc<Engine>,
    request: Request<()>,
    send: &mut Send<'_>,
) -> (io::Result<Response<()>>, Option<RetryReport>) {
    let mut request = Replayable(request.into_parts().0);
    let settings = RequestSettings::from_extensions(Some(&request.0.extensions));
    let mut exchange = Exchange::new(Arc::clone(engine), settings, Some(&&request.0));
    let mut last = Err(io::ErrorKind::TimedOut.into());
    let mut todo = exchange.start(Some(&&request.0));
    loop {
        todo = match todo {
            Todo::Send => {
                let limit = exchange.attempt().limit;
                last = exchange.around(|| send(&request.0, limit));
                exchange.ended(&request, &end_of(&last))
            }
            // At the gate, for a fleet, or for the time of the retry.
            Todo::Wait | Todo::Ask => block_on(|cx| exchange.poll_wait(cx, true)),
            // These responses have no bodies: there is nothing to judge, and nothing to read before a retry.
            Todo::Read { .. } => {
                let head = last.as_ref().ok();
                let head = head.map(|response| (response.status(), response.headers()));
                exchange.read(&request, head, Found::Nothing)
            }
            Todo::Prepare => exchange.prepare(&mut request, false),
            Todo::Stay | Todo::Done => {
                let ending = exchange.finish();
                return (last, ending.and_then(|ending| ending.report));
            }
        };
    }
}

fn end_of(result: &io::Result<Response<()>>) -> End<'_> {
    match result {
        Ok(response) => End::Response {
            status: response.status(),
            headers: response.headers(),
            url: None,
            can_leave: false,
        },
        Err(error) => End::Error(ErrorFacts {
            outcome: Outcome::error(ErrorKind::Other),
            type_name: "io::Error",
            error: Some(error),
            redirects: RedirectSigns::default(),
        }),
    }
}

/// A request that can be sent again.
struct Replayable(Parts);

impl Kept for Replayable {
    fn head(&self) -> Option<impl Head> {
        Some(&self.0)
    }

    fn is_whole(&self, _: bool) -> bool {
        true
    }

    fn change(&mut self, changes: Changes<'_>) -> Result<(), StopReason> {
        // Headers that a rule sets; another host or another body is for clients that have them.
        self.0
            .headers
            .extend(changes.set.cloned().unwrap_or_default());
        Ok(())
    }
}

/// The system's clocks. A wait sleeps where it is polled.
struct Blocking;

impl Runtime for Blocking {
    fn now(&self) -> Duration {
        let now = Instant::now();
        now.saturating_duration_since(epoch(now))
    }

    fn moment(&self) -> Moment {
        let wall = UNIX_EPOCH.elapsed().unwrap_or_default();
        Moment::new(self.now())
            .with_wall(wall)
            .with_random(RandomState::new().hash_one(wall))
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(async move { thread::sleep(duration) })
    }
}

fn block_on(mut poll: impl FnMut(&mut Context<'_>) -> Poll<Todo>) -> Todo {
    loop {
        if let Poll::Ready(todo) = poll(&mut Context::from_waker(Waker::noop())) {
            return todo;
        }
    }
}
