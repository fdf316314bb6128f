//! Mail services: SendGrid, Emailit, Brevo, MailerLite.

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

pub(super) fn mailerlite() -> Vec<Row> {
    // The classic API: a limit for each endpoint, and a delay in a header of its own. The current API has
    // `Retry-After`.
    let after = "x-ratelimit-retry-after";
    let slow = Interpretation::throttled().delay(Location::head(after), Unit::S);
    vec![on([429]).has_head(after).is(slow.scope(Scope::Route))]
}
