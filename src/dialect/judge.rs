//! Which row of a dialect judges a response.

use super::{Dialect, NamedRow, Row};
use crate::error::ConfigError;
use crate::policy::rules::{OfSuccess, Seen};
use crate::policy::{
    Classify, ErrorBody, Outcome, Pointer, Reach, RequestLine, Verdict, is_standard_success,
};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};
use std::sync::Arc;

/// The most rows of a dialect's own, and the most places of a body that they look at.
const MAX_ROWS: usize = 64;
const MAX_POINTERS: usize = 16;
/// The most places of a body that all rows of joined dialects look at.
const MAX_JOINED_POINTERS: usize = 64;
/// The longest body of a success that is read, in bytes.
const MAX_SUCCESS_BYTES: u64 = 64 * 1024;

/// What the rows of a dialect say of a response.
enum Answer {
    /// The row at this place judges it.
    Row(usize, Verdict),
    /// That depends on the body, which has not been read.
    Unread,
}

impl Classify for Dialect {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self.verdict(outcome, true, 0)
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        self.is_unread(outcome, true)
    }

    fn judges_successes(&self) -> bool {
        self.all_rows().any(|row| row.of_successes)
    }

    fn pointers(&self, _: &Outcome<'_>) -> Vec<Pointer> {
        pointers(&self.rows)
    }

    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        let row = self.rows.get(usize::try_from(row).ok()?)?;
        Some(Arc::clone(&row.name))
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
        if let Some(error) = self.all_rows().find_map(|row| row.refused.clone()) {
            return Err(error);
        }
        let own = self.rows.get(..self.own).unwrap_or_default();
        let own_pointers = pointers(own).len();
        let wrong = |given: usize, allowed| Err(ConfigError::new("dialect", given, allowed));
        if own.len() > MAX_ROWS {
            return wrong(own.len(), "rows are too many: 64 at most");
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
    /// Returns the verdict on a response of which nothing more will be read; its rows are numbered from `first_row`.
    pub(super) fn verdict(
        &self,
        outcome: &Outcome<'_>,
        may_read_successes: bool,
        first_row: u32,
    ) -> Option<Verdict> {
        match self.ask(outcome, true, may_read_successes)? {
            Answer::Row(place, verdict) => {
                let number = first_row.saturating_add(u32::try_from(place).unwrap_or(u32::MAX));
                let is_rule = self.rows.get(place).is_some_and(|row| row.is_rule);
                Some(if is_rule {
                    verdict.by_rule(number)
                } else {
                    verdict.by_row(number)
                })
            }
            Answer::Unread => None,
        }
    }

    /// Returns `true` if the verdict depends on the body.
    pub(super) fn is_unread(&self, outcome: &Outcome<'_>, may_read_successes: bool) -> bool {
        let answer = self.ask(outcome, false, may_read_successes);
        matches!(answer, Some(Answer::Unread))
    }

    /// What the first of its rows says that holds; `is_final` means that nothing more will be read.
    fn ask(
        &self,
        outcome: &Outcome<'_>,
        is_final: bool,
        may_read_successes: bool,
    ) -> Option<Answer> {
        let headers = outcome.headers()?;
        let success = is_success(outcome);
        let may_read = !success || (may_read_successes && is_short_and_readable(headers));
        let is_final = is_final || !may_read;
        let body = outcome.body();
        let is_whole = || body.map_or(!is_final, ErrorBody::is_understood);
        let of_success = if success && may_read && is_whole() {
            OfSuccess::All
        } else {
            OfSuccess::Unknown
        };
        let seen = Seen {
            outcome,
            attempt: 0,
            method: outcome.request().map(RequestLine::method),
            idempotent: false,
            of_success,
            final_word: is_final,
            certain: false,
        };
        for (place, row) in self.all_rows().enumerate() {
            if success && !row.of_successes {
                continue;
            }
            let needs_body = || body.is_none() && !is_final && row.meaning.needs_the_body();
            match row.when.holds(&seen) {
                // A success that nobody can read to its end is one.
                None if success && of_success == OfSuccess::Unknown => {}
                Some(false) => {}
                Some(true) if !needs_body() => {
                    let mut verdict = row.meaning.of(outcome);
                    verdict.reach = self.reach(place, row, &seen);
                    return Some(Answer::Row(place, verdict));
                }
                Some(true) | None => return Some(Answer::Unread),
            }
        }
        None
    }

    /// Returns how far the request got by this row, which holds.
    ///
    /// A body that is not whole or can be read in two ways never makes an answer refused: it may hide that the request was
    /// processed. Then only the status can say so.
    fn reach(&self, place: usize, row: &Row, seen: &Seen<'_>) -> Reach {
        if !row.meaning.says_refused() {
            return Reach::Answered;
        }
        let certain = Seen {
            certain: true,
            ..*seen
        };
        // A row before it may hold by what is missing from the body.
        let success = is_success(seen.outcome);
        let has_body = seen.outcome.body().is_some();
        let rivals = self.all_rows().take(place).filter(|row| {
            has_body && !row.meaning.says_refused() && (row.of_successes || !success)
        });
        let is_certain = || {
            let mut rivals = rivals.map(|row| row.when.holds(&certain));
            row.when.holds(&certain) == Some(true) && rivals.all(|holds| holds == Some(false))
        };
        if seen.outcome.reach().is_unprocessed() || is_certain() {
            Reach::Refused
        } else {
            Reach::Answered
        }
    }
}

/// The places of a JSON body that rows look at, each once.
fn pointers(rows: &[NamedRow]) -> Vec<Pointer> {
    let rows = rows.iter().map(|named| &named.row);
    let mut all: Vec<Pointer> = rows.flat_map(Row::pointers).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// Returns `true` if a response is a success by its status.
fn is_success(outcome: &Outcome<'_>) -> bool {
    let status = outcome.status();
    status.is_some_and(|status| is_standard_success(status.as_u16()))
}

/// Returns `true` if a success can be read whole before the caller has it: JSON or XML whose length is short or not known.
/// A stream of events has no end.
fn is_short_and_readable(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = text(CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let readable = kind == "application/json"
        || (kind.starts_with("application/") && kind.ends_with("+json"))
        || kind.ends_with("/xml");
    let length = text(CONTENT_LENGTH).map(|length| length.trim().parse::<u64>());
    let short = length.is_none_or(|length| length.is_ok_and(|length| length <= MAX_SUCCESS_BYTES));
    readable && short
}
