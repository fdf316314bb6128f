//! The part of a response's body that an exchange needs.

use crate::client::responses::{Reading, Responses};
use crate::policy::{RetryPolicy, Verdict};
use crate::runtime::Sleep;
use http_retry_core::adapter::{BodyPart, Filled, Inspected};

/// The result of reading a part of a body.
pub(crate) enum PartRead {
    /// Its start; `true` if it is all of it.
    Start(Vec<u8>, bool),
    Probe(Option<Verdict>),
    Whole(Filled),
    /// `true` if the body has ended.
    Rest(bool),
}

/// Reads a part of a body within this time, and returns the response with its whole body.
pub(crate) async fn read<A: Responses<R>, R>(
    response: A::Kept,
    part: BodyPart,
    policy: RetryPolicy,
    time: Sleep,
) -> (A::Kept, PartRead) {
    match part {
        BodyPart::Start(most) => {
            let mut start = Vec::new();
            let mut inspect = |data: &[u8]| BodyPart::add_to_start(&mut start, most, data);
            let (response, end) = A::read(response, Reading::Probe(&mut inspect), time).await;
            let is_whole = matches!(end, Ok(Inspected::AtTheEnd));
            (response, PartRead::Start(start, is_whole))
        }
        BodyPart::Probe(mut probe) => {
            let mut inspect = |data: &[u8]| probe.push(data);
            let (response, end) = A::read(response, Reading::Probe(&mut inspect), time).await;
            let verdict = probe.verdict(end.unwrap_or(Inspected::AtAnError));
            (response, PartRead::Probe(verdict))
        }
        BodyPart::Whole(bytes) => {
            let (response, end) = A::read(response, Reading::Whole(&policy, bytes), time).await;
            (response, PartRead::Whole(end))
        }
        BodyPart::Rest(bytes) => {
            let (response, end) = A::read(response, Reading::Drain(bytes), time).await;
            let has_ended = matches!(end, Ok(Inspected::AtTheEnd));
            (response, PartRead::Rest(has_ended))
        }
    }
}
