//! Building blocks for adapters, which connect this crate to an HTTP client, for stores that processes share, and for
//! crates of dialects. Users of an adapter do not need them.
//!
//! An adapter makes an [`Engine`] for its settings and an [`Exchange`] for each request, and does what its [`Todo`]
//! says. A program that only retries by hand needs a [`RetryPolicy`](crate::policy::RetryPolicy) and a
//! [`RetryBudget`](crate::budget::RetryBudget), and nothing from here.

pub use crate::attempt::asked::{AskedAttempt, AttemptTerms, ask_attempt};
pub use crate::attempt::copies::{CopyEnd, CopyJudge, CopyRefusal, PaidCopy};
pub use crate::attempt::mark::follows_no_redirects;
pub use crate::budget::bucket::BudgetTerms;
pub use crate::budget::ext::BudgetExt;
pub use crate::budget::payment::PaymentResult;
pub use crate::budget::services::Budgets;
pub use crate::exchange::Exchange;
pub use crate::exchange::engine::{DownloadLimits, DrainLimit, Engine, Routes, SaveOptions};
pub use crate::exchange::head::{Head, Kept};
pub use crate::exchange::settings::{Operation, RequestSettings, RestOfDownload};
pub use crate::exchange::todo::{
    BodyNeed, Changes, End, Ending, EndsWith, ErrorFacts, Found, Todo,
};
pub use crate::gate::controller::quota::GateQuota;
pub use crate::gate::ext::GateExt;
pub use crate::gate::key::KeyGate;
pub use crate::gate::map::Permit;
pub use crate::gate::state::{CallEnd, CallKind, GateRequest, Passed};
pub use crate::nested::{RedirectMode, RedirectSigns, Redirects, follows_redirect};
pub use crate::normal_form::{
    authority_of_url, base_url, host_pattern, path_pattern, public_authority, scheme_pattern,
};
pub use crate::policy::bodies::{
    BodyPart, BodyProbe, BrokenResponse, Inspected, Rewrite, RewriteBody, RewriteWith, Rewritten,
    StreamHolder, is_grpc, is_longer,
};
pub use crate::policy::classify::texts::{
    is_refusal_by_proxy, is_refusal_to_connect, kind_of_tls_text,
};
pub use crate::policy::ext::PolicyExt;
pub use crate::policy::framing::{CLIENT_HEADER, client_header, is_client_header};
pub use crate::policy::outcome::ext::OutcomeExt;
pub use crate::policy::rules::predicate::{all_hold, any_holds, joined};
pub use crate::policy::rules::rule::check_name;
pub use crate::policy::session::ext::SessionExt;
pub use crate::policy::verdict::bare_name;
pub use crate::report::recorder::DownloadRecorder;
pub use crate::report::span::warn_of_setting;
pub use crate::route::failover::Rebase;
pub use crate::route::host_map::HostMap;
pub use crate::route::shared_map::SharedMap;
pub use crate::server_hints::RetryTime;
pub use crate::server_hints::prose::{date_in_prose, delay_in_prose};
pub use crate::sharing::{AccountReply, Payment, Peer, SharedAccount, SharedServices};

/// The rules by which refusals close a gate, for a store that counts them across processes.
pub mod vote {
    pub use crate::gate::vote::*;
}
