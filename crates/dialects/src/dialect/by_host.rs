//! Dialects by host.

use super::Dialect;
use http_retry_core::policy::{Classify, Pointer, Verdict};
use http_retry_core::settings::{HostMap, host_pattern};
use http_retry_core::{ConfigError, Outcome};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A map from hosts to dialects: `api.github.com` uses `github`, and so on.
///
/// The host in a URL does not prove which server responds (there are proxies, test servers and look-alikes), so a
/// policy uses this map only if it is set. A host that is not in the map has no dialect.
///
/// ```
/// use http::{HeaderMap, Method, StatusCode};
/// use http_retry::dialect::{Dialect, Dialects};
/// use http_retry::route::RequestHead;
/// use http_retry::{Class, Outcome, RetryPolicy};
///
/// let dialects = Dialects::by_host().host("*.git.example", Dialect::github());
/// let policy = RetryPolicy::background().to_builder().dialect(dialects).build()?;
///
/// let headers = HeaderMap::from_iter([("x-ratelimit-remaining".parse()?, 0.into())]);
/// let judged = |host: &str| {
///     let uri = format!("https://{host}/user").parse().unwrap();
///     let request = RequestHead::new(&Method::GET, &uri);
///     let answer = Outcome::response(StatusCode::FORBIDDEN, &headers);
///     policy.classify(answer.of_request(&request)).class()
/// };
/// assert_eq!(judged("api.git.example"), Class::Throttled);
/// assert_eq!(judged("shop.example"), Class::Permanent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Dialects {
    /// The built-in hosts, then those that were added.
    hosts: Vec<(String, Dialect)>,
    /// The index in `hosts` by host.
    by_host: HostMap<u32>,
    inspect_success: bool,
}

/// The most hosts: a row's number has 16 bits for the index of its host.
const MAX_HOSTS: usize = 1 << ROW_BITS;

impl Dialects {
    /// Creates the map of the built-in dialects and their public hosts, such as `api.github.com` and `*.amazonaws.com`:
    /// 105 hosts. Services that run on their users' own hosts, such as Kubernetes, are not in it.
    pub fn by_host() -> Self {
        let empty = Self {
            hosts: Vec::new(),
            by_host: HostMap::default(),
            inspect_success: false,
        };
        let built_in = HOSTS.iter().filter_map(|(host, name)| {
            let dialect = match *name {
                // All of Amazon's services share one host pattern.
                "aws" => Dialect::s3().and(Dialect::aws()),
                name => Dialect::get(name).ok()?,
            };
            Some((*host, dialect))
        });
        built_in.fold(empty, |all, (host, dialect)| all.host(host, dialect))
    }

    /// Adds a host, such as `api.example.com` or `*.example.com`, and its dialect. If several patterns match a request,
    /// the one that was added last decides. The port of a request is ignored. The policy's `build` rejects a host with
    /// a port, anything that is not a host, and more than 65,536 hosts, the built-in ones included.
    pub fn host(mut self, host: impl Into<String>, dialect: Dialect) -> Self {
        let host = host.into();
        // `check` rejects what is no pattern.
        let host = host_pattern(&host).unwrap_or_else(|_| host.to_ascii_lowercase());
        // `check` rejects a table in which this index does not fit.
        let index = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        self.by_host.insert(&host, index);
        self.hosts.push((host, dialect));
        self
    }

    /// Sets whether the bodies of successes are read if a table asks for it. Default `false`, since such a response
    /// would otherwise be held up for its body because of a host name alone.
    pub fn inspect_success(self, inspect_success: bool) -> Self {
        Self {
            inspect_success,
            ..self
        }
    }
}

impl Dialects {
    /// Returns the dialect of the host that a request went to, and its index in the list.
    fn of(&self, outcome: &Outcome<'_>) -> Option<(u32, &Dialect)> {
        let index = *self.by_host.get(outcome.request()?.host()?).max()?;
        let (_, dialect) = self.hosts.get(usize::try_from(index).ok()?)?;
        Some((index, dialect))
    }
}

/// A row's number has the index of its dialect in the upper half, and its own index in the lower.
const ROW_BITS: u32 = 16;

/// The settings for idempotency keys are not taken from these dialects, since the host name is no proof of the service.
impl Classify for Dialects {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let (index, dialect) = self.of(outcome)?;
        dialect.verdict(outcome, self.inspect_success, index << ROW_BITS)
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        let dialect = self.of(outcome);
        dialect.is_some_and(|(_, dialect)| dialect.is_unread(outcome, self.inspect_success))
    }

    fn judges_successes(&self) -> bool {
        self.hosts
            .iter()
            .any(|(_, dialect)| dialect.judges_successes())
    }

    fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        let dialect = self.of(outcome);
        dialect.map_or_else(Vec::new, |(_, dialect)| dialect.pointers(outcome))
    }

    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        let index = usize::try_from(row >> ROW_BITS).ok()?;
        let (_, dialect) = self.hosts.get(index)?;
        dialect.row_name(row & ((1 << ROW_BITS) - 1))
    }

    fn describe(&self) -> Vec<String> {
        let names: BTreeSet<&str> = self
            .hosts
            .iter()
            .map(|(_, dialect)| dialect.name())
            .collect();
        let (hosts, tables) = (self.hosts.len(), names.len());
        vec![format!(
            "dialect by host: {tables} tables for {hosts} hosts"
        )]
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.hosts.len() > MAX_HOSTS {
            let (count, allowed) = (self.hosts.len(), format!("must be at most {MAX_HOSTS}"));
            return Err(ConfigError::new(
                "dialects.hosts",
                count.to_string(),
                allowed,
            ));
        }
        for (host, dialect) in &self.hosts {
            if !is_pattern(host) {
                let allowed = "must be a host without a port: api.example.com or *.example.com";
                return Err(ConfigError::new("dialects.host", "this text", allowed));
            }
            dialect.check()?;
        }
        Ok(())
    }
}

/// Hosts, exact or with `*` for the first labels, and the names of their dialects.
const HOSTS: [(&str, &str); 105] = [
    ("api.github.com", "github"),
    ("gitlab.com", "gitlab"),
    ("*.atlassian.net", "atlassian"),
    ("api.atlassian.com", "atlassian"),
    ("api.trello.com", "atlassian"),
    ("api.linear.app", "linear"),
    ("api.monday.com", "monday"),
    ("*.googleapis.com", "google"),
    ("*.amazonaws.com", "aws"),
    ("management.azure.com", "azure"),
    ("*.documents.azure.com", "azure"),
    ("*.blob.core.windows.net", "azure"),
    ("*.queue.core.windows.net", "azure"),
    ("*.table.core.windows.net", "azure"),
    ("graph.microsoft.com", "azure"),
    ("*.oraclecloud.com", "oci"),
    ("api.kraken.com", "kraken"),
    ("*.binance.com", "binance"),
    ("api.stripe.com", "stripe"),
    ("*.myshopify.com", "shopify"),
    ("api-m.paypal.com", "paypal"),
    ("*.chargebee.com", "chargebee"),
    ("api.xero.com", "xero"),
    ("slack.com", "slack"),
    ("hooks.slack.com", "slack"),
    ("discord.com", "discord"),
    ("api.telegram.org", "telegram"),
    ("api.zoom.us", "zoom"),
    ("whatsapp.turn.io", "turn_io"),
    ("graph.facebook.com", "facebook"),
    ("graph.instagram.com", "facebook"),
    ("api.x.com", "x"),
    ("api.twitter.com", "x"),
    ("api.hubapi.com", "hubspot"),
    ("*.zendesk.com", "zendesk"),
    ("api.airtable.com", "airtable"),
    ("*.salesforce.com", "salesforce"),
    ("api.dropboxapi.com", "dropbox"),
    ("content.dropboxapi.com", "dropbox"),
    ("*.wikipedia.org", "mediawiki"),
    ("*.wikimedia.org", "mediawiki"),
    ("www.wikidata.org", "mediawiki"),
    ("*.modapi.io", "mod_io"),
    ("api.mod.io", "mod_io"),
    ("api.spotify.com", "spotify"),
    ("*.api.riotgames.com", "riot"),
    ("*.contentful.com", "contentful"),
    ("hub.docker.com", "docker_hub"),
    ("registry-1.docker.io", "docker_hub"),
    ("*.datadoghq.com", "datadog"),
    ("*.datadoghq.eu", "datadog"),
    ("*.pagerduty.com", "pagerduty"),
    ("*.cloud2.influxdata.com", "influxdb"),
    ("*.okta.com", "okta"),
    ("*.auth0.com", "auth0"),
    ("api.sendgrid.com", "sendgrid"),
    ("api.emailit.com", "emailit"),
    ("api.brevo.com", "brevo"),
    ("api.mailerlite.com", "mailerlite"),
    ("connect.mailerlite.com", "mailerlite"),
    ("raw.githubusercontent.com", "github"),
    ("sentry.io", "sentry"),
    ("*.sentry.io", "sentry"),
    ("api.bitbucket.org", "atlassian"),
    ("api.opsgenie.com", "atlassian"),
    ("api.statuspage.io", "atlassian"),
    ("*.akamaiapis.net", "akamai"),
    ("api.cloudflare.com", "cloudflare"),
    ("api.fastly.com", "fastly"),
    ("api.hetzner.cloud", "hetzner"),
    ("*.aliyuncs.com", "alibaba_cloud"),
    ("*.tencentcloudapi.com", "tencent_cloud"),
    ("api.bybit.com", "bybit"),
    ("www.okx.com", "okx"),
    ("api.kucoin.com", "kucoin"),
    ("api.gateio.ws", "gate"),
    ("pro-api.coinmarketcap.com", "coinmarketcap"),
    ("api.cloudinary.com", "cloudinary"),
    ("api.linkedin.com", "linkedin"),
    ("api.resend.com", "resend"),
    ("quickbooks.api.intuit.com", "quickbooks"),
    ("*.docusign.net", "docusign"),
    ("matrix-client.matrix.org", "matrix"),
    ("open.feishu.cn", "feishu"),
    ("open.larksuite.com", "feishu"),
    ("api.dingtalk.com", "dingtalk"),
    ("oapi.dingtalk.com", "dingtalk"),
    ("api.weixin.qq.com", "wechat"),
    ("qyapi.weixin.qq.com", "wechat"),
    ("api.vk.com", "vk"),
    ("verify.twilio.com", "twilio"),
    ("api.push.apple.com", "apns"),
    ("api.notion.com", "notion"),
    ("services.leadconnectorhq.com", "highlevel"),
    ("api.smartsheet.com", "smartsheet"),
    ("api.moysklad.ru", "moysklad"),
    ("*.sec.gov", "sec"),
    ("api.crossref.org", "crossref"),
    ("musicbrainz.org", "musicbrainz"),
    ("api.firecrawl.dev", "firecrawl"),
    ("www.strava.com", "strava"),
    ("esi.evetech.net", "esi"),
    ("*.infura.io", "infura"),
    ("*.g.alchemy.com", "alchemy"),
    ("api.etherscan.io", "etherscan"),
];

/// Returns `true` if a text is a host without a port, in lower case, with an optional `*` for its first labels.
fn is_pattern(text: &str) -> bool {
    let host = text.strip_prefix("*.").unwrap_or(text);
    let is_address = host.starts_with('[') && host.ends_with(']');
    let is_name =
        !host.contains(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    !host.is_empty() && (is_name || is_address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialects;
    use http::{HeaderMap, Method, StatusCode};
    use http_retry_core::policy::ErrorBody;
    use http_retry_core::route::RequestHead;
    use http_retry_core::{Class, Outcome, RetryPolicy};

    #[test]
    fn a_host_may_speak_less_than_another_by_that_name() {
        let dialects = Dialects::by_host().host("minio.example", Dialect::s3());
        let policy = RetryPolicy::background().to_builder().dialect(dialects);
        let policy = policy.build().unwrap();
        let body = ErrorBody::read(br#"{"__type": "ThrottlingException"}"#);
        let class = |host: &str| {
            let headers = HeaderMap::new();
            let uri = format!("https://{host}/").parse().unwrap();
            let request = RequestHead::new(&Method::POST, &uri);
            let outcome = Outcome::response(StatusCode::BAD_REQUEST, &headers);
            let outcome = outcome.of_request(&request).with_body(&body);
            policy.classify(outcome).class()
        };
        assert_eq!(class("dynamodb.eu-west-1.amazonaws.com"), Class::Throttled);
        assert_eq!(class("minio.example"), Class::Permanent);
    }

    #[test]
    fn each_host_of_the_map_has_a_built_in_dialect() {
        let built_in = Dialects::by_host();
        let hosts: Vec<&str> = built_in
            .hosts
            .iter()
            .map(|(host, _)| host.as_str())
            .collect();
        assert_eq!(hosts, HOSTS.map(|(host, _)| host));
        assert_eq!(built_in.check(), Ok(()));
    }

    #[test]
    fn a_host_that_no_request_has_is_refused() {
        let built = |host: &str| {
            let dialects = Dialects::by_host().host(host, Dialect::github());
            let policy = RetryPolicy::background().to_builder().dialect(dialects);
            policy.build().map(drop)
        };
        for host in [
            "github.example",
            "*.Example.com",
            "a_b.example",
            "github.example.",
            "[::1]",
            "localhost",
        ] {
            assert_eq!(built(host), Ok(()), "{host}");
        }
        for host in [
            "a:8443",
            "https://a",
            "a/v1",
            "me@a",
            "",
            "*",
            "*a",
            "a.*.b",
            "a b",
            "::1",
            "b\u{fc}cher.example",
        ] {
            let error = built(host).unwrap_err().to_string();
            let wanted = "dialects.host: this text is not allowed: must be a host without a port: api.example.com or *.example.com";
            assert_eq!(error, wanted, "{host}");
        }
    }
}
