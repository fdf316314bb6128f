//! Who sends mail: SendGrid, Emailit, Brevo.

use crate::dialect::{At, Dialect, Meaning, Row};
use crate::policy::{Scope, Unit};

pub(super) fn sendgrid() -> Dialect {
    Dialect::built_in("sendgrid", "twilio.com/docs/sendgrid, rate limits").rows([Row::when()
        .status(429)
        .is(Meaning::throttled().scope(Scope::Route))])
}

pub(super) fn emailit() -> Dialect {
    Dialect::built_in("emailit", "emailit.com/docs, 429").rows([Row::when()
        .status(429)
        .is(Meaning::throttled().delay(At::json("/retry_after"), Unit::S))])
}

pub(super) fn brevo() -> Dialect {
    let reset = At::head("x-sib-ratelimit-reset");
    let slow = Meaning::throttled().delay(reset, Unit::S);
    Dialect::built_in("brevo", "developers.brevo.com, limit headers")
        .rows([Row::when().status(429).is(slow.scope(Scope::Route))])
}
