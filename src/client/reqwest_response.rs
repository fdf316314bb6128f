//! Takes a response of reqwest apart, and puts it together again with another body.

use ::reqwest::{Body, Response, ResponseBuilderExt, Url};
use http::response::Parts;

pub(crate) fn apart(response: Response) -> (Url, Parts, Body) {
    let url = response.url().clone();
    let (parts, body) = http::Response::<Body>::from(response).into_parts();
    (url, parts, body)
}

pub(crate) fn whole(url: Url, parts: Parts, body: Body) -> Response {
    // A builder that was given nothing but a URL does not fail.
    let with_url = http::Response::builder().url(url).body(());
    let mut whole = with_url.unwrap_or_default().map(|()| body);
    *whole.status_mut() = parts.status;
    *whole.version_mut() = parts.version;
    *whole.headers_mut() = parts.headers;
    // Beside them, not in their place: the URL lives there as well.
    whole.extensions_mut().extend(parts.extensions);
    whole.into()
}
