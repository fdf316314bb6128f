//! What the document, a service and a route have in common.

use crate::config::fields::Layer;
use crate::config::retry::{Retry, RetryBlock};
use crate::config::rule::{ActionSpec, RuleSpec};

/// The table of a block with the keys of every place, between those that it has before and after them.
macro_rules! place_keys {
    ($(#[doc = $about:literal])+ $name:ident($($head:tt)*) { $($before:tt)* } { $($after:tt)* }) => {
        table! {
            $(#[doc = $about])+
            $name($($head)*) {
                $($before)*
                /// How to retry here: a map, or the name of a policy or preset.
                retry: crate::config::retry::RetryBlock = crate::config::retry::retry();
                /// What is done about which outcome. The rules of the route come first, then those of the service, then those of
                /// the document.
                rules: Vec<crate::config::rule::RuleSpec> = crate::config::rule::rules();
                /// What decides where no rule holds: classify (default: the standard tables), accept (alias continue), fail
                /// (everything, success too), by_outcome (accept a success, fail the rest), or {retry: RETRY} (accept a success,
                /// retry the rest).
                otherwise: crate::config::rule::ActionSpec = crate::config::rule::otherwise(), default(&"classify");
                /// What the service means by its answers: none, by_host, a dialect's name, or a list. Default: as around this place,
                /// and none at the top.
                dialect: crate::config::given::Given<crate::config::dialect::Speaks> =
                    crate::config::fields::told(crate::config::dialect::speaks());
                /// Whether a few headers that every server may send say more than its status: a 403 that names a time,
                /// x-amzn-errortype, x-should-retry and stripe-should-retry.
                header_rules: crate::config::given::Given<bool> = crate::config::fields::told(crate::config::types::truth()), default(&true);
                /// Whether dialects by host may read the bodies of successes.
                inspect_success: crate::config::given::Given<bool> = crate::config::fields::told(crate::config::types::truth()), default(&false);
                $($after)*
            }
        }

        impl $name {
            /// What is said for the place itself.
            fn take_place(&mut self) -> crate::config::document::PlaceSpec {
                crate::config::document::PlaceSpec {
                    retry: self.retry.take().flatten(),
                    rules: self.rules.take().unwrap_or_default(),
                    otherwise: self.otherwise.take(),
                }
                .with(&crate::config::retry::Retry {
                    dialect: self.dialect.take(),
                    header_rules: self.header_rules.take(),
                    inspect_success: self.inspect_success.take(),
                    ..crate::config::retry::Retry::default()
                })
            }
        }
    };
}

pub(super) use place_keys;

/// What the document, a service and a route have in common.
#[derive(Debug, Clone, Default)]
pub(in crate::config) struct PlaceSpec {
    pub(in crate::config) retry: RetryBlock,
    pub(in crate::config) rules: Vec<RuleSpec>,
    pub(in crate::config) otherwise: Option<ActionSpec>,
}

impl PlaceSpec {
    /// Whether this block changes nothing.
    pub(in crate::config) fn says_nothing(&self) -> bool {
        self.retry.is_none() && self.rules.is_empty() && self.otherwise.is_none()
    }

    /// With these fields of RETRY, which no RETRY block can hold.
    pub(super) fn with(mut self, fields: &Retry) -> Self {
        if !fields.is_empty() {
            self.retry.get_or_insert_default().lay_on(fields);
        }
        self
    }
}
