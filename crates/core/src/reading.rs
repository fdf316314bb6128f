//! Building blocks for those that read what servers and clients say.
//!
//! - Classifiers and dialects read heads, bodies and streams: [`OutcomeExt`], [`RetryTime`], [`StreamHolder`] and
//!   [`BodyProbe`]; [`delay_in_prose`] and [`date_in_prose`] find a time in a text. A [`Rewrite`] changes the body of a
//!   request that was refused.
//! - Conditions join their parts: [`all_hold`], [`any_holds`], [`joined`].
//! - Adapters read the errors of clients: [`kind_of_tls_text`], [`is_refusal_by_proxy`], [`is_refusal_to_connect`].
//!
//! `http-retry-rules` and `http-retry-dialects` are built on this module.

pub use crate::policy::bodies::{
    BodyProbe, Rewrite, RewriteBody, Rewritten, StreamHolder, is_grpc, is_longer,
};
pub use crate::policy::classify::texts::{
    is_refusal_by_proxy, is_refusal_to_connect, kind_of_tls_text,
};
pub use crate::policy::outcome::ext::OutcomeExt;
pub use crate::policy::rules::predicate::{all_hold, any_holds, joined};
pub use crate::policy::verdict::bare_name;
pub use crate::server_hints::RetryTime;
pub use crate::server_hints::prose::{date_in_prose, delay_in_prose};
