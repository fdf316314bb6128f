//! Building blocks for adapters, which connect this crate to an HTTP client. Users of an adapter do not need them.
//!
//! An adapter looks up a [`Route`](crate::route::Route), waits at the [`GateKey`] of each call, steps a
//! [`RetrySession`](crate::policy::RetrySession), and reports each step to a [`ReportRecorder`]. A program that only
//! retries by hand needs a [`RetryPolicy`](crate::policy::RetryPolicy) and a
//! [`RetryBudget`](crate::budget::RetryBudget), and nothing from here.

pub use crate::budget::NEVER_REFILLS;
pub use crate::budget::services::Budgets;
pub use crate::gate::controller::CallNumber;
pub use crate::gate::controller::quota::GateQuota;
pub use crate::gate::key::{GateKey, RouteOf};
pub use crate::gate::map::Permit;
pub use crate::gate::state::{CallEnd, CallKind, GateRequest, NotIdle, Passed};
pub use crate::policy::bodies::{BrokenAnswer, Filled, Inspect, RewriteWith, is_grpc, is_longer};
pub use crate::policy::classifier::OwnError;
pub use crate::policy::outcome::Redirected;
pub use crate::policy::rules::{CannedResponse, NamesUsed};
pub use crate::policy::session::Refusal;
pub use crate::policy::session::plan::Server;
pub use crate::report::recorder::{DownloadRecorder, ReportRecorder, Subject};
pub use crate::report::span::{AttemptSpan, is_logged, is_traced, warn_of_misuse, warn_of_setting};
pub use crate::route::failover::{Rebase, is_same_server};
pub use crate::route::public_authority;
pub use crate::server_hints::has_quota_header;
