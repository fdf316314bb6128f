//! Rules: actions on outcomes that meet a condition, set in code or in a document.
//!
//! A [`Rule`] has a condition and an [`Action`]. A policy tries its rules in order, and the first that holds
//! decides; if none does, the class of the outcome decides, or the action of [`RetryPolicyBuilder::otherwise`]. The
//! limits stay: the deadline, the budget, bodies that cannot be sent twice, and requests that do harm if processed
//! twice.
//!
//! ```
//! # #[cfg(not(all(feature = "rules", feature = "testing")))] fn main() {}
//! # #[cfg(all(feature = "rules", feature = "testing"))] #[tokio::main]
//! # async fn main() -> Result<(), tower::BoxError> {
//! use http::{Request, StatusCode};
//! use http_retry::rules::{Condition, Rule, Wait};
//! use http_retry::testing::{ManualRuntime, Script};
//! use http_retry::tower::RetryLayer;
//! use http_retry::{RetryPolicy, RetryReport};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! // A job that is not done yet responds with 202: ask every 5 s, for at most a minute.
//! let poll = Wait::new().delay(Duration::from_secs(5)).at_most(12);
//! let policy = RetryPolicy::builder()
//!     .rule(Rule::when(Condition::status([202])?).named("not yet").wait(poll))
//!     .build()?;
//!
//! let clock = ManualRuntime::new();
//! let server = Script::new().status(202).status(202).status(200);
//! let client = ServiceBuilder::new()
//!     .layer(RetryLayer::new(policy).runtime(clock.clone()))
//!     .service(server);
//! let response = client.oneshot(Request::get("http://jobs.example/7").body(String::new())?).await?;
//!
//! assert_eq!(response.status(), StatusCode::OK);
//! assert_eq!(clock.sleeps(), [Duration::from_secs(5), Duration::from_secs(5)]);
//! let report = response.extensions().get::<RetryReport>().ok_or("no report")?;
//! assert_eq!(report.attempts[0].rule.as_deref(), Some("not yet"));
//! # Ok(()) }
//! ```
//!
//! The names of other services, budgets and observers (for a failover, a rule's own budget, dead letters) are looked up
//! among the `Services` or in the document.
//!
//! [`RetryPolicyBuilder::otherwise`]: crate::RetryPolicyBuilder::otherwise

#[doc(inline)]
pub use http_retry_core::rules::*;
#[cfg(feature = "rules")]
#[doc(inline)]
pub use http_retry_rules::{Condition, ErrorGroup, ReadBody, Value};
