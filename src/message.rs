//! What can be sent twice, and what can be read, let go and handed back whole.

mod answer;
mod replay_body;
mod retry_body;

pub use answer::Answer;
pub use replay_body::ReplayBody;
pub use retry_body::RetryBody;

use crate::policy::{ErrorKind, Outcome, Reach};
use http::{Extensions, HeaderMap, Method};
use std::borrow::Cow;

/// A body that can be copied for a later attempt, perhaps not every time.
///
/// Every `Clone` body has it; wrap any other in a [`ReplayBody`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent a second time",
    label = "this body is not `Clone`",
    note = "use a body that is `Clone` (`Bytes`, `String`, `Full<Bytes>`), or wrap it in \
            `http_retry::ReplayBody`, which is then part of the inner service's body type"
)]
pub trait Replay: Sized {
    /// A copy of the body as it was before anything of it was read; none if there cannot be one.
    fn replay(&self) -> Option<Self>;
}

impl<B: Clone> Replay for B {
    fn replay(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<B> Replay for ReplayBody<B> {
    fn replay(&self) -> Option<Self> {
        None
    }
}

/// A request that can be sent a second time.
///
/// `http::Request<B>` has it for every body that is [`Replay`], and `reqwest::Request` with the `reqwest` feature.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request that can be sent a second time",
    note = "the retry layer takes `http::Request<B>` where `B` is `Clone` or a `http_retry::ReplayBody`, and \
            `reqwest::Request` with the feature `reqwest`"
)]
pub trait Resend: Sized {
    /// Whether the client may follow redirects by itself, so that an error need not be about this request.
    const REDIRECTS_HIDDEN: bool = false;

    /// The request's method.
    fn method(&self) -> &Method;

    /// The request's headers.
    fn headers(&self) -> &HeaderMap;

    /// Host and port that the request goes to, without user info and without the scheme's own port.
    fn authority(&self) -> Option<Cow<'_, str>>;

    /// The whole URL, where the client's responses have theirs.
    fn url(&self) -> Option<&str> {
        None
    }

    /// The request's extensions, where they are public.
    fn extensions(&self) -> Option<&Extensions> {
        None
    }

    /// The request's extensions to write to, where they are public.
    fn extensions_mut(&mut self) -> Option<&mut Extensions> {
        None
    }

    /// The request, and a copy of it for a later attempt, if there can be one.
    fn resend(self) -> (Self, Option<Self>);
}

impl<B: Replay> Resend for http::Request<B> {
    fn method(&self) -> &Method {
        self.method()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        let named = self.uri().authority().map(http::uri::Authority::as_str);
        let host = || self.headers().get(http::header::HOST)?.to_str().ok();
        let authority = named.or_else(host)?;
        let public = authority
            .rsplit_once('@')
            .map_or(authority, |(_, public)| public);
        let default_port = match self.uri().scheme_str() {
            Some("http") => ":80",
            Some("https") => ":443",
            _ => "",
        };
        let short = public.strip_suffix(default_port).unwrap_or(public);
        Some(match short.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(short.to_ascii_lowercase()),
            false => Cow::Borrowed(short),
        })
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(self.extensions())
    }

    fn extensions_mut(&mut self) -> Option<&mut Extensions> {
        Some(self.extensions_mut())
    }

    fn resend(self) -> (Self, Option<Self>) {
        let Some(copy) = self.body().replay() else {
            return (self, None);
        };
        // By value, since http's parts can only be cloned whole and on their own.
        let (parts, body) = self.into_parts();
        let spare = Self::from_parts(parts.clone(), copy);
        (Self::from_parts(parts, body), Some(spare))
    }
}

#[cfg(feature = "reqwest")]
impl Resend for ::reqwest::Request {
    const REDIRECTS_HIDDEN: bool = true;

    fn method(&self) -> &Method {
        self.method()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        let host = self.url().host_str()?;
        Some(match self.url().port() {
            Some(port) => Cow::Owned(format!("{host}:{port}")),
            None => Cow::Borrowed(host),
        })
    }

    fn url(&self) -> Option<&str> {
        Some(self.url().as_str())
    }

    fn resend(self) -> (Self, Option<Self>) {
        let copy = self.try_clone();
        (self, copy)
    }
}

/// The outcome of a request that must be processed once, below which a client may have followed a redirect: an error
/// may be about a later request, and a response with another URL certainly is.
pub(crate) fn behind_redirects<'a, Q: Resend>(
    outcome: Outcome<'a>,
    request: Option<&Q>,
    final_url: Option<&str>,
) -> Outcome<'a> {
    if !outcome.reach().is_unprocessed() {
        return outcome;
    }
    let reach = match outcome.error_kind() {
        Some(ErrorKind::Other) => return outcome,
        Some(_) => Reach::Ambiguous,
        None if without_fragment(request.and_then(Q::url)) == without_fragment(final_url) => {
            return outcome;
        }
        None => Reach::Answered,
    };
    outcome.with(outcome.class(), reach)
}

fn without_fragment(url: Option<&str>) -> Option<&str> {
    url.map(|url| url.split_once('#').map_or(url, |(url, _)| url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(uri: &str, host: Option<&str>) -> Option<String> {
        let mut request = http::Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request = request.body(()).unwrap();
        request.authority().map(Cow::into_owned)
    }

    #[test]
    fn an_authority_is_public_and_in_lower_case() {
        assert_eq!(
            authority("http://me:secret@API.example:8080/a?b", None).as_deref(),
            Some("api.example:8080")
        );
        assert_eq!(
            authority("/a", Some("api.example")).as_deref(),
            Some("api.example")
        );
        assert_eq!(authority("/a", None), None);
        assert_eq!(
            authority("https://a.example:443/", None).as_deref(),
            Some("a.example")
        );
        assert_eq!(
            authority("http://a.example:443/", None).as_deref(),
            Some("a.example:443")
        );
    }

    #[test]
    fn a_copy_has_the_whole_head_and_the_body() {
        let mut request = http::Request::put("http://h/a")
            .header("x", "1")
            .body("b")
            .unwrap();
        request.extensions_mut().insert(7_u8);
        let (request, copy) = request.resend();
        let copy = copy.unwrap();
        assert_eq!(
            (copy.method(), copy.uri()),
            (request.method(), request.uri())
        );
        assert_eq!(
            (copy.headers(), copy.body()),
            (request.headers(), request.body())
        );
        assert_eq!(copy.extensions().get::<u8>(), Some(&7));
    }

    #[test]
    fn a_body_that_cannot_be_cloned_is_sent_once() {
        let request = http::Request::new(ReplayBody::new(std::io::empty()));
        assert!(request.resend().1.is_none());
    }
}
