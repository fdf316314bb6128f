//! The middleware, and how the loop sends through the middleware after it.

use crate::client::error_chain::words;
use crate::client::options::{
    Admitted, RequestOptions, facts, give_key, http_outcome, http_trail, number,
};
use crate::client::{Answer, Resend};
use crate::engine::{Engine, http_engine_settings};
use crate::error::AttemptTimeout;
use crate::gate::{Admission, NotIdle};
use crate::nested::AttemptMark;
use crate::policy::{
    Attempt, CannedResponse, ErrorKind, Outcome, RequestFacts, RetryPolicy, RewriteWith, Verdict,
};
use crate::policy::{Inspect, Inspected};
use crate::redirects::Trail;
use crate::report::{RequestFailed, RetryReport};
use crate::retry_loop::{Call, FirstAttempt, Transport};
use crate::route::{Rebase, Route};
use crate::runtime::{Sleep, TokioRuntime};
use ::reqwest::{Request, Response};
use http::{Extensions, HeaderMap, HeaderName, StatusCode};
use reqwest_middleware::{Error, Middleware, Next, Result};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Adds retries to a `reqwest_middleware::ClientWithMiddleware`.
///
/// ```
/// use http_retry::reqwest::{RetryMiddleware, redirect_policy};
/// use http_retry::{RetryBudget, RetryPolicy};
/// use reqwest::redirect::Policy;
///
/// # fn main() -> reqwest::Result<()> {
/// let budget = RetryBudget::default();
/// let retries = RetryMiddleware::new(RetryPolicy::background()).budget(budget);
/// let client = reqwest::Client::builder().redirect(redirect_policy(Policy::default())).build()?;
/// let client = reqwest_middleware::ClientBuilder::new(client)
///     .with(retries.redirects_watched())
///     .build();
/// # Ok(()) }
/// ```
///
/// Without [`redirects_watched`](Self::redirects_watched) or [`redirects_off`](Self::redirects_off), it repeats only
/// idempotent requests.
///
/// A request's own settings ([`RetryOverride`](crate::RetryOverride)) and its report slot go into the extensions that
/// `RequestBuilder::with_extension` fills, or into those of `execute_with_extensions`. An attempt that is cut is an
/// [`AttemptTimeout`] in `Error::Middleware`; every other error is unchanged.
///
/// # Cancel safety
///
/// Dropping the call ends it: nothing more is sent, the tokens of an unsent retry go back to the budget, and no task or
/// timer is left.
#[derive(Debug, Clone)]
pub struct RetryMiddleware {
    engine: Arc<Engine>,
}

impl RetryMiddleware {
    /// A middleware with a policy and its own default budget, on tokio's clock.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            engine: Arc::new(Engine::new(policy, Arc::new(TokioRuntime))),
        }
    }

    /// A middleware that follows a document and its changes, on tokio's clock. The budgets are the document's;
    /// [`RetryMiddleware::budget`] does not change them.
    #[cfg(feature = "serde")]
    #[must_use]
    pub fn from_config(config: &crate::config::RetryConfig) -> Self {
        Self {
            engine: Arc::new(Engine::choosing(config.chooser(), Arc::new(TokioRuntime))),
        }
    }

    http_engine_settings!();
}

/// What the loop needs if the first attempt fails.
struct Rest {
    wishes: RequestOptions,
    route: Arc<Route>,
    mark: AttemptMark,
    saved: Option<<Request as Resend>::Saved>,
    /// The facts of a request that is not saved.
    unkept: Option<RequestFacts>,
    /// What the extensions held before the first attempt.
    before: Extensions,
    started: Duration,
}

/// A first attempt that was not a success.
struct Ended {
    result: Result<Response>,
    /// What the classifier has said of it.
    said: Option<Verdict>,
    /// What the loop tells the gate of it.
    admission: Option<Admission>,
}

type Boxed<'a> = Pin<Box<dyn Future<Output = Result<Response>> + Send + 'a>>;

impl Middleware for RetryMiddleware {
    // By hand: an async function keeps every argument twice in its future, which here is allocated for each request.
    fn handle<'me, 'extensions, 'next, 'all>(
        &'me self,
        mut request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Boxed<'all>
    where
        'me: 'all,
        'extensions: 'all,
        'next: 'all,
        Self: 'all,
    {
        Box::pin(async move {
            let engine = &*self.engine;
            let mut rest = Rest::of(engine, &mut request, extensions);
            let quiet = rest.wishes.is_plain() && engine.is_silent(&rest.route);
            let entered = match quiet {
                true => rest
                    .wishes
                    .enter(engine, &rest.route, &request, rest.started),
                false => Err((engine, NotIdle)),
            };
            let Ok(mut admitted) = entered else {
                let attempts = self.every_attempt(next, extensions, rest, request);
                return attempts.await;
            };
            if rest.mark.repeats() {
                rest.saved = request.save_in_place(engine.recorded);
            }
            if rest.saved.is_none() {
                rest.unkept = Some(facts(&request));
            }
            let result = {
                let (mark, layer) = (&rest.mark, engine.id());
                let mut attempt = mark.around(layer, || next.clone().run(request, extensions));
                poll_fn(|cx| mark.around(layer, || attempt.as_mut().poll(cx))).await
            };
            let Err(said) = rest.succeeds(engine, &mut admitted, &result) else {
                return result;
            };
            let ended = Ended {
                result,
                said,
                admission: admitted.into_admission(&rest.route),
            };
            self.later_attempts(next, extensions, rest, ended).await
        })
    }
}

impl Rest {
    fn of(engine: &Engine, request: &mut Request, extensions: &Extensions) -> Self {
        let mut wishes = RequestOptions::of(Some(extensions));
        let route = wishes.route(engine, request);
        let started = engine.runtime.now();
        give_key(engine, request);
        let mark = AttemptMark::new(wishes.may_retry(&route));
        let before = match mark.repeats() {
            true => extensions.clone(),
            false => Extensions::new(),
        };
        Self {
            wishes,
            route,
            mark,
            saved: None,
            unkept: None,
            before,
            started,
        }
    }

    /// Counts the result if it is a success that needs nothing more; else returns the verdict so far.
    fn succeeds(
        &self,
        engine: &Engine,
        admitted: &mut Admitted<&Engine>,
        result: &Result<Response>,
    ) -> std::result::Result<(), Option<Verdict>> {
        let response = result.as_ref().map_err(|_| None)?;
        self.route.succeeds(response.status(), response.headers())?;
        if self.mark.repeats() {
            self.route.deposit(self.started);
            let asked = self.saved.as_ref().map(Request::head);
            let urls = asked.and_then(Resend::url).zip(Answer::url(response));
            engine.redirects.check(&self.mark, urls);
        }
        admitted.succeeded(&self.route, response.headers());
        Ok(())
    }
}

impl RetryMiddleware {
    #[cold]
    fn every_attempt<'a>(
        &self,
        next: Next<'a>,
        extensions: &'a mut Extensions,
        rest: Rest,
        request: Request,
    ) -> Boxed<'a> {
        let engine = Arc::clone(&self.engine);
        let facts = facts(&request);
        let progress =
            rest.wishes
                .progress((engine, rest.route), Some(&request), facts, rest.started);
        let call = Call {
            transport: self.chain(next, extensions, rest.before),
            progress,
        };
        Box::pin(call.run(request))
    }

    #[cold]
    fn later_attempts<'a>(
        &self,
        next: Next<'a>,
        extensions: &'a mut Extensions,
        rest: Rest,
        ended: Ended,
    ) -> Boxed<'a> {
        let Rest {
            wishes,
            route,
            saved,
            unkept,
            before,
            mark,
            started,
        } = rest;
        let Ended {
            result,
            said,
            admission,
        } = ended;
        let engine = Arc::clone(&self.engine);
        let request = saved.as_ref().map(Request::head);
        let facts = request.map(facts).or(unkept);
        let facts = facts.unwrap_or_else(RequestFacts::operation);
        let mut progress = wishes.progress((engine, route), request, facts, started);
        progress.admission = admission;
        let call = Call {
            transport: self.chain(next, extensions, before),
            progress,
        };
        Box::pin(call.go_on(FirstAttempt {
            result,
            said,
            saved,
            mark,
            started,
        }))
    }

    fn chain<'a>(
        &self,
        next: Next<'a>,
        extensions: &'a mut Extensions,
        before: Extensions,
    ) -> Chain<'a> {
        Chain {
            next,
            extensions,
            before,
            across_tasks: self.engine.across_tasks,
            recorded: self.engine.recorded,
            attempt_header: self.engine.attempt_header.clone(),
        }
    }
}

/// Sends through the rest of a middleware chain.
struct Chain<'a> {
    next: Next<'a>,
    extensions: &'a mut Extensions,
    /// What the extensions held before the first attempt, and hold again before each.
    before: Extensions,
    across_tasks: bool,
    recorded: usize,
    attempt_header: Option<HeaderName>,
}

impl Transport for Chain<'_> {
    type Request = Request;
    type Saved = <Request as Resend>::Saved;
    type Response = Response;
    type Error = Error;

    fn release_readiness(&mut self) -> bool {
        false
    }

    async fn ready(&mut self) -> Result<()> {
        Ok(())
    }

    fn save(&self, request: Request) -> (Request, Option<Self::Saved>) {
        request.save(self.recorded)
    }

    fn again(saved: Self::Saved, last: bool) -> (Request, Option<Self::Saved>) {
        Resend::again(saved, last)
    }

    fn can_resend(saved: &Self::Saved, answered: bool) -> bool {
        <Request as Resend>::can_resend(saved, answered)
    }

    fn next_in_turn(saved: &mut Self::Saved) {
        <Request as Resend>::next_in_turn(saved);
    }

    fn show_head(saved: &Self::Saved, see: impl FnOnce(&HeaderMap, Option<&Extensions>)) {
        let head = <Request as Resend>::head(saved);
        see(head.headers(), None);
    }

    fn amend(saved: &mut Self::Saved, headers: Option<&HeaderMap>, way: Option<&Rebase>) {
        <Request as Resend>::amend(saved, headers, way);
    }

    fn rewrite(saved: &mut Self::Saved, with: &mut RewriteWith<'_>) -> bool {
        <Request as Resend>::rewrite(saved, with)
    }

    async fn send(&mut self, mut request: Request, attempt: Attempt) -> Result<Response> {
        number(self.attempt_header.as_ref(), &mut request, attempt);
        if attempt.number() > 1 {
            *self.extensions = self.before.clone();
        }
        if !self.across_tasks && attempt.number() == 1 {
            return self.next.clone().run(request, self.extensions).await;
        }
        // A word to those further in, which the caller's map does not keep.
        let marked = MarkedExtensions::new(self.extensions, attempt);
        self.next.clone().run(request, marked.extensions).await
    }

    fn outcome<'a>(&self, policy: &RetryPolicy, result: &'a Result<Response>) -> Outcome<'a> {
        http_outcome::<Response, _>(policy, result)
    }

    fn trail<'a>(
        policy: &RetryPolicy,
        saved: Option<&'a Self::Saved>,
        result: Option<&'a Result<Response>>,
    ) -> Trail<'a> {
        http_trail::<Response, _, _>(true, policy, saved.map(Request::head), result)
    }

    fn drain(response: Response, bytes: usize) -> impl Future<Output = Option<Response>> + Send {
        <Response as Answer>::drain(response, bytes)
    }

    fn look(
        response: Response,
        look: &mut dyn Inspect,
        time: Sleep,
    ) -> impl Future<Output = (Response, Inspected)> + Send {
        <Response as Answer>::look(response, look, time)
    }

    fn head(response: &Response) -> Option<(StatusCode, &HeaderMap)> {
        Some((response.status(), response.headers()))
    }

    fn words(policy: &RetryPolicy, error: &Error, kind: Option<ErrorKind>) -> String {
        words(policy, error, kind)
    }

    fn attach(response: &mut Response, report: RetryReport) {
        response.extensions_mut().insert(report);
    }

    fn canned(canned: &CannedResponse, url: &str) -> Option<Response> {
        <Response as Answer>::canned(canned, url)
    }

    fn cut(timeout: AttemptTimeout) -> Option<Error> {
        Some(Error::middleware(timeout))
    }

    fn failed(failed: RequestFailed) -> Option<Error> {
        Some(Error::middleware(failed))
    }
}

/// Extensions that name the attempt until this is dropped, also if the attempt is cut.
struct MarkedExtensions<'a> {
    extensions: &'a mut Extensions,
    outer: Option<Attempt>,
}

impl<'a> MarkedExtensions<'a> {
    fn new(extensions: &'a mut Extensions, attempt: Attempt) -> Self {
        let outer = extensions.insert(attempt);
        Self { extensions, outer }
    }
}

impl Drop for MarkedExtensions<'_> {
    fn drop(&mut self) {
        self.extensions.remove::<Attempt>();
        if let Some(outer) = self.outer {
            self.extensions.insert(outer);
        }
    }
}
