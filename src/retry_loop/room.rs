//! Whether a request can take the headers that its retry is to have.

use super::planned::Planned;
use super::{Repeat, Saved, Transport};
use crate::policy::{Stop, StopReason};

/// With more headers than this a request is sent no second time with others. A header map panics at 24,576 names, and may
/// fail from 6,554 on where many of them have one hash; servers take about 100.
const MOST_HEADERS: usize = 4_096;

/// The plan, unless the request has no room for the headers that it sets: a retry without them is not the one that was
/// asked for.
///
/// # Errors
///
/// The end of the request in the place of such a retry.
pub(super) fn with_room<T: Transport>(
    planned: Planned,
    saved: Option<&Saved<T>>,
) -> Result<Planned, Stop> {
    let mut fits = true;
    if let (Some(set), Some(saved)) = (planned.paid.plan().set(), saved) {
        if let Some((headers, _)) = T::Request::head(saved) {
            fits = headers.len().saturating_add(set.len()) <= MOST_HEADERS;
        }
    }
    match fits {
        true => Ok(planned),
        false => Err(planned.stop(StopReason::NotRetryable)),
    }
}
