//! Replaces `of_hyper` without the feature: errors of hyper, hyper-util and h2 are not recognised.

use super::link::Link;
use std::error::Error;

pub(super) fn read(_: &(dyn Error + 'static), _: bool) -> Option<Link> {
    None
}

pub(super) fn read_text(_: &str, _: bool) -> Link {
    Link::Silent
}

pub(super) fn known<V>(_: &V) -> Option<&(dyn Error + 'static)> {
    None
}

pub(super) fn source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    error.source()
}
