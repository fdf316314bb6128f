//! How a call ends for its caller, and what its error says.

use http::Response;
use http_body::Body;
use http_body_util::BodyExt;
use hyper_util::client::legacy;
use std::error::Error;
use tower::BoxError;

/// How a call ended for its caller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) status: Option<u16>,
    /// What an error says of itself: before the head, or while the body was read.
    pub(crate) error: Option<Face>,
}

/// What a caller can ask an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Face {
    pub(crate) is: Vec<&'static str>,
    pub(crate) status: Option<u16>,
    pub(crate) url: Option<String>,
    /// The words of the whole chain, of hyper's errors.
    pub(crate) words: Vec<String>,
}

impl Ending {
    pub(crate) async fn of_reqwest(result: reqwest::Result<reqwest::Response>) -> Self {
        let response = match result {
            Err(error) => return Self::failed(None, Face::of_reqwest(&error)),
            Ok(response) => response,
        };
        let status = Some(response.status().as_u16());
        match response.bytes().await {
            Ok(_) => Self {
                status,
                error: None,
            },
            Err(error) => Self::failed(status, Face::of_reqwest(&error)),
        }
    }

    pub(crate) async fn of_hyper<B>(result: Result<Response<B>, impl Into<BoxError>>) -> Self
    where
        B: Body<Error: Into<BoxError>>,
    {
        let response = match result {
            Err(error) => return Self::failed(None, Face::of_hyper(&*error.into())),
            Ok(response) => response,
        };
        let status = Some(response.status().as_u16());
        match response.into_body().collect().await {
            Ok(_) => Self {
                status,
                error: None,
            },
            Err(error) => Self::failed(status, Face::of_hyper(&*error.into())),
        }
    }

    fn failed(status: Option<u16>, face: Face) -> Self {
        Self {
            status,
            error: Some(face),
        }
    }
}

impl Face {
    pub(crate) fn of_reqwest(error: &reqwest::Error) -> Self {
        let says = [
            ("builder", error.is_builder()),
            ("redirect", error.is_redirect()),
            ("status", error.is_status()),
            ("timeout", error.is_timeout()),
            ("request", error.is_request()),
            ("connect", error.is_connect()),
            ("dns", error.is_dns()),
            ("body", error.is_body()),
            ("decode", error.is_decode()),
            ("upgrade", error.is_upgrade()),
        ];
        let said = says.into_iter().filter(|(_, so)| *so);
        Self {
            is: said.map(|(name, _)| name).collect(),
            status: error.status().map(|status| status.as_u16()),
            url: error.url().map(ToString::to_string),
            words: Vec::new(),
        }
    }

    fn of_hyper(error: &(dyn Error + 'static)) -> Self {
        let own = error.downcast_ref::<legacy::Error>();
        let connect = own.is_some_and(legacy::Error::is_connect);
        let chain = std::iter::successors(Some(error), |error| (*error).source());
        Self {
            is: connect.then_some("connect").into_iter().collect(),
            status: None,
            url: None,
            words: chain.map(|link| said(&link.to_string())).collect(),
        }
    }
}

/// Words that stay the same. Which of the two a socket says that was reset is a matter of who asks it first, the writer
/// or the reader; and rustls says by which second a certificate has expired.
fn said(words: &str) -> String {
    let timeless = words.split(": verification time").next();
    timeless.unwrap_or(words).replace(
        "Broken pipe (os error 32)",
        "Connection reset by peer (os error 104)",
    )
}
