//! Resumed downloads on reqwest-middleware.

use super::middleware::EngineSlot;
use crate::client::error_chain::{walk, without_url};
use crate::client::replay::CloneBody;
use crate::client::requests::Requests;
use crate::client::reqwest_requests::pin;
use crate::client::resumable::{Resumable, is_redirected, mark_other_origin};
use crate::error::BoxError;
use crate::resume::ResumedBody;
use crate::resume::adapter::{DownloadOptions, Resend, RestRequest, ResumeValidator, Sending};
use crate::sealed::Sealed;
use crate::{Outcome, RetryPolicy};
use ::reqwest::{Body, Request, Response};
use http::{Extensions, Method};
use reqwest_middleware::{ClientWithMiddleware, RequestBuilder, Result};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;

/// Sends a request whose [download is resumed](crate::resume) if it breaks.
///
/// Implemented by `reqwest_middleware::RequestBuilder`; it cannot be implemented outside of this crate.
pub trait SendResumed: Sealed {
    /// Sends the request through the client, and again for the rest whenever the body breaks. The response is like any
    /// other; the error of its body holds an [`Interrupted`](crate::resume::Interrupted) if it broke for good.
    ///
    /// Policy, budget, gate and clock are those of the [`RetryMiddleware`](super::RetryMiddleware) in the client. Each
    /// continuation runs through all of the client's middlewares, with the caller's extensions, and goes to the URL
    /// that the start came from, after redirects.
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
    /// As for `send`; and one in `Error::Middleware` if no [`RetryMiddleware`](super::RetryMiddleware) saw the request,
    /// so that nothing can resume it: the client has none, or a middleware before it made the response. Its text is
    /// "send_resumed needs a client with a RetryMiddleware that sees every request".
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the call: nothing more is sent.
    fn send_resumed(self) -> Pin<Box<dyn Future<Output = Result<Response>> + Send>>;
}

impl Sealed for reqwest_middleware::RequestBuilder {}

impl SendResumed for RequestBuilder {
    // This and what it calls are compiled where it is called: other programs do not link the code of resumed downloads.
    #[inline]
    fn send_resumed(mut self) -> Pin<Box<dyn Future<Output = Result<Response>> + Send>> {
        // `build_split` drops the extensions.
        let extensions = self.extensions().clone();
        let (client, request) = self.build_split();
        Box::pin(async move { send(client, request?, extensions).await })
    }
}

#[inline]
async fn send(
    client: ClientWithMiddleware,
    mut request: Request,
    extensions: Extensions,
) -> Result<Response> {
    let options = DownloadOptions::for_request(request.method(), Some(&extensions));
    if options.is_some() {
        ResumeValidator::prepare(request.headers_mut());
    }
    let copy = options.zip(request.try_clone());
    // The engine is inside the middleware, out of reach from here: the middleware leaves it in this slot.
    let slot = EngineSlot::default();
    let mut sent = extensions.clone();
    sent.insert(slot.clone());
    let response = client.execute_with_extensions(request, &mut sent).await?;
    let Some(engine) = slot.get() else {
        let why = "send_resumed needs a client with a RetryMiddleware that sees every request";
        return Err(anyhow::Error::msg(why).into());
    };
    let resumable = copy.and_then(|(options, request)| {
        let terms = options.terms(engine, &CloneBody::head(&request)?)?;
        let requested = (&Method::GET, request.headers());
        let validator =
            ResumeValidator::from_response(requested, (response.status(), response.headers()))?;
        Some((request, terms, validator))
    });
    let Some((request, terms, validator)) = resumable else {
        return Ok(response);
    };
    let requested = request.url().as_str();
    let sender = ClientSender {
        start: Resumable::url(&response).map(str::to_owned),
        redirected: is_redirected(&response, Some(requested)),
        client,
        request,
        extensions,
    };
    let is_from_elsewhere = response.is_from_elsewhere();
    Ok(response.resumed(|body| {
        ResumedBody::new(body, validator, Box::new(sender), terms, is_from_elsewhere)
    }))
}

/// Sends a copy of the request through the whole client.
struct ClientSender {
    /// The URL of the first response.
    start: Option<String>,
    redirected: bool,
    client: ClientWithMiddleware,
    request: Request,
    extensions: Extensions,
}

impl Resend<Body> for ClientSender {
    #[inline]
    fn resend(&mut self, rest: &RestRequest<'_>) -> Option<Sending<Body>> {
        let mut request = self.request.try_clone()?;
        if !rest.ask(request.headers_mut()) {
            return None;
        }
        if let Some(start) = self.start.as_deref().filter(|_| self.redirected) {
            pin(&mut request, start, &rest.credentials());
        }
        let start = self.start.clone();
        let (client, mut extensions) = (self.client.clone(), self.extensions.clone());
        rest.extend(&mut extensions);
        Some(Box::pin(async move {
            let sent = client.execute_with_extensions(request, &mut extensions);
            Ok(mark_other_origin(sent.await?, start.as_deref()))
        }))
    }

    fn outcome(&self, policy: &RetryPolicy, error: &(dyn Error + 'static)) -> Outcome<'static> {
        walk(policy, error)
    }

    fn without_secrets(&self, error: BoxError) -> BoxError {
        without_url(error)
    }
}
