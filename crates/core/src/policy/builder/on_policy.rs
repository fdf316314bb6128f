//! Setters called on a policy instead of its builder: a compile error that names the builder.
//!
//! Without these, rustc only says that there is no such method. They cannot be called, since nothing implements
//! [`SetOnBuilder`].
//!
//! ```compile_fail,E0277
//! let policy = http_retry::RetryPolicy::background().max_retries(2);
//! ```
//!
//! ```
//! let policy = http_retry::RetryPolicy::background().to_builder().max_retries(2).build()?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```

use crate::policy::RetryPolicy;

/// The bound that no argument meets.
#[diagnostic::on_unimplemented(
    message = "a `RetryPolicy` does not change: set this on its builder",
    label = "write `policy.to_builder()`, then the setters, then `.build()?`"
)]
pub trait SetOnBuilder {}

macro_rules! setters {
    ($($name:ident)+) => {
        impl RetryPolicy {
            $(
                #[doc(hidden)]
                pub fn $name<T: SetOnBuilder>(&self, _: T) {}
            )+
        }
    };
}

setters! {
    attempt_timeout backoff classify_error classifier credentials deadline dialect dialects header_rules hold_streams
    max_attempts max_gate_wait max_refused max_retries max_server_delay methods on_exhausted otherwise quotas_at_once
    retry_on rewrite rule server_delays stop_on whole_answers
}
