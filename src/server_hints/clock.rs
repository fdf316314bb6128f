//! What a point in time of a head is measured against.

use super::date::http_date;
use super::line::text;
use http::HeaderMap;
use std::time::Duration;

/// What a point in time is measured against.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    headers: &'a HeaderMap,
    wall: Duration,
}

impl<'a> Clock<'a> {
    pub(super) fn new(headers: &'a HeaderMap, wall: Duration) -> Self {
        Self { headers, wall }
    }

    /// The response's own `date` where that is valid, else the wall clock.
    pub(super) fn now(&self) -> Duration {
        let own = self.headers.get(http::header::DATE).and_then(text);
        own.and_then(http_date).unwrap_or(self.wall)
    }
}
