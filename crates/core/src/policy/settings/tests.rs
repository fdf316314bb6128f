//! A table with a setting that no policy has: what it takes is one row.

#![expect(
    dead_code,
    unreachable_pub,
    reason = "the types are those of a whole policy"
)]

use super::*;
use crate::policy::Origin;

struct RetryPolicy(Arc<Settings>);

#[derive(Default)]
struct RetryPolicyBuilder {
    given: PartialSettings,
}

settings! {
    names setting_names_of_this_test, with those of other setters: rule;

    deadline: Option<Duration> {
        default None;
        /// Sets the deadline.
        set(deadline: impl Into<Option<Duration>>) => deadline.into();
    }

    patience: u8 {
        default 3;
        /// Sets the patience of a policy.
        set(patience: u8) => patience;
        /// Sets the patience of a request.
        request(patience: u8) -> u8 => patience, open if |settings| settings.patience == 3;
        check |settings| match settings.patience {
            0 => Err(ConfigError::new("patience", 0, "must be above 0")),
            _ => Ok(()),
        };
        explain |settings, _| Some(format!("patience of {}", settings.patience));
    }
}

/// Returns what a builder with these settings makes of the default ones.
fn built(builder: RetryPolicyBuilder) -> Settings {
    builder.given.over(Settings::new("test"))
}

fn origin(from: &str) -> Settings {
    let (field, value) = ("patience".into(), "5".into());
    let origin = Origin {
        field,
        value,
        from: from.into(),
    };
    let mut settings = Settings::new("test");
    settings.rules.origins = Arc::new([origin]);
    settings
}

#[test]
fn a_policy_has_the_setting_at_its_default_or_as_set() {
    let unset = RetryPolicyBuilder::default().deadline(Duration::from_secs(1));
    assert_eq!(built(unset).patience, 3);
    let settings = built(RetryPolicyBuilder::default().patience(4));
    assert_eq!(settings.deadline, None);
    assert!(format!("{settings:?}").contains("patience: 4"));
    assert_eq!(settings.patience, 4);
}

#[test]
fn a_policy_checks_and_explains_the_setting() {
    let built = |patience| built(RetryPolicyBuilder::default().patience(patience));
    assert!(built(1).check().is_ok());
    assert_eq!(built(0).check().unwrap_err().field, "patience");
    let worst = crate::RetryPolicy::background().worst_case();
    assert_eq!(built(4).lines(&worst), ["patience of 4"]);
}

#[test]
fn a_request_sets_the_setting_and_later_calls_win() {
    let (first, second) = (
        RetryOverride::default().patience(1),
        RetryOverride::default().patience(2),
    );
    assert_eq!(second.over(&first).patience, Some(2));
    assert_eq!(RetryOverride::default().over(&first).patience, Some(1));
}

#[test]
fn a_request_fills_in_the_setting_if_the_policy_leaves_it_open() {
    let left = |settings: &Settings| {
        RetryOverride::default()
            .patience(1)
            .filling(settings)
            .patience
    };
    assert_eq!(left(&Settings::new("test")), Some(1));
    assert_eq!(
        left(&built(RetryPolicyBuilder::default().patience(4))),
        None
    );
    assert_eq!(left(&origin("default")), Some(1));
    assert_eq!(left(&origin("retry.patience")), None);
}

macro_rules! list {
    ($($name:ident)+) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

setting_names_of_this_test!(list);

#[test]
fn the_setting_is_among_the_names() {
    assert_eq!(NAMES, ["deadline", "patience", "rule"]);
}
