//! The terms of a download, decided with its request and used at each break.

use http::{Extensions, HeaderMap, HeaderName, Method};
use http_retry_core::adapter::{Engine, Head, RequestSettings};
use http_retry_core::budget::PaidRetry;
use http_retry_core::downloads::{DownloadLimits, DownloadRecorder, RestOfDownload, SessionExt};
use http_retry_core::policy::RetrySession;
use http_retry_core::report::ReportSlot;
use http_retry_core::route::{RequestHead, Route};
use http_retry_core::settings::PolicyExt;
use http_retry_core::sharing::PaymentResult;
use http_retry_core::{Outcome, RequestFacts, RetryOverride, RetryPolicy, StopReason};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A request's own settings, for a download that may be resumed.
pub struct DownloadOptions(RequestSettings);

/// The terms by which a download is resumed: its engine, route and options.
pub struct DownloadTerms {
    pub(crate) engine: Arc<Engine>,
    pub(crate) recorder: DownloadRecorder,
    route: Arc<Route>,
    options: RequestSettings,
    /// `None` unless the policy asks for it.
    request: Option<Arc<RequestHead<'static>>>,
}

/// The payment of the request for the rest.
pub(crate) enum Payment {
    /// The budget has paid.
    Paid(PaidRetry),
    /// The fleet decides; the future returns `None` if it refuses.
    Pending(Pin<Box<dyn Future<Output = Option<PaidRetry>> + Send>>),
}

/// A resume that is not to be, and the place of the list or rule that it is due to.
pub(crate) struct Refused {
    pub(crate) why: StopReason,
    pub(crate) by: Option<Arc<str>>,
}

impl DownloadOptions {
    /// Returns `None` if the request's download must not be resumed. Call it while the request is being sent: only then
    /// can an attempt of an outer layer be detected.
    #[must_use]
    pub fn for_request(method: &Method, extensions: Option<&Extensions>) -> Option<Self> {
        let options = RequestSettings::from_extensions(extensions);
        let is_off = options.get().is_some_and(|own| !own.may_resume());
        let may_resume = method == Method::GET && !options.nested && !is_off;
        may_resume.then_some(Self(options))
    }

    /// Returns `None` if the policy sends the request only once.
    #[must_use]
    pub fn terms(self, engine: &Arc<Engine>, head: &impl Head) -> Option<DownloadTerms> {
        let Self(mut options) = self;
        let route = options.route(engine, Some(head));
        if !options.may_retry(&route) {
            return None;
        }
        let policy = route.policy();
        let request = policy
            .asks_for_the_request()
            .then(|| head.keyed_request(policy));
        Some(DownloadTerms {
            recorder: DownloadRecorder::new(engine, &options, &route, head),
            request: request.map(|request| Arc::new(request.into_owned())),
            engine: Arc::clone(engine),
            route,
            options,
        })
    }
}

impl DownloadTerms {
    pub(crate) fn policy(&self) -> &RetryPolicy {
        self.route.policy()
    }

    /// Returns the headers that the policy calls credentials.
    pub(crate) fn credentials(&self) -> Vec<HeaderName> {
        self.session(Duration::MAX).credentials().to_vec()
    }

    pub(crate) fn limits(&self) -> DownloadLimits {
        self.engine.downloads
    }

    /// Turns the extensions of the first request into those of a request for the rest. The idle timeout bounds its
    /// attempts if the policy does not, and it fills no report, since the caller's is that of the first request.
    pub(crate) fn apply_to(&self, extensions: &mut Extensions) {
        extensions.remove::<ReportSlot>();
        extensions.insert(RestOfDownload {
            head_within: self.limits().idle_timeout,
        });
    }

    /// Starts a session for breaks without a byte between them, with this much time left. The policy's own deadline
    /// bounds only heads.
    pub(crate) fn session(&self, left: Duration) -> RetrySession {
        // A GET is idempotent without any header, and no key is ever needed.
        let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
        let now = self.engine.runtime.now();
        let session = self.options.session(self.route.policy(), facts, now);
        let mut session = session.with_override(&RetryOverride::new().deadline(left));
        session.set_request(Some(Method::GET), self.request.clone());
        session
    }

    /// Pays for a retry after this outcome. Rules on other servers or headers do not apply: the rest of a download is
    /// at the server of its start.
    pub(crate) fn pay(
        &self,
        session: &RetrySession,
        outcome: Outcome<'static>,
    ) -> Result<Payment, Refused> {
        let moment = self.engine.runtime.moment();
        let outcome = match &self.request {
            Some(request) => outcome.of_request(request),
            None => outcome,
        };
        let outcome = self.policy().classify(outcome);
        let refused = |why| Refused {
            why,
            by: session.refused_by(&outcome, moment),
        };
        let plan = session.plan(&outcome, moment).map_err(refused)?;
        let service = || self.recorder.service();
        match self.engine.ask(&self.route, service, plan, moment.now) {
            PaymentResult::Paid(paid) => Ok(Payment::Paid(paid)),
            PaymentResult::Refused => Err(Refused {
                why: StopReason::BudgetExhausted,
                by: None,
            }),
            PaymentResult::Pending(pending) => {
                let engine = Arc::clone(&self.engine);
                // The download polls its deadline beside this future.
                let decision = async move { engine.answer(pending).await };
                Ok(Payment::Pending(Box::pin(decision)))
            }
        }
    }
}
