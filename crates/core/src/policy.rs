//! The decisions: pure functions and values, with time and randomness as arguments.
//!
//! [`RetryPolicy`] holds the rules, [`RetrySession`] the state of one request. An adapter feeds a session with
//! [`Outcome`]s and [`Moment`]s and carries out its [`RetryPlan`]s; you can do the same for a client that no adapter
//! fits, with the [building blocks of adapters](crate::adapter).
//!
//! | question | answered by |
//! |---|---|
//! | how often, how long, how far apart | [`RetryPolicy`] and [`RetryPolicyBuilder`], [`Backoff`] |
//! | what a response or an error means | the first [`Classify`] with a verdict: your own, then a `Dialect`; else the header rules, else the standard tables ([`Class`], [`Reach`]) |
//! | what follows from it | [`rules`], else the class |
//! | what the server asks for | [`ServerHints`], read once per response |
//! | the most that it can cost | [`WorstCase`], [`RetryPolicy::explain`] |
//! | why there was no further attempt | [`StopReason`] |
//!
//! Nothing here reads a clock, sleeps, or draws a random number: time and randomness come in as a [`Moment`]. So the
//! same calls give the same decisions, and a test runs in microseconds:
//!
//! ```
//! use http::{HeaderMap, Method};
//! use http_retry::policy::Moment;
//! use http_retry::{ErrorKind, Outcome, RequestFacts, RetryPolicy, StopReason};
//! use std::time::Duration;
//!
//! let facts = RequestFacts::of(&Method::POST, &HeaderMap::new());
//! let session = RetryPolicy::background().session(facts, Duration::ZERO);
//! let after = |kind| {
//!     let plan = session.plan(&Outcome::error(kind), Moment::new(Duration::from_secs(1)));
//!     plan.map(drop)
//! };
//! assert_eq!(after(ErrorKind::Connect), Ok(())); // nothing was sent
//! assert_eq!(after(ErrorKind::Reset), Err(StopReason::NotIdempotent)); // it may have been processed
//! ```

// rustdoc shows the functions of a policy in the order of their modules.
mod presets;

pub(crate) mod builder;

mod explain;

pub(crate) mod backoff;
pub(crate) mod bodies;
pub(crate) mod classifier;
pub(crate) mod classify;
mod decimal;
pub(crate) mod decision;
pub(crate) mod ext;
pub(crate) mod framing;
mod hedge;
pub(crate) mod moment;
pub(crate) mod outcome;
mod reason;
pub(crate) mod request_facts;
mod request_override;
pub(crate) mod retry_policy;
pub mod rules;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod verdict;
mod worst_case;

pub use crate::error_body::{ErrorBody, Pointer};
pub(crate) use crate::server_hints::HeaderSet;
pub use crate::server_hints::{Quota, ServerHints, Unit};
pub(crate) use backoff::{Backoff, Jitter};
pub(crate) use bodies::{Rewrite, RewriteBody, StreamHolder};
pub(crate) use builder::RetryPolicyBuilder;
pub use classifier::Classify;
pub(crate) use classifier::ErrorJudge;
pub(crate) use classify::is_standard_success;
pub(crate) use classify::{Class, ErrorKind, Reach};
pub use decimal::Decimal;
pub(crate) use decision::StopReason;
pub use decision::{DelaySource, ResumeFailure, RetryPlan};
pub use hedge::{Hedge, HedgeAfter};
pub use moment::Moment;
#[doc(hidden)]
pub use moment::splitmix64;
pub(crate) use outcome::Outcome;
pub use reason::Reason;
pub(crate) use request_facts::{Attempt, RequestFacts, has_idempotency_key};
pub use request_override::RequestOverrides;
pub(crate) use retry_policy::{Methods, RetryPolicy};
pub use session::RetrySession;
pub(crate) use settings::RetryOverride;
use settings::Settings;
pub use verdict::{AWS_THROTTLES, IntoVerdict, Scope, Verdict};
pub use worst_case::WorstCase;

pub(crate) use decision::Cost;
pub(crate) use rules::Origin;
