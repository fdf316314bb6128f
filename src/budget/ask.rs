//! What a budget says to a planned retry.

#[cfg(feature = "redis")]
pub(crate) use super::fleet::Asking;
#[cfg(not(feature = "redis"))]
pub(crate) use super::local::Asking;

use super::PaidRetry;

/// A budget's word on a planned retry.
#[derive(Debug)]
pub(crate) enum Ask {
    Paid(PaidRetry),
    Refused,
    /// The fleet decides.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "there are no fleets")
    )]
    Asking(Asking),
}
