//! Requests of `http`, whose bodies say how they can be copied.

use super::{Replay, Resend, is_told_length, set};
use crate::policy::RewriteWith;
use crate::route::{Move, public_authority};
use http::{Extensions, HeaderMap, Method};
use std::borrow::Cow;

impl<B: Replay + Send> Resend for http::Request<B> {
    type Spare = Self;

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

    fn keep_spare(&mut self, _: usize) -> Option<Self> {
        B::replay_request(self)
    }

    fn again(spare: Self, last: bool) -> (Self, Option<Self>) {
        if last { (spare, None) } else { spare.spare(0) }
    }

    fn head(spare: &Self) -> &Self {
        spare
    }

    fn can_resend(spare: &Self, answered: bool) -> bool {
        let body = spare.body();
        body.can_replay(answered && !is_told_length(spare.headers(), body.bytes_read()))
    }

    fn next_in_turn(spare: &mut Self) {
        spare.body_mut().next_in_turn();
    }

    fn amend(spare: &mut Self, headers: Option<&HeaderMap>, way: Option<&Move>) {
        if let Some((way, uri)) = way.and_then(|way| Some((way, way.of(spare.uri())?))) {
            let before = std::mem::replace(spare.uri_mut(), uri);
            way.leave_behind(spare.headers_mut(), &before);
        }
        set(spare.headers_mut(), headers);
    }

    fn rewrite(spare: &mut Self, with: &mut RewriteWith<'_>) -> bool {
        let mut headers = spare.headers().clone();
        let changed = spare
            .body_mut()
            .rewrite(&mut |body| with(&mut headers, body));
        if changed {
            *spare.headers_mut() = headers;
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
        let (request, copy) = request.spare(0);
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
    fn the_last_copy_is_the_spare_itself() {
        let (_, spare) = http::Request::new("b").spare(0);
        let (_, spare) = <http::Request<&str>>::again(spare.unwrap(), false);
        let (request, spare) = <http::Request<&str>>::again(spare.unwrap(), true);
        assert_eq!(*request.body(), "b");
        assert!(spare.is_none());
    }
}
