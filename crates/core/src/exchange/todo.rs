//! The values that pass between an exchange and its adapter.

#[cfg(doc)]
use super::Exchange;
use crate::nested::RedirectSigns;
use crate::policy::bodies::{BodyPart, RewriteWith};
use crate::policy::rules::CannedResponse;
use crate::policy::{Outcome, Verdict};
use crate::report::{ReportSlot, RetryReport};
use crate::route::Rebase;
use http::{HeaderMap, StatusCode};
use std::error::Error;
use std::time::Duration;

/// The next thing to do for a request.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum Todo {
    /// Send an attempt: [`Exchange::attempt`], then [`Exchange::ended`].
    Send,
    /// Poll [`Exchange::poll_wait`].
    Wait,
    /// The same; the attempt that was cut goes on if the answer is [`Stay`](Self::Stay).
    Ask,
    /// Let the attempt that was cut go on: nothing else can be returned.
    Stay,
    /// Read this part of the last response, then [`Exchange::read`]; after [`BodyPart::Rest`], [`Wait`](Self::Wait).
    Read {
        /// The part to read.
        part: BodyPart,
        /// The time by which the read is over, on the clock of the engine.
        until: Duration,
    },
    /// Change the request for its next attempt: [`Exchange::prepare`].
    Prepare,
    /// Return the last result, or its replacement: [`Exchange::finish`].
    Done,
}

/// The end of an attempt.
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum End<'a> {
    /// A response arrived.
    Response {
        /// Its status.
        status: StatusCode,
        /// Its headers.
        headers: &'a HeaderMap,
        /// The URL that it came from, if the client tells it.
        url: Option<&'a str>,
        /// `true` if a later attempt can go over another connection.
        can_leave: bool,
    },
    /// An operation succeeded.
    Value,
    /// There is no response.
    Error(ErrorFacts<'a>),
    /// It had no time left.
    Late {
        /// The text of the error.
        text: &'a str,
        /// `true` if the caller gets this error unless a retry follows. If not, the attempt goes on instead.
        can_report: bool,
    },
}

/// The facts of an error.
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct ErrorFacts<'a> {
    /// Its meaning.
    pub outcome: Outcome<'static>,
    /// The name of its type, as the client below makes it.
    pub type_name: &'static str,
    /// The error itself, for observers: none whose text has a URL.
    pub error: Option<&'a (dyn Error + 'static)>,
    /// The signs of other requests in its attempt.
    pub redirects: RedirectSigns<'a>,
}

/// The result of a read of a body.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum Found<'a> {
    /// Nothing that changes the verdict.
    Nothing,
    /// The start of a body; `true` if it is all of it.
    Start(&'a [u8], bool),
    /// The text of an error, and the error itself as [`ErrorFacts`] has it.
    Text(&'a str, Option<&'a (dyn Error + 'static)>),
    /// The verdict of a probe.
    Verdict(Option<Verdict>),
    /// The body broke with this error, whose text is for rules that look at it.
    Broken(&'a Outcome<'static>, &'a str),
    /// The body was not whole in time. The text is that of the error, which is returned if `true`.
    Late(&'a str, bool),
}

/// The changes that a retry makes to its request.
#[non_exhaustive]
pub struct Changes<'a> {
    /// Headers that replace those of the same name.
    pub set: Option<&'a HeaderMap>,
    /// The move to another service.
    pub rebase: Option<&'a Rebase>,
    /// The slot that receives the report, which an adapter need not save with a request's extensions.
    pub slot: Option<&'a ReportSlot>,
    /// A function of headers and body that returns another body.
    pub rewrite: Option<&'a mut RewriteWith<'a>>,
}

/// The end of a request.
#[non_exhaustive]
pub struct Ending {
    /// The report, unless the first attempt succeeded.
    pub report: Option<RetryReport>,
    /// A response for the caller in place of the last result, and the URL that it is as if from.
    pub response: Option<(CannedResponse, String)>,
    /// `true` if the caller gets an error with the report in place of the last result, unless that is an error itself.
    pub fails: bool,
}
