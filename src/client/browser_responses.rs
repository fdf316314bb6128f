//! Responses of reqwest in the browser, which cannot be taken apart: the layer sees their head, and drops them or hands
//! them over.

use super::responses::{ErrorForm, Responses};
use ::reqwest::Response;
use http::{Extensions, HeaderMap, StatusCode};
use http_retry_core::adapter::{BodyPart, Inspected, warn_of_setting};
use std::sync::Once;
use std::task::{Context, Poll};

#[diagnostic::do_not_recommend]
impl<A: ErrorForm> Responses<Response> for A {
    const GIVES_BACK: bool = false;

    type Returned = Response;
    type Open = Response;

    #[inline]
    fn returned(response: Response) -> Response {
        response
    }

    fn head(response: &Response) -> Option<(StatusCode, &HeaderMap)> {
        Some((response.status(), response.headers()))
    }

    fn url(response: &Response) -> Option<&str> {
        Some(response.url().as_str())
    }

    fn extensions_mut(_: &mut Response) -> Option<&mut Extensions> {
        None
    }

    fn poll_read(
        _: &mut Response,
        part: &mut BodyPart,
        _: &mut usize,
        _: &mut Context<'_>,
    ) -> Poll<Inspected> {
        static READ: Once = Once::new();
        if !matches!(part, BodyPart::Rest(_)) {
            READ.call_once(|| warn_of_setting("reqwest in the browser", "bodies are not read"));
        }
        // Never `AtTheEnd`: an unread body must not be taken for an empty one.
        Poll::Ready(Inspected::Enough)
    }
}
