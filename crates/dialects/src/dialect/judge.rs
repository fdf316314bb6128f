//! Judging a response by the rows of a dialect.

use super::{Dialect, Row};
use http::HeaderName;
use http::header::CONTENT_LENGTH;
use http_retry_core::policy::{Classify, Pointer, Verdict};
use http_retry_core::rules::BodyView;
use http_retry_core::{ConfigError, Outcome, Reach};
use std::sync::Arc;

/// The largest number of a dialect's own rows, and of the JSON pointers in them.
const MAX_ROWS: usize = 64;
const MAX_POINTERS: usize = 16;
/// The largest number of JSON pointers in all rows of joined dialects.
const MAX_JOINED_POINTERS: usize = 64;
/// The longest body of a success that is read, in bytes.
const MAX_SUCCESS_BYTES: u64 = 64 * 1024;

impl Classify for Dialect {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self.verdict(outcome, true, 0)
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        self.is_unread(outcome, true)
    }

    fn judges_successes(&self) -> bool {
        self.rows.iter().any(|row| row.of_successes)
    }

    fn pointers(&self, _: &Outcome<'_>) -> Vec<Pointer> {
        pointers(&self.rows)
    }

    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        let row = self.rows.get(usize::try_from(row).ok()?)?;
        row.name.clone()
    }

    fn row_origin(&self, row: u32) -> Option<Arc<str>> {
        let row = self.rows.get(usize::try_from(row).ok()?)?;
        row.origin.clone()
    }

    fn key_header(&self) -> Option<HeaderName> {
        self.key_header.clone()
    }

    fn quotes_keys(&self) -> Option<bool> {
        self.quoted_keys
    }

    fn describe(&self) -> Vec<String> {
        let looks = match (self.reads_bodies(), self.reads_successes()) {
            (_, true) => "reads the bodies of failures and of some successes",
            (true, false) => "reads the bodies of failures",
            (false, false) => "reads no body",
        };
        vec![format!(
            "dialect {}: {} rows, {looks}",
            self.name,
            self.len()
        )]
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.rows.iter().try_for_each(Row::check)?;
        let own = self.rows.get(..self.own).unwrap_or_default();
        let own_pointers = pointers(own).len();
        let wrong = |given: usize, allowed| Err(ConfigError::new("dialect", given, allowed));
        if own.len() > MAX_ROWS {
            return wrong(own.len(), "too many rows: at most 64");
        }
        if own_pointers > MAX_POINTERS || pointers(&self.rows).len() > MAX_JOINED_POINTERS {
            return wrong(
                own_pointers,
                "places of a JSON body are too many: 16 at most, 64 of all that are joined",
            );
        }
        Ok(())
    }
}

impl Dialect {
    /// Returns the verdict on a response whose body will not be read any further; its rows are numbered from
    /// `first_row`.
    pub(super) fn verdict(
        &self,
        outcome: &Outcome<'_>,
        may_read_successes: bool,
        first_row: u32,
    ) -> Option<Verdict> {
        outcome.headers()?;
        let success = is_success(outcome);
        let view = if success && !(may_read_successes && is_short_and_readable(outcome)) {
            BodyView::Head
        } else {
            BodyView::Body
        };
        for (place, row) in self.rows.iter().enumerate() {
            if success && !row.of_successes {
                continue;
            }
            match row.when.matches(outcome, view) {
                Some(true) => {
                    let mut verdict = row.meaning.verdict(outcome);
                    verdict.reach = self.reach(place, row, outcome);
                    let number = first_row.saturating_add(u32::try_from(place).unwrap_or(u32::MAX));
                    return Some(if row.is_rule {
                        verdict.by_rule(number)
                    } else {
                        verdict.by_row(number)
                    });
                }
                Some(false) => {}
                // A success whose body cannot be read to the end stays a success.
                None if success => {}
                None => return None,
            }
        }
        None
    }

    /// Returns `true` if the verdict depends on a body that has not been read.
    pub(super) fn is_unread(&self, outcome: &Outcome<'_>, may_read_successes: bool) -> bool {
        if outcome.headers().is_none() {
            return false;
        }
        let success = is_success(outcome);
        if success && !(may_read_successes && is_short_and_readable(outcome)) {
            return false;
        }
        let mut rows = self.rows.iter().filter(|row| !success || row.of_successes);
        // Only the first row that matches, or that may match once the body is read, decides whether to read it.
        let first = rows.find_map(|row| match row.when.matches(outcome, BodyView::Head) {
            Some(true) => Some(row.meaning.needs_the_body()),
            Some(false) => None,
            None => Some(true),
        });
        first.unwrap_or_default()
    }

    /// Returns how far the request got according to this row, which matches.
    ///
    /// A body that is incomplete or ambiguous never makes a response refused, since it may hide that the request was
    /// processed. Then only the status can make it so.
    fn reach(&self, place: usize, row: &Row, outcome: &Outcome<'_>) -> Reach {
        if !row.meaning.is_refused() {
            return Reach::Answered;
        }
        // A row before it may match by what is missing from the body.
        let success = is_success(outcome);
        let has_body = outcome.body().is_some();
        let rivals =
            self.rows.iter().take(place).filter(|row| {
                has_body && !row.meaning.is_refused() && (row.of_successes || !success)
            });
        let is_certain = || {
            let certain = |row: &Row| row.when.matches(outcome, BodyView::Certain);
            let mut rivals = rivals.map(certain);
            certain(row) == Some(true) && rivals.all(|holds| holds == Some(false))
        };
        if outcome.reach().is_unprocessed() || is_certain() {
            Reach::Refused
        } else {
            Reach::Answered
        }
    }
}

/// Returns the JSON pointers of these rows, each once.
fn pointers(rows: &[Row]) -> Vec<Pointer> {
    let mut all: Vec<Pointer> = rows.iter().flat_map(Row::pointers).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns `true` if a response is a success by its status.
fn is_success(outcome: &Outcome<'_>) -> bool {
    let status = outcome.status();
    status.is_some_and(|status| status.as_u16() < 400)
}

/// Returns `true` if a success can be read whole before the caller gets it: JSON or XML whose length is short or
/// unknown. An event stream may never end.
fn is_short_and_readable(outcome: &Outcome<'_>) -> bool {
    let kind = outcome.media_type().unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    let readable = kind == "application/json"
        || (kind.starts_with("application/") && kind.ends_with("+json"))
        || kind.ends_with("/xml");
    let length = outcome
        .headers()
        .and_then(|headers| headers.get(CONTENT_LENGTH));
    let length = length.and_then(|length| length.to_str().ok());
    let short = length.is_none_or(|length| {
        let length = length.trim().parse::<u64>();
        length.is_ok_and(|length| length <= MAX_SUCCESS_BYTES)
    });
    readable && short
}
