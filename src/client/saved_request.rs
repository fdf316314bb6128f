//! What later attempts are made of, of requests of `http`, whose bodies say how they can be copied.

#[cfg(feature = "reqwest")]
mod of_reqwest;

use super::measure::Measure;
use super::resend::{Replay, Resend, is_told_length, set};
use crate::policy::RewriteWith;
use crate::route::{Rebase, public_authority};
use http::{Extensions, HeaderMap, Method};
use std::borrow::Cow;

/// What later attempts of an `http::Request` are made of.
pub struct SavedRequest<B> {
    request: http::Request<B>,
    /// What the body measured before the first attempt.
    first: Measure,
}

#[diagnostic::do_not_recommend]
impl<B: Replay + Send> Resend for http::Request<B> {
    type Saved = SavedRequest<B>;

    fn method(&self) -> &Method {
        self.method()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        let host = || self.headers().get(http::header::HOST)?.to_str().ok();
        public_authority(self.uri(), host)
    }

    fn scheme(&self) -> Option<&str> {
        self.uri().scheme_str()
    }

    fn path(&self) -> &str {
        self.uri().path()
    }

    fn uri(&self) -> Cow<'_, str> {
        Cow::Owned(self.uri().to_string())
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(self.extensions())
    }

    fn extensions_mut(&mut self) -> Option<&mut Extensions> {
        Some(self.extensions_mut())
    }

    #[inline]
    fn save_in_place(&mut self, _: usize) -> Option<SavedRequest<B>> {
        let first = self.body().measure();
        let request = B::replay_request(self)?;
        Some(SavedRequest { request, first })
    }

    fn again(saved: SavedRequest<B>, last: bool) -> (Self, Option<SavedRequest<B>>) {
        let SavedRequest { request, first } = saved;
        let later = match last {
            true => None,
            false => B::replay_request(&request),
        };
        let later = later.map(|request| SavedRequest { request, first });
        (request, later)
    }

    fn head(saved: &SavedRequest<B>) -> &Self {
        &saved.request
    }

    fn can_resend(saved: &SavedRequest<B>, answered: bool) -> bool {
        let SavedRequest { request, first } = saved;
        let body = request.body();
        first.is_still(body.measure())
            && body.can_replay(answered && !is_told_length(request.headers(), body.bytes_read()))
    }

    fn next_in_turn(saved: &mut SavedRequest<B>) {
        saved.request.body_mut().next_in_turn();
    }

    fn amend(saved: &mut SavedRequest<B>, headers: Option<&HeaderMap>, way: Option<&Rebase>) {
        let request = &mut saved.request;
        if let Some((way, uri)) = way.and_then(|way| Some((way, way.of(request.uri())?))) {
            let before = std::mem::replace(request.uri_mut(), uri);
            way.leave_behind(request.headers_mut(), &before);
        }
        set(request.headers_mut(), headers);
    }

    fn rewrite(saved: &mut SavedRequest<B>, with: &mut RewriteWith<'_>) -> bool {
        let SavedRequest { request, first } = saved;
        let mut headers = request.headers().clone();
        let body = request.body_mut();
        let changed = body.rewrite(&mut |body| with(&mut headers, body));
        if changed {
            *first = body.measure();
            *request.headers_mut() = headers;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(uri: &str, host: Option<&str>) -> Option<String> {
        let mut request = http::Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request = request.body(String::new()).unwrap();
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
            .body("b".to_owned())
            .unwrap();
        request.extensions_mut().insert(7_u8);
        let (request, copy) = request.save(0);
        let copy = copy.unwrap().request;
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
    fn the_last_copy_is_the_spare_itself() {
        let (_, saved) = http::Request::new("b".to_owned()).save(0);
        let (_, saved) = <http::Request<String>>::again(saved.unwrap(), false);
        let (request, saved) = <http::Request<String>>::again(saved.unwrap(), true);
        assert_eq!(request.body(), "b");
        assert!(saved.is_none());
    }
}
