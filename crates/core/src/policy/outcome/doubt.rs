//! Whether a server may have processed the request already.

use super::{Outcome, Redirected, What};
use crate::policy::classify::Reach;
use crate::policy::stop_reason::StopReason;

impl<'a> Outcome<'a> {
    /// The same outcome after redirects, if there were any; who judges it later does not take that back.
    #[must_use]
    pub fn redirected(self, redirected: Redirected) -> Self {
        Self { redirected, ..self }
    }

    /// Whether the server may have processed the request, in the view of a server that has not.
    pub(in crate::policy) fn is_in_doubt(&self) -> bool {
        self.answered || self.redirected != Redirected::No || !self.verdict.reach.is_unprocessed()
    }

    /// Why a request is not sent again that may have been processed.
    pub(in crate::policy) fn why_in_doubt(&self) -> StopReason {
        match self.redirected {
            Redirected::Unknown { .. } if self.verdict.reach.is_unprocessed() => {
                StopReason::RedirectsUnknown
            }
            _ => StopReason::NotIdempotent,
        }
    }

    /// The same outcome of an attempt that was answered before it failed; who judges it later does not take that back.
    #[must_use]
    pub fn after_an_answer(self) -> Self {
        let answered = self.with(self.verdict.class, Reach::Answered);
        Self {
            answered: true,
            ..answered
        }
    }

    /// How far the attempt got. The outcome of a later request, after a redirect, only shows that the first one was
    /// answered, so [`Reach::Unsent`] and [`Reach::Refused`] count as [`Reach::Answered`] then, or as
    /// [`Reach::Ambiguous`] for an error.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let known = [Redirected::No, Redirected::Unknown { harmless: true }];
        let reach = self.verdict.reach;
        match self.what {
            _ if !reach.is_unprocessed() => reach,
            _ if self.answered => Reach::Answered,
            _ if known.contains(&self.redirected) => reach,
            What::Error(_) => Reach::Ambiguous,
            What::Done | What::Response(..) | What::Status(_) => Reach::Answered,
        }
    }
}
