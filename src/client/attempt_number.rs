//! Which attempt this is, as the server is told.

use super::{HasHead, Resend};
use crate::policy::{Attempt, is_grpc};
use http::{HeaderName, HeaderValue};

/// Writes which attempt this is, where the server is to know; a request with too many headers goes without. A repeated
/// request of gRPC says how many were sent before it (gRFC A6, "Exposed retry metadata").
pub(crate) fn number<Q: Resend>(header: Option<&HeaderName>, request: &mut Q, attempt: Attempt) {
    if let Some(header) = header {
        write(request, header, attempt.number());
    }
    if attempt.number() > 1 && speaks_grpc(request) {
        static BEFORE: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");
        write(request, &BEFORE, attempt.number().saturating_sub(1));
    }
}

fn write<Q: Resend>(request: &mut Q, header: &HeaderName, number: u32) {
    let headers = request.headers_mut();
    headers.remove(header);
    let _ = headers.try_insert(header, HeaderValue::from(number));
}

fn speaks_grpc(request: &impl HasHead) -> bool {
    request.value("content-type").is_some_and(is_grpc)
}
