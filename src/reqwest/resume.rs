//! Resumed downloads on reqwest-middleware.

use crate::client::replay::CloneBody;
use crate::client::requests::Requests;
use crate::client::reqwest_requests::pin;
use crate::engine::Engine;
use crate::resume::DownloadOptions;
use crate::resume::{
    Resend, RestRequest, Resumable, ResumeValidator, ResumedBody, Sending, is_redirected, marked,
};
use ::reqwest::{Body, Request, Response};
use http::{Extensions, Method};
use reqwest_middleware::{ClientWithMiddleware, Error, RequestBuilder, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// Sends a request whose [download is resumed](crate::resume) where it breaks.
///
/// Implemented by `reqwest_middleware::RequestBuilder`; it cannot be implemented outside of this crate.
pub trait SendResumed: sealed::Sealed {
    /// Sends the request through the client, and again for the rest wherever the body breaks. The response is one like
    /// any other; the error of its body holds an [`Interrupted`](crate::resume::Interrupted) where it broke for good.
    ///
    /// Policy, budget, gate and clock are those of the [`RetryMiddleware`](super::RetryMiddleware) in the client. Each
    /// continuation runs through all of the client's middlewares, with the caller's extensions, and asks the URL that the
    /// start came from, after redirects.
    ///
    /// ```no_run
    /// use http_retry::reqwest::SendResumed;
    /// use http_retry::resume::Interrupted;
    ///
    /// # type Error = Box<dyn std::error::Error>;
    /// # async fn run(client: reqwest_middleware::ClientWithMiddleware, mut file: Vec<u8>) -> Result<(), Error> {
    /// let mut response = client.get("https://files.example/large").send_resumed().await?;
    /// loop {
    ///     match response.chunk().await {
    ///         Ok(Some(bytes)) => file.extend_from_slice(&bytes),
    ///         Ok(None) => return Ok(()),
    ///         Err(error) => {
    ///             // reqwest's own text is "error decoding response body".
    ///             if let Some(interrupted) = Interrupted::of(&error) {
    ///                 eprintln!("{interrupted}");
    ///             }
    ///             return Err(error.into());
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As of `send`; and one in `Error::Middleware` where no [`RetryMiddleware`](super::RetryMiddleware) saw the request,
    /// so that nothing can resume it: the client has none, or a middleware before it answered. Its text is "send_resumed needs a
    /// client with a RetryMiddleware that sees every request".
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the call: nothing more is sent.
    fn send_resumed(self) -> Pin<Box<dyn Future<Output = Result<Response>> + Send>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for reqwest_middleware::RequestBuilder {}
}

/// No middleware of this crate saw the request of a download.
#[derive(Debug)]
struct NoRetryMiddleware;

impl fmt::Display for NoRetryMiddleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("send_resumed needs a client with a RetryMiddleware that sees every request")
    }
}

impl std::error::Error for NoRetryMiddleware {}

/// The slot in a request's extensions in which the middleware leaves its engine for the sender.
#[derive(Clone, Default)]
pub(super) struct EngineSlot(Arc<OnceLock<Arc<Engine>>>);

impl EngineSlot {
    /// The outermost of several middlewares is the one that repeats the request.
    #[inline]
    pub(super) fn fill(extensions: &Extensions, engine: &Arc<Engine>) {
        if let Some(Self(slot)) = extensions.get::<Self>() {
            slot.get_or_init(|| Arc::clone(engine));
        }
    }
}

impl SendResumed for RequestBuilder {
    fn send_resumed(mut self) -> Pin<Box<dyn Future<Output = Result<Response>> + Send>> {
        let extensions = self.extensions().clone();
        let (client, request) = self.build_split();
        Box::pin(async move { send(client, request?, extensions).await })
    }
}

async fn send(
    client: ClientWithMiddleware,
    mut request: Request,
    extensions: Extensions,
) -> Result<Response> {
    let options = DownloadOptions::of(request.method(), Some(&extensions));
    if options.is_some() {
        ResumeValidator::prepare(request.headers_mut());
    }
    let copy = options.zip(request.try_clone());
    let slot = EngineSlot::default();
    let mut sent = extensions.clone();
    sent.insert(slot.clone());
    let response = client.execute_with_extensions(request, &mut sent).await?;
    let Some(engine) = slot.0.get() else {
        return Err(Error::middleware(NoRetryMiddleware));
    };
    let begun = copy.and_then(|(options, request)| {
        let terms = options.terms(engine, CloneBody::head(&request)?)?;
        let asked = (&Method::GET, request.headers());
        let mark = ResumeValidator::of(asked, (response.status(), response.headers()))?;
        Some((request, terms, mark))
    });
    let Some((request, terms, mark)) = begun else {
        return Ok(response);
    };
    let asked = request.url().as_str();
    let again = ClientAgain {
        start: Resumable::url(&response).map(str::to_owned),
        redirected: is_redirected(&response, Some(asked)),
        client,
        request,
        extensions,
    };
    let is_from_elsewhere = response.is_from_elsewhere();
    Ok(response
        .resumed(|body| ResumedBody::new(body, mark, Box::new(again), terms, is_from_elsewhere)))
}

/// Sends a copy of the request through the whole client.
struct ClientAgain {
    /// The URL of the first response.
    start: Option<String>,
    redirected: bool,
    client: ClientWithMiddleware,
    request: Request,
    extensions: Extensions,
}

impl Resend<Body> for ClientAgain {
    fn resend(&mut self, rest: &RestRequest<'_>) -> Option<Sending<Body>> {
        let mut request = self.request.try_clone()?;
        if !rest.ask(request.headers_mut()) {
            return None;
        }
        if let Some(start) = self.start.as_deref().filter(|_| self.redirected) {
            let (mut url, mut headers) = (request.url().clone(), request.headers().clone());
            pin(&mut url, &mut headers, start, &rest.credentials());
            (*request.url_mut(), *request.headers_mut()) = (url, headers);
        }
        let start = self.start.clone();
        let (client, mut extensions) = (self.client.clone(), self.extensions.clone());
        rest.extend(&mut extensions);
        Some(Box::pin(async move {
            let sent = client.execute_with_extensions(request, &mut extensions);
            Ok(marked(sent.await?, start.as_deref()))
        }))
    }
}
