//! The backoff of a place, and what its policy refuses.

use super::{NO_BACKOFF, Resolver, of, value};
use crate::config::given::Given;
use crate::config::retry::{Growth, Retry};
use crate::config::value::Value;
use crate::error::ConfigError;
use crate::policy::{Backoff, Decimal, Jitter};

impl Resolver<'_> {
    pub(super) fn backoff(&self, retry: &Retry) -> Backoff {
        let base = value(&retry.base).unwrap_or_default();
        let backoff = match of(&retry.backoff, |backoff| &backoff.growth) {
            Some(Growth::None) => Backoff::none(),
            Some(Growth::Fixed) => Backoff::fixed(base),
            Some(Growth::Linear) => Backoff::linear(base),
            None | Some(Growth::Exponential) => Backoff::exponential(base),
            Some(Growth::Schedule(delays)) => Backoff::shared_schedule(delays),
            Some(Growth::Custom(name)) => self.custom(&name, retry),
        };
        let jitter = match (
            of(&retry.jitter, |jitter| &jitter.decorrelated),
            of(&retry.jitter, |jitter| &jitter.min),
            of(&retry.jitter, |jitter| &jitter.max),
        ) {
            (Some(true), ..) => Jitter::Decorrelated,
            (_, None, None) => Jitter::Full,
            (_, min, max) => {
                Jitter::between(min.unwrap_or(Decimal::ZERO), max.unwrap_or(Decimal::ONE))
            }
        };
        let backoff = backoff.jitter(jitter.named());
        let backoff = set(backoff, &retry.factor, Backoff::factor);
        let backoff = set(backoff, &retry.first_step, Backoff::first_step);
        let backoff = set(backoff, &retry.max_delay, Backoff::max_delay);
        set(backoff, &retry.cap, Backoff::cap)
    }

    pub(super) fn custom(&self, name: &str, retry: &Retry) -> Backoff {
        let backoff = retry.backoff.as_ref();
        let Some(given) = backoff.and_then(|backoff| backoff.growth.as_ref()) else {
            return Backoff::none();
        };
        let Some(make) = self.names.backoffs.get(name) else {
            let known = self.names.backoffs.keys().map(|name| &**name);
            self.unknown(given, name, "is no custom backoff of this program", known);
            return Backoff::none();
        };
        let args = backoff.and_then(|backoff| backoff.args.as_ref());
        match make(args.map_or(&Value::Null, |args| &args.0.value)) {
            Ok(ceiling) => Backoff::custom(move |retry| ceiling(retry)),
            Err(cause) => {
                let from = args.map_or(&given.from, |args| &args.0.from);
                self.problems.at(&from.to_string(), &name, cause);
                Backoff::none()
            }
        }
    }

    /// The builder's word on a field, where the document says it.
    pub(super) fn refused(&self, retry: &Retry, error: &ConfigError) {
        let field = error.field().trim_start_matches("backoff.");
        let field = match field {
            "schedule" => "backoff",
            other => other,
        };
        let bound = match field {
            "base" => "max_delay",
            "attempt_timeout" => "deadline",
            "jitter.min" => "jitter.max",
            _ => "",
        };
        let all = retry.given();
        let of = |wanted: &str| all.iter().find(|origin| origin.field == wanted);
        let given = of(field);
        let (text, from) = match given {
            Some(origin) => (&*origin.value, origin.from.to_string()),
            None => (error.given(), field.to_owned()),
        };
        let is_built_in = given.is_some_and(|given| !given.from.is_written());
        let (place, cause) = match of(bound) {
            Some(most) if is_built_in && most.from.is_written() => {
                let least = format!("must be at least {field}, which is {text} ({from})");
                let cause = format!("{} is not allowed: {least}: give {field} too", most.value);
                (most.from.to_string(), cause)
            }
            most => {
                let allowed = error.allowed().replace("use Backoff::none()", NO_BACKOFF);
                let far = most.filter(|most| block_of(&most.from.to_string()) != block_of(&from));
                let at = far.map_or_else(String::new, |far| format!(" ({})", far.from));
                let cause = format!("{text} is not allowed: {allowed}{at}");
                (from, cause)
            }
        };
        self.problems.at(&place, &text, cause);
    }
}

fn block_of(from: &str) -> Option<&str> {
    let (block, _) = from.rsplit_once('.')?;
    Some(block.trim_end_matches(".jitter"))
}

fn set<T: Clone>(
    backoff: Backoff,
    given: &Option<Given<T>>,
    setter: fn(Backoff, T) -> Backoff,
) -> Backoff {
    match given {
        Some(given) => setter(backoff, given.value.clone()),
        None => backoff,
    }
}
