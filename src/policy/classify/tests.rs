//! The standard status table.

use super::*;

fn of(status: u16, invited: bool) -> (Class, Reach) {
    standard_status(StatusCode::from_u16(status).unwrap(), || invited)
}

#[test]
fn an_invitation_proves_413_unprocessed_and_503_only_busy() {
    assert_eq!(of(413, false), (Class::Permanent, Reach::Answered));
    assert_eq!(of(413, true), (Class::Throttled, Reach::Refused));
    assert_eq!(of(503, false), (Class::Transient, Reach::Answered));
    assert_eq!(of(503, true), (Class::Throttled, Reach::Answered));
}

#[test]
fn an_invitation_changes_no_other_status() {
    for status in (100..=999).filter(|status| ![413, 503].contains(status)) {
        assert_eq!(of(status, true), of(status, false), "{status}");
    }
}

#[test]
fn every_row_of_the_table() {
    let class = |status| of(status, false).0;
    for status in [100, 101, 200, 204, 299, 301, 304, 399] {
        assert_eq!(class(status), Class::Success, "{status}");
    }
    for status in [408, 425, 500, 502, 503, 504, 509, 520, 521, 530, 598, 599] {
        assert_eq!(class(status), Class::Transient, "{status}");
    }
    for status in [429, 529] {
        assert_eq!(class(status), Class::Throttled, "{status}");
    }
    for status in [
        400, 401, 403, 404, 409, 422, 451, 499, 501, 505, 506, 507, 508, 510, 511,
    ] {
        assert_eq!(class(status), Class::Permanent, "{status}");
    }
    for status in [600, 999] {
        assert_eq!(class(status), Class::Permanent, "{status}");
    }
}

#[test]
fn only_what_was_not_processed_may_be_sent_again_by_any_method() {
    let safe: Vec<u16> = (100..=999)
        .filter(|s| of(*s, false).1.is_unprocessed())
        .collect();
    assert_eq!(safe, [408, 425, 429]);
}
