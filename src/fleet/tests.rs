//! One process's side of a fleet.

#[cfg(feature = "testing")]
mod budgets;
#[cfg(feature = "tower")]
mod calls;
#[cfg(feature = "tower")]
mod gates;
pub(crate) mod server;

use super::*;

#[test]
fn a_fleet_shows_no_password() {
    let fleet = Fleet::redis("redis://alice:hunter2@cache:7000/3").unwrap();
    let shown = format!("{fleet:?}");
    assert_eq!(
        shown,
        r#"Fleet { store: "cache:7000", prefix: "http-retry", wait: 50ms, .. }"#
    );
    let client = ::redis::Client::open("redis://alice:hunter2@cache:7000/3").unwrap();
    assert_eq!(format!("{:?}", Fleet::redis_client(client)), shown);
}
