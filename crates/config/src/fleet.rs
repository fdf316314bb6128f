//! `fleet`: the store that shares budgets and gates with other processes.

#[cfg(test)]
mod tests;

use super::builder::RetryConfigBuilder;
use super::document::FleetKeys;
use super::problems::{Diagnostics, Path, hint};
use super::retry::set_given;
use super::values::Name;
use http_retry_core::ConfigError;
use http_retry_core::budget::{RetryBudget, RetryBudgetBuilder};
pub(super) use http_retry_fleet::Fleet;
use http_retry_fleet::FleetBuilder;
use http_retry_services::ServicesBuilder;

/// Returns the fleet that a document names.
pub(super) fn join(
    keys: &FleetKeys,
    names: &RetryConfigBuilder,
    problems: &Diagnostics,
) -> Option<Fleet> {
    let path = Path::default().key("fleet");
    match (&keys.redis, &keys.redis_env, &keys.uses) {
        (None, None, Some(Name(name))) => named(name, names, &path, problems),
        (Some(url), None, None) => build(keys, ("redis", &url.0), &path, problems),
        (None, Some(Name(variable)), None) => {
            let url = std::env::var(&**variable).ok();
            if url.is_none() {
                let cause = format!("the environment has no {variable}");
                problems.add(&path.key("redis_env"), variable, cause);
            }
            build(keys, ("redis_env", &url?), &path, problems)
        }
        // Names no store or several, which is reported already.
        _ => None,
    }
}

/// Returns a named budget of the document. Its numbers were checked when they were read.
pub(super) fn budget(
    fleet: Option<&Fleet>,
    name: &str,
    numbers: RetryBudgetBuilder,
) -> RetryBudget {
    let budget = match fleet {
        // Prefixed, since a service may have the same name and has another budget.
        Some(fleet) => fleet.budget(&format!("budgets.{name}"), numbers),
        None => numbers.build(),
    };
    budget.unwrap_or_default()
}

/// Shares the budgets and gates of services that have none of their own.
pub(super) fn share(services: ServicesBuilder, fleet: &Fleet) -> ServicesBuilder {
    services.fleet(fleet)
}

fn named(
    name: &str,
    names: &RetryConfigBuilder,
    path: &Path<'_>,
    problems: &Diagnostics,
) -> Option<Fleet> {
    let fleet = names.fleets.get(name);
    if fleet.is_none() {
        let known = names.fleets.keys().map(|name| &**name);
        let what = format!("\"{name}\" is no fleet of this program");
        problems.unknown(&path.key("use"), &name, what, || hint(name, known));
    }
    fleet.cloned()
}

/// Makes a fleet. An error of the builder is reported without the value, which may be a secret.
fn build(
    keys: &FleetKeys,
    (key, url): (&str, &str),
    path: &Path<'_>,
    problems: &Diagnostics,
) -> Option<Fleet> {
    let fleet = set_given(Fleet::builder(), &keys.prefix, FleetBuilder::prefix);
    let fleet = set_given(fleet, &keys.wait, |fleet, wait| fleet.wait(wait.0));
    let report = |error: ConfigError| {
        let key = match &*error.field {
            "fleet.prefix" => "prefix",
            "fleet.wait" => "wait",
            // The URL is given by `redis` or by a variable.
            _ => key,
        };
        problems.add(&path.key(key), &"", error.allowed);
    };
    fleet.redis(url).map_err(report).ok()
}
