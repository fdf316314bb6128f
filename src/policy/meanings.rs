//! What services mean by their answers, as far as a policy asks.

use super::outcome::Outcome;
use super::verdict::{RowId, Verdict};
use crate::error_body::Pointer;
use http::HeaderName;
use std::sync::Arc;

/// What services mean by their answers: tables of rows.
pub(crate) trait Meanings: Send + Sync {
    /// What the first row says that holds for an answer; nothing more of it will be read where `final_word` says so.
    fn say(&self, outcome: &Outcome<'_>, final_word: bool) -> Said;

    /// Whether some row speaks of answers that are successes by their status.
    fn judge_successes(&self) -> bool;

    /// The places of a JSON body that rows look at.
    fn pointers(&self, outcome: &Outcome<'_>) -> &[Pointer];

    /// The name of a row: its table and its place there.
    fn name_of(&self, row: RowId) -> Option<Arc<str>>;

    /// The header in which the service takes a key of idempotency, besides the usual ones.
    fn key_header(&self) -> Option<&HeaderName>;

    /// Whether keys that a layer makes go out in quotes.
    fn quotes_keys(&self) -> bool;

    /// The tables in words, one line each.
    fn lines(&self) -> Vec<String>;
}

/// What a table says of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    /// That depends on the body, which has not been read.
    Unread,
    This(Verdict),
}
