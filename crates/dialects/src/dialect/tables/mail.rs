//! Mail services: SendGrid, Emailit, Brevo.

use super::on;
use crate::dialect::{Interpretation, Location, Row};
use http_retry_core::policy::{Scope, Unit};

pub(super) fn sendgrid() -> Vec<Row> {
    vec![on([429]).is(Interpretation::throttled().scope(Scope::Route))]
}

pub(super) fn emailit() -> Vec<Row> {
    vec![on([429]).is(Interpretation::throttled().delay(Location::json("/retry_after"), Unit::S))]
}

pub(super) fn brevo() -> Vec<Row> {
    let reset = Location::head("x-sib-ratelimit-reset");
    let slow = Interpretation::throttled().delay(reset, Unit::S);
    vec![on([429]).is(slow.scope(Scope::Route))]
}
