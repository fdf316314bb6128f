//! What one request goes by: a policy, its budgets, and where a failover leads.

mod budgets;
pub(crate) mod chains;
mod failover;
pub(crate) mod matching;
mod services;
mod success;

pub(crate) use budgets::Budgets;
pub(crate) use chains::{Broken, Chains};
pub(crate) use failover::{Rebase, is_same_server};
pub(crate) use services::{Service, Services};

use crate::budget::RetryBudget;
#[cfg(feature = "redis")]
use crate::fleet::Fleet;
use crate::gate::Quota;
use crate::policy::{Moment, Outcome, Overrides, RetryPolicy};
use crate::report::DeadLetters;
use http::uri::Scheme;
use http::{Method, Uri};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What one request goes by.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) policy: RetryPolicy,
    pub(crate) budget: Budgets,
    /// Whether a document names the budget.
    pub(crate) names_budget: bool,
    /// Shares nothing with other processes, whatever fleet its layer is in.
    pub(crate) alone: bool,
    /// The service's name in the document.
    pub(crate) service: Option<Arc<str>>,
    pub(crate) overrides: Overrides,
    /// The budgets that the policy's rules name.
    pub(crate) budgets: Arc<BTreeMap<Arc<str>, RetryBudget>>,
    /// The services that the policy's failovers name.
    pub(crate) destinations: Arc<BTreeMap<Arc<str>, Destination>>,
    /// The observer that the policy's `dead_letter` names.
    pub(crate) dead_letters: Arc<BTreeMap<Arc<str>, Arc<dyn DeadLetters>>>,
    /// Where the service is, as far as the document says.
    pub(crate) base: Option<Uri>,
    /// The request's head may be needed when nothing else is left of it.
    pub(crate) keeps_head: bool,
}

/// Another service, and where it is.
#[derive(Clone)]
pub(crate) struct Destination {
    pub(crate) base: Uri,
    pub(crate) service: Arc<dyn Choose>,
}

/// Finds the route of a request; another one may be found a moment later.
pub(crate) trait Choose: Send + Sync {
    fn choose(&self, head: &Head<'_>, service: Option<&str>) -> Arc<Route>;

    /// What the routes share with other processes.
    #[cfg(feature = "redis")]
    fn fleet(&self) -> Option<Fleet> {
        None
    }
}

/// What a route is chosen by.
#[derive(Clone, Default)]
pub(crate) struct Head<'a> {
    /// Nothing for an operation that is not HTTP.
    pub(crate) method: Option<&'a Method>,
    pub(crate) scheme: Option<&'a str>,
    /// Host and port.
    pub(crate) authority: Option<Cow<'a, str>>,
    pub(crate) path: &'a str,
}

impl Route {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self {
            keeps_head: policy.may_respond(),
            policy,
            budget: Budgets::One(RetryBudget::default()),
            names_budget: false,
            alone: false,
            service: None,
            overrides: Overrides::Allow,
            budgets: Arc::default(),
            destinations: Arc::default(),
            dead_letters: Arc::default(),
            base: None,
        }
    }

    /// The way from this service to another one.
    pub(crate) fn way_to(&self, there: &Destination) -> Rebase {
        Rebase {
            from: self.base.clone(),
            to: there.base.clone(),
            credentials: Vec::new(),
        }
    }

    /// What a response says of a quota, as far as calls on this route wait for it. A pause that no call would sit out helps
    /// nobody: the next one learns by itself that it is refused.
    pub(crate) fn quota(&self, outcome: &Outcome<'_>, at: Moment) -> Option<Quota> {
        let quota = outcome.quota(at.wall).map(Quota::from);
        quota.filter(|quota| self.policy.would_wait(quota.reset()))
    }

    /// Whether a success needs no rule, and is counted in one budget.
    pub(crate) fn is_silent(&self) -> bool {
        self.policy.streams().is_none()
            && !self.policy.reads_whole_answers()
            && self.policy.takes_successes_as_they_are()
            && self.budgets.is_empty()
            && !self.keeps_head
    }
}

/// Host and port that a URI names, or that `host` does: without user info, in lower case, and without the port that goes
/// without saying.
#[inline]
pub(crate) fn public_authority<'a>(
    uri: &'a Uri,
    host: impl FnOnce() -> Option<&'a str>,
) -> Option<Cow<'a, str>> {
    match uri.authority() {
        Some(authority) => Some(public(uri, authority.as_str())),
        None => host().map(|host| public(uri, host)),
    }
}

fn public<'a>(uri: &Uri, authority: &'a str) -> Cow<'a, str> {
    // Most authorities have neither, which a look at eight bytes at a time shows.
    if has_at_or_capital(authority.as_bytes()) {
        return Cow::Owned(made_public(uri, authority));
    }
    Cow::Borrowed(without_default_port(uri, authority))
}

#[cold]
#[inline(never)]
fn made_public(uri: &Uri, authority: &str) -> String {
    let (_, public) = authority.rsplit_once('@').unwrap_or(("", authority));
    without_default_port(uri, public).to_ascii_lowercase()
}

#[inline]
fn without_default_port<'a>(uri: &Uri, authority: &'a str) -> &'a str {
    match authority.as_bytes() {
        [.., b':', b'8', b'0'] => without_port_of(&Scheme::HTTP, uri, authority),
        [.., b':', b'4', b'4', b'3'] => without_port_of(&Scheme::HTTPS, uri, authority),
        _ => authority,
    }
}

#[cold]
#[inline(never)]
fn without_port_of<'a>(default_of: &Scheme, uri: &Uri, authority: &'a str) -> &'a str {
    let parts = authority.rsplit_once(':');
    let parts = parts.filter(|_| uri.scheme() == Some(default_of));
    parts.map_or(authority, |(host, _)| host)
}

/// Whether a text has an `@` or a capital letter, which follow each other in ASCII.
#[inline(always)]
fn has_at_or_capital(text: &[u8]) -> bool {
    let has = |bytes: &[u8]| {
        let found = |found, byte| found | (b'@'..=b'Z').contains(byte);
        bytes.iter().fold(false, found)
    };
    match text.last_chunk::<8>() {
        Some(last) => has(last) || text.chunks_exact(8).any(has),
        None => has(text),
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("service", &self.service)
            .field("policy", &self.policy)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_public_wherever_its_capitals_and_user_stand() {
        let public = |uri: &str| {
            let uri: Uri = uri.parse().unwrap();
            public_authority(&uri, || None).map(Cow::into_owned)
        };
        for length in 1..20 {
            let host = "a".repeat(length);
            let named = public(&format!("http://{host}:8080/A@B"));
            assert_eq!(named, Some(format!("{host}:8080")));
            let user = public(&format!("https://{host}:B@{host}:443"));
            assert_eq!(user.as_ref(), Some(&host));
            for at in 0..length {
                let mut capital = host.clone();
                capital.replace_range(at..=at, "A");
                let named = public(&format!("http://{capital}:80/"));
                assert_eq!(named.as_ref(), Some(&host), "{capital}");
            }
        }
        assert_eq!(public("https://a:80/").as_deref(), Some("a:80"));
        assert_eq!(public("http://a:443/").as_deref(), Some("a:443"));
    }
}
