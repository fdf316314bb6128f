//! The rows of the table of statuses.

use super::Situation;
use crate::wire::server::{Act, Answer};

pub(crate) async fn all() -> Vec<Situation> {
    let mut rows = Vec::new();
    for (name, status) in STATUSES {
        let answer = Answer::new(status);
        let answer = if name.ends_with("Retry-After") {
            answer.header("retry-after", "1")
        } else {
            answer
        };
        rows.push(Situation::act(name, Act::Answer(answer)).await);
    }
    rows
}

const STATUSES: [(&str, u16); 28] = [
    ("200", 200),
    ("301, not followed", 301),
    ("400", 400),
    ("404", 404),
    ("408", 408),
    ("409", 409),
    ("413", 413),
    ("413 with Retry-After", 413),
    ("421", 421),
    ("425", 425),
    ("429", 429),
    ("429 with Retry-After", 429),
    ("500", 500),
    ("501", 501),
    ("502", 502),
    ("503", 503),
    ("503 with Retry-After", 503),
    ("504", 504),
    ("505", 505),
    ("506", 506),
    ("507", 507),
    ("508", 508),
    ("510", 510),
    ("511", 511),
    ("520", 520),
    ("529", 529),
    ("530", 530),
    ("599", 599),
];
