//! Requests that can be sent again: the saved part of a request, and the request that is made from it.

use super::replay::{Measure, Replay};
#[cfg(feature = "reqwest")]
use super::reqwest_requests::host_and_port;
use super::saved_headers::{SavedHeaders, add_header};
use crate::report::ReportSlot;
use crate::sealed::Sealed;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use http_retry_core::adapter::{self, Changes};
#[cfg(feature = "reqwest")]
use http_retry_core::settings::authority_of_url;
use http_retry_core::settings::public_authority;
use std::borrow::Cow;

/// A strategy for saving the parts that later attempts of a request are made from:
/// [`CloneBody`](crate::tower::marker::CloneBody), [`CopyBody`](crate::tower::marker::CopyBody) or
/// [`RecordBody`](crate::tower::marker::RecordBody). It cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "the retry layer does not know how to send `{Q}` a second time",
    label = "this request's body is not `Clone + http_body::Body`",
    note = "tell it how, on the layer: `.copy_body(Body::try_clone)` where the body can copy itself (kube), \
            `.record_body(Body::new)` where a body can be made of any other (tonic, jsonrpsee, axum, octocrab), \
            `.copy_value(|body: &Vec<u8>| Some(body.clone()))` for a type that is `Clone` and no `http_body::Body`"
)]
pub trait Requests<Q>: Sealed + Clone + Send + 'static {
    /// The saved part of a request, from which later attempts are made.
    #[doc(hidden)]
    type Saved: Send + 'static;

    /// Returns the request's head, or `None` for an operation that is not HTTP.
    #[doc(hidden)]
    fn head(request: &Q) -> Option<Head<'_>>;

    /// Returns the head of the saved request.
    #[doc(hidden)]
    fn saved_head(saved: &Self::Saved) -> Option<Head<'_>>;

    /// Returns the request's headers for writing, or `None` for an operation that is not HTTP.
    #[doc(hidden)]
    fn headers_mut(request: &mut Q) -> Option<&mut HeaderMap>;

    /// Returns the request's extensions for writing, if they are public.
    #[doc(hidden)]
    fn extensions_mut(request: &mut Q) -> Option<&mut Extensions>;

    /// Saves the parts that later attempts are made from, if there can be any.
    #[doc(hidden)]
    fn save(&self, request: Q, options: SaveOptions) -> (Q, Option<Self::Saved>);

    /// Returns the next attempt's request, and the parts for attempts after that, unless it is the last.
    #[doc(hidden)]
    fn restore(saved: Self::Saved, is_last: bool) -> (Q, Option<Self::Saved>);

    /// Returns `true` if the request can still be sent whole after an attempt. `answered` is `true` if that attempt got
    /// a response.
    #[doc(hidden)]
    fn is_whole(saved: &Self::Saved, answered: bool) -> bool;

    /// Returns `true` if the request may have no body, so that its head alone is the whole request.
    #[doc(hidden)]
    fn may_be_head_alone(saved: &Self::Saved) -> bool;

    /// Changes the request for the next attempt. Returns `false` if that cannot be done. Earlier attempts are over,
    /// whatever their client still does with them.
    #[doc(hidden)]
    fn change(saved: &mut Self::Saved, changes: Changes<'_>) -> bool;

    /// Sends the attempts to come to the URL that the start of a download came from, after redirects, without these
    /// headers if it is another server. Only clients that follow redirects report such a URL.
    #[doc(hidden)]
    fn pin(saved: &mut Self::Saved, url: &str, credentials: &[HeaderName]) {
        let _ = (saved, url, credentials);
    }
}

pub(crate) use http_retry_core::adapter::SaveOptions;

/// A strategy for keeping copies of bodies of one type.
#[doc(hidden)]
pub trait Bodies<B>: Sealed + Clone + Send + 'static {
    type Copy: Replay + Send + 'static;

    /// Returns the body to send first, a copy of it, and the measure that the body had before.
    fn copy(&self, body: B, recorded: usize) -> (B, Option<(Self::Copy, Measure)>);

    fn body(copy: Self::Copy) -> B;
}

/// A saved `http::Request`, for later attempts.
pub struct SavedRequest<K> {
    method: Method,
    uri: Uri,
    version: Version,
    headers: SavedHeaders,
    /// Empty if they are a report's slot alone, which the exchange has too: a copy of all of them costs more.
    extensions: Extensions,
    body: K,
    /// The measure of the body before the first attempt.
    first: Measure,
}

#[diagnostic::do_not_recommend]
impl<B: 'static, C: Bodies<B>> Requests<http::Request<B>> for C {
    /// Boxed, since every call in flight holds one.
    type Saved = Box<SavedRequest<C::Copy>>;

    #[inline]
    fn head(request: &http::Request<B>) -> Option<Head<'_>> {
        Some(Head {
            method: request.method(),
            target: Target::Uri(request.uri()),
            headers: Headers::Map(request.headers()),
            extensions: Some(request.extensions()),
        })
    }

    fn saved_head(saved: &Self::Saved) -> Option<Head<'_>> {
        Some(saved.head())
    }

    fn headers_mut(request: &mut http::Request<B>) -> Option<&mut HeaderMap> {
        Some(request.headers_mut())
    }

    fn extensions_mut(request: &mut http::Request<B>) -> Option<&mut Extensions> {
        Some(request.extensions_mut())
    }

    #[inline]
    fn save(
        &self,
        request: http::Request<B>,
        options: SaveOptions,
    ) -> (http::Request<B>, Option<Self::Saved>) {
        let (parts, body) = request.into_parts();
        let (body, copy) = self.copy(body, options.recorded);
        let saved = copy.map(|(copy, measure)| {
            let has_slot = parts.extensions.get::<ReportSlot>().is_some();
            let extensions = if has_slot && parts.extensions.len() == 1 {
                Extensions::new()
            } else {
                parts.extensions.clone()
            };
            Box::new(SavedRequest {
                method: parts.method.clone(),
                uri: parts.uri.clone(),
                version: parts.version,
                headers: SavedHeaders::new(&parts.headers),
                extensions,
                body: copy,
                first: measure,
            })
        });
        (http::Request::from_parts(parts, body), saved)
    }

    fn restore(saved: Self::Saved, is_last: bool) -> (http::Request<B>, Option<Self::Saved>) {
        // Copied before it is sent: a body that shares its content is still whole now.
        let later = if is_last { None } else { saved.copy() };
        (saved.into_request().map(C::body), later)
    }

    fn is_whole(saved: &Self::Saved, answered: bool) -> bool {
        saved.is_whole(answered)
    }

    fn may_be_head_alone(saved: &Self::Saved) -> bool {
        saved.body.measure() == Measure::AtItsEnd
    }

    fn change(saved: &mut Self::Saved, changes: Changes<'_>) -> bool {
        let is_changed = saved.change(changes);
        if is_changed {
            // A cut attempt that is still being sent cannot take bytes of a shared body from the next one.
            saved.body.next_in_turn();
        }
        is_changed
    }
}

impl<K: Replay> SavedRequest<K> {
    fn head(&self) -> Head<'_> {
        Head {
            method: &self.method,
            target: Target::Uri(&self.uri),
            headers: Headers::Packed(&self.headers),
            extensions: Some(&self.extensions),
        }
    }

    fn copy(&self) -> Option<Box<Self>> {
        Some(Box::new(Self {
            body: self.body.replay()?,
            method: self.method.clone(),
            uri: self.uri.clone(),
            version: self.version,
            headers: self.headers.clone(),
            extensions: self.extensions.clone(),
            first: self.first,
        }))
    }

    fn into_request(self) -> http::Request<K> {
        let mut request = http::Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.version_mut() = self.version;
        *request.headers_mut() = self.headers.into_map();
        *request.extensions_mut() = self.extensions;
        request
    }

    fn is_whole(&self, answered: bool) -> bool {
        let (copy, announced) = (self.body.measure(), self.head().announced_length());
        // A copy that is shorter than the announced `content-length` has lost a part, even if its own measure is
        // unchanged.
        let is_shorter = match copy {
            Measure::AtItsEnd => announced > Some(0),
            Measure::Exactly(bytes) => announced > Some(bytes),
            Measure::NotAsked | Measure::Unknown | Measure::AtLeast(_) => false,
        };
        self.first.is_complete_copy(copy)
            && !is_shorter
            && self
                .body
                .can_replay(answered && !is_all(announced, self.body.bytes_read()))
    }

    fn change(&mut self, changes: Changes<'_>) -> bool {
        if let Some(slot) = changes.slot.filter(|_| self.extensions.is_empty()) {
            self.extensions.insert(slot.clone());
        }
        let rebased = changes.rebase.and_then(|rebase| rebase.of(&self.uri));
        let before = rebased.map(|uri| std::mem::replace(&mut self.uri, uri));
        change_headers(&mut self.headers, before, changes, |with| {
            let is_rewritten = self.body.rewrite(with);
            if is_rewritten {
                // Later copies are compared with the rewritten body.
                self.first = self.body.measure();
            }
            is_rewritten
        })
    }
}

/// Changes the headers of a saved request, and its body with them. `before` is its URI before it was rebased, if it
/// was. Returns `false` if `rewrite_body` does: the body cannot be rewritten.
pub(super) fn change_headers(
    saved: &mut SavedHeaders,
    before: Option<Uri>,
    changes: Changes<'_>,
    rewrite_body: impl FnOnce(&mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool,
) -> bool {
    let Changes { set, rewrite, .. } = changes;
    let rebased = changes.rebase.zip(before);
    // Unpacking the headers is the expensive part of a change.
    if set.is_none() && rebased.is_none() && rewrite.is_none() {
        return true;
    }
    let mut headers = saved.clone().into_map();
    // Strip the headers of the first service before those for the new one are set.
    if let Some((rebase, before)) = rebased {
        rebase.strip_headers(&mut headers, &before);
    }
    replace_headers(&mut headers, set);
    if let Some(rewrite) = rewrite {
        if !rewrite_body(&mut |body| rewrite(&mut headers, body)) {
            return false;
        }
    }
    *saved = SavedHeaders::new(&headers);
    true
}

/// Returns `true` if a body of the announced length was read completely. A client sends no more than that, so it never
/// sees the end of the body.
pub(super) fn is_all(announced: Option<u64>, read: Option<u64>) -> bool {
    read.is_some() && announced == read
}

/// Replaces headers of the same name. A retry that has no room for them is not sent, so appending does not fail here.
fn replace_headers(headers: &mut HeaderMap, new: Option<&HeaderMap>) {
    // All old values go before the first new one is added, since a header may have several values.
    for name in new.into_iter().flat_map(HeaderMap::keys) {
        headers.remove(name);
    }
    for (name, value) in new.into_iter().flatten() {
        add_header(headers, name.clone(), value.clone());
    }
}

/// The head of a request, or of its saved copy.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) target: Target<'a>,
    pub(crate) headers: Headers<'a>,
    /// `None` if the client keeps them private.
    pub(crate) extensions: Option<&'a Extensions>,
}

/// The URI or URL that a request is sent to.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Uri(&'a Uri),
    #[cfg(feature = "reqwest")]
    Url(&'a ::reqwest::Url),
}

/// The headers of a request, as a map or packed.
#[derive(Clone, Copy)]
pub(crate) enum Headers<'a> {
    Map(&'a HeaderMap),
    Packed(&'a SavedHeaders),
}

impl<'a> Head<'a> {
    /// Returns the host and port that the request goes to, in their normal form.
    #[inline]
    pub(crate) fn authority(&self) -> Option<Cow<'a, str>> {
        match self.target {
            Target::Uri(uri) => {
                let host = || std::str::from_utf8(self.value("host")?).ok();
                public_authority(uri, || host().filter(|host| host.is_ascii()))
            }
            #[cfg(feature = "reqwest")]
            Target::Url(url) => {
                let authority = host_and_port(url)?;
                Some(authority_of_url(authority, || url.scheme()))
            }
        }
    }

    pub(crate) fn path(&self) -> &'a str {
        match self.target {
            Target::Uri(uri) => uri.path(),
            #[cfg(feature = "reqwest")]
            Target::Url(url) => url.path(),
        }
    }

    /// Returns the first value of a header, by its name in lower case.
    pub(crate) fn value(&self, name: &str) -> Option<&'a [u8]> {
        match self.headers {
            Headers::Map(map) => map.get(name).map(HeaderValue::as_bytes),
            Headers::Packed(packed) => packed.value(name),
        }
    }

    pub(crate) fn header_map(&self) -> Cow<'a, HeaderMap> {
        match self.headers {
            Headers::Map(map) => Cow::Borrowed(map),
            Headers::Packed(packed) => Cow::Owned(packed.clone().into_map()),
        }
    }

    /// Returns the length of the body that the headers announce.
    pub(crate) fn announced_length(&self) -> Option<u64> {
        let length = self.value("content-length")?;
        std::str::from_utf8(length).ok()?.parse().ok()
    }
}

impl adapter::Head for Head<'_> {
    fn method(&self) -> &Method {
        self.method
    }

    #[inline]
    fn authority(&self) -> Option<Cow<'_, str>> {
        Head::authority(self)
    }

    fn scheme(&self) -> Option<&str> {
        match self.target {
            Target::Uri(uri) => uri.scheme_str(),
            #[cfg(feature = "reqwest")]
            Target::Url(url) => Some(url.scheme()),
        }
    }

    fn path(&self) -> &str {
        Head::path(self)
    }

    fn uri(&self) -> String {
        match self.target {
            Target::Uri(uri) => uri.to_string(),
            #[cfg(feature = "reqwest")]
            Target::Url(url) => url.as_str().to_owned(),
        }
    }

    fn to_uri(&self) -> Option<Uri> {
        match self.target {
            Target::Uri(uri) => Some(uri.clone()),
            #[cfg(feature = "reqwest")]
            Target::Url(url) => url.as_str().parse().ok(),
        }
    }

    fn url(&self) -> Option<&str> {
        match self.target {
            Target::Uri(_) => None,
            #[cfg(feature = "reqwest")]
            Target::Url(url) => Some(url.as_str()),
        }
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        Head::value(self, name)
    }

    fn header_map(&self) -> Cow<'_, HeaderMap> {
        Head::header_map(self)
    }

    fn extensions(&self) -> Option<&Extensions> {
        self.extensions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::replay::CloneBody;
    use std::borrow::Cow;

    const OPTIONS: SaveOptions = SaveOptions {
        recorded: 0,
        is_plain: false,
    };

    type Request = http::Request<String>;

    fn save(request: Request) -> (Request, Box<SavedRequest<String>>) {
        let (request, saved) = CloneBody.save(request, OPTIONS);
        (request, saved.unwrap())
    }

    fn restore(
        saved: Box<SavedRequest<String>>,
        is_last: bool,
    ) -> (Request, Option<Box<SavedRequest<String>>>) {
        <CloneBody as Requests<Request>>::restore(saved, is_last)
    }

    fn authority(uri: &str, host: Option<&str>) -> Option<String> {
        let mut request = http::Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request: Request = request.body(String::new()).unwrap();
        let head = <CloneBody as Requests<Request>>::head(&request).unwrap();
        head.authority().map(Cow::into_owned)
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
        let (request, copy) = save(request);
        let (copy, _) = restore(copy, true);
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
    fn the_last_attempt_takes_the_saved_request_itself() {
        let (_, saved) = save(http::Request::new("b".to_owned()));
        let (_, saved) = restore(saved, false);
        let (request, saved) = restore(saved.unwrap(), true);
        assert_eq!(request.body(), "b");
        assert!(saved.is_none());
    }

    #[test]
    fn a_copy_that_is_shorter_than_its_content_length_is_not_sent() {
        for (length, body, resendable) in [
            (None, "abc", true),
            (Some("3"), "abc", true),
            (Some("2"), "abc", true),
            (Some("4"), "abc", false),
            (Some("4"), "", false),
            (Some("0"), "", true),
            (Some("four"), "abc", true),
        ] {
            let mut request = http::Request::put("http://h/a");
            if let Some(length) = length {
                request = request.header("content-length", length);
            }
            let (_, saved) = save(request.body(body.to_owned()).unwrap());
            assert_eq!(saved.is_whole(true), resendable, "{length:?} {body}");
        }
    }
}
