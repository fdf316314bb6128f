//! A request, and what comes of each of its attempts.

use super::rules::{Rules, Time};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry::policy::RetrySession;
use http_retry::{Class, ErrorKind, Outcome, Reach, RequestFacts, RetryOverride, RetryPolicy};
use libfuzzer_sys::arbitrary::{self, Arbitrary};

#[derive(Debug, Arbitrary)]
pub(super) struct OneRequest {
    idempotent: bool,
    pub(super) replayable: bool,
    started: Time,
    pub(super) own: Option<Own>,
}

#[derive(Debug, Arbitrary)]
pub(super) struct Own {
    pub(super) off: bool,
    pub(super) max_retries: Option<u32>,
    idempotent: Option<bool>,
    deadline: Option<Time>,
}

#[derive(Debug, Arbitrary)]
pub(super) struct Step {
    pub(super) what: What,
    pub(super) now: Time,
    pub(super) wall: Time,
    pub(super) random: u64,
    pub(super) replayable: bool,
    pub(super) deposits: u8,
    pub(super) committed: bool,
}

#[derive(Debug, Arbitrary)]
pub(super) enum What {
    Status(u16),
    Asking(u8, u64),
    Error(u8),
    Custom(bool, bool),
}

impl OneRequest {
    /// Returns `true` if processing this request twice is harmless under these rules.
    pub(super) fn is_harmless_twice(&self, rules: &Rules) -> bool {
        let own = self.own.as_ref().and_then(|own| own.idempotent);
        own.unwrap_or(self.idempotent || rules.all_methods)
    }

    pub(super) fn session(&self, policy: &RetryPolicy) -> RetrySession {
        let mut facts = RequestFacts::operation().idempotent(self.idempotent);
        facts.replayable = self.replayable;
        let session = policy.session(facts, self.started.duration());
        match &self.own {
            Some(own) => session.with_override(&own.settings()),
            None => session,
        }
    }
}

impl Own {
    fn settings(&self) -> RetryOverride {
        let mut own = if self.off {
            RetryOverride::off()
        } else {
            RetryOverride::new()
        };
        if let Some(most) = self.max_retries {
            own = own.max_retries(most);
        }
        if let Some(idempotent) = self.idempotent {
            own = own.idempotent(idempotent);
        }
        match self.deadline {
            Some(deadline) => own.deadline(deadline.duration()),
            None => own,
        }
    }
}

const ERRORS: [ErrorKind; 16] = [
    ErrorKind::Dns,
    ErrorKind::Connect,
    ErrorKind::ConnectTimeout,
    ErrorKind::Tls,
    ErrorKind::Certificate,
    ErrorKind::NotProcessed,
    ErrorKind::Timeout,
    ErrorKind::Reset,
    ErrorKind::Incomplete,
    ErrorKind::Http2,
    ErrorKind::Request,
    ErrorKind::Redirect,
    ErrorKind::Body,
    ErrorKind::Protocol,
    ErrorKind::Decode,
    ErrorKind::Other,
];

const ASKING: [&str; 4] = [
    "retry-after",
    "retry-after-ms",
    "x-amz-retry-after",
    "x-ratelimit-reset",
];

impl What {
    pub(super) fn headers(&self) -> HeaderMap {
        match self {
            Self::Asking(name, number) => {
                let name = ASKING[usize::from(*name) % ASKING.len()];
                HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from(*number))])
            }
            _ => HeaderMap::new(),
        }
    }

    pub(super) fn outcome<'a>(&self, headers: &'a HeaderMap) -> Outcome<'a> {
        match self {
            Self::Status(status) => {
                let status = StatusCode::from_u16(100 + status % 900).expect("100 to 999");
                Outcome::response(status, headers)
            }
            Self::Asking(name, _) => match name / 64 {
                0 => Outcome::response(StatusCode::TOO_MANY_REQUESTS, headers),
                1 => Outcome::response(StatusCode::PAYLOAD_TOO_LARGE, headers),
                _ => Outcome::response(StatusCode::SERVICE_UNAVAILABLE, headers),
            },
            Self::Error(kind) => Outcome::error(ERRORS[usize::from(*kind) % ERRORS.len()]),
            Self::Custom(transient, refused) => Outcome::success().with(
                if *transient {
                    Class::Transient
                } else {
                    Class::Throttled
                },
                if *refused {
                    Reach::Refused
                } else {
                    Reach::Ambiguous
                },
            ),
        }
    }
}
