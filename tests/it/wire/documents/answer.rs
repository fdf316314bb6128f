//! What a caller can see of a response.

use crate::in_time::in_time;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, Version};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::client::legacy::connect::HttpInfo;
use std::net::SocketAddr;
use tower::BoxError;

/// A response whose body is not read yet.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) url: Option<String>,
    pub(super) response: Response<UnsyncBoxBody<Bytes, BoxError>>,
}

/// A response read to its end, with all that a caller can see of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) status: StatusCode,
    pub(super) version: Version,
    pub(super) headers: HeaderMap,
    pub(super) url: Option<String>,
    pub(super) reason: Option<Bytes>,
    pub(super) remote: Option<SocketAddr>,
    pub(super) body: Bytes,
    pub(super) trailers: Option<HeaderMap>,
    /// What the error said that came instead of the end.
    pub(super) broken: Option<Broken>,
}

/// What a caller can ask the error of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    is: Vec<&'static str>,
}

impl Answer {
    pub(super) fn of<B>(response: Response<B>) -> Self
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        Self {
            url: None,
            response: response.map(|body| body.map_err(Into::into).boxed_unsync()),
        }
    }

    pub(super) fn of_reqwest(response: reqwest::Response) -> Self {
        let url = response.url().to_string();
        Self {
            url: Some(url),
            ..Self::of(Response::<reqwest::Body>::from(response))
        }
    }

    /// Reads the body, as far as it goes.
    pub(super) async fn whole(self) -> Whole {
        in_time(self.read()).await
    }

    async fn read(self) -> Whole {
        let (head, mut body) = self.response.into_parts();
        let mut whole = Whole {
            status: head.status,
            version: head.version,
            headers: head.headers,
            url: self.url,
            reason: head
                .extensions
                .get::<hyper::ext::ReasonPhrase>()
                .map(|reason| Bytes::copy_from_slice(reason.as_bytes())),
            remote: head.extensions.get::<HttpInfo>().map(HttpInfo::remote_addr),
            body: Bytes::new(),
            trailers: None,
            broken: None,
        };
        let mut read = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame.map(http_body::Frame::into_data) {
                Ok(Ok(data)) => read.extend(data),
                Ok(Err(frame)) => whole.trailers = frame.into_trailers().ok(),
                Err(error) => {
                    whole.broken = Some(Broken::of(&error));
                    break;
                }
            }
        }
        whole.body = read.into();
        whole
    }
}

impl Broken {
    fn of(error: &BoxError) -> Self {
        let asked = match (
            error.downcast_ref::<reqwest::Error>(),
            error.downcast_ref::<hyper::Error>(),
        ) {
            (Some(error), _) => vec![
                ("decode", error.is_decode()),
                ("body", error.is_body()),
                ("timeout", error.is_timeout()),
                ("request", error.is_request()),
            ],
            (_, Some(error)) => vec![
                ("incomplete", error.is_incomplete_message()),
                ("timeout", error.is_timeout()),
            ],
            _ => vec![("unknown", true)],
        };
        let said = asked.into_iter().filter(|(_, so)| *so);
        Self {
            is: said.map(|(name, _)| name).collect(),
        }
    }
}
