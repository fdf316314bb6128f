//! Replaces `connection` without the feature `hyper`: no client shows the connection that an attempt used.
#![expect(
    clippy::extra_unused_type_parameters,
    reason = "`connection` asks for the type of error"
)]

use crate::Attempt;
use http::Extensions;

pub(crate) enum ConnectionUsed {}

impl ConnectionUsed {
    pub(crate) fn for_attempt<E: 'static>(_: Attempt, _: Option<&mut Extensions>) -> Option<Self> {
        None
    }

    pub(crate) fn for_download<E: 'static>(_: &mut Extensions) -> Option<Self> {
        None
    }

    pub(crate) fn is_known(&self) -> bool {
        match *self {}
    }

    pub(crate) fn retire(&self) {}
}

pub(super) fn retire<'a>(_: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>) {}

pub(super) fn is_body_of_hyper<B: 'static>() -> bool {
    false
}
