//! Building blocks for adapters, which connect this crate to an HTTP client. Users of an adapter do not need them.
//!
//! An adapter makes an [`Engine`] for its settings and an [`Exchange`] for each request, and does what its [`Todo`]
//! says. A program that only retries by hand needs a [`RetryPolicy`](crate::policy::RetryPolicy) and a
//! [`RetryBudget`](crate::budget::RetryBudget), and nothing from here.
//!
//! Others than adapters build on [`reading`](crate::reading), [`settings`](crate::settings),
//! [`sharing`](crate::sharing), [`hedging`](crate::hedging) and [`downloads`](crate::downloads).

pub use crate::attempt::mark::follows_no_redirects;
pub use crate::budget::services::Budgets;
pub use crate::exchange::Exchange;
pub use crate::exchange::engine::{Engine, Routes, SaveOptions};
pub use crate::exchange::head::{Head, Kept};
pub use crate::exchange::settings::RequestSettings;
pub use crate::exchange::todo::{Changes, End, Ending, ErrorFacts, Found, Todo};
pub use crate::nested::{RedirectMode, RedirectSigns, follows_redirect};
pub use crate::policy::bodies::{BodyPart, Inspected, RewriteWith};
pub use crate::report::span::warn_of_setting;
pub use crate::route::failover::Rebase;
