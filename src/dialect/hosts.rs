//! Which dialect a host speaks.

use super::Dialect;

/// Hosts, and the dialects that they speak: exact, or `*` for the first labels.
const HOSTS: [(&str, &str); 46] = [
    ("api.github.com", "github"),
    ("gitlab.com", "gitlab"),
    ("*.atlassian.net", "atlassian"),
    ("api.atlassian.com", "atlassian"),
    ("api.trello.com", "atlassian"),
    ("api.linear.app", "linear"),
    ("*.googleapis.com", "google"),
    ("*.amazonaws.com", "aws"),
    ("management.azure.com", "azure"),
    ("*.documents.azure.com", "azure"),
    ("*.blob.core.windows.net", "azure"),
    ("*.queue.core.windows.net", "azure"),
    ("*.table.core.windows.net", "azure"),
    ("graph.microsoft.com", "azure"),
    ("api.stripe.com", "stripe"),
    ("*.myshopify.com", "shopify"),
    ("api-m.paypal.com", "paypal"),
    ("*.chargebee.com", "chargebee"),
    ("slack.com", "slack"),
    ("hooks.slack.com", "slack"),
    ("discord.com", "discord"),
    ("api.telegram.org", "telegram"),
    ("api.zoom.us", "zoom"),
    ("whatsapp.turn.io", "turn_io"),
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
    ("hub.docker.com", "docker_hub"),
    ("registry-1.docker.io", "docker_hub"),
    ("*.datadoghq.com", "datadog"),
    ("*.datadoghq.eu", "datadog"),
    ("*.okta.com", "okta"),
    ("*.auth0.com", "auth0"),
    ("api.sendgrid.com", "sendgrid"),
    ("api.emailit.com", "emailit"),
    ("api.brevo.com", "brevo"),
];

/// All hosts with their dialects.
pub(super) fn all() -> Vec<(String, Dialect)> {
    let known = HOSTS.iter().filter_map(|(host, name)| {
        let dialect = match *name {
            // One host name for all of Amazon's services.
            "aws" => Dialect::s3().and(Dialect::aws()),
            name => Dialect::get(name).ok()?,
        };
        Some(((*host).to_owned(), dialect))
    });
    known.collect()
}

/// Whether a text is a host without a port, perhaps with a `*` for its first labels, in lower case.
pub(super) fn is_pattern(text: &str) -> bool {
    let host = text.strip_prefix("*.").unwrap_or(text);
    let is_address = host.starts_with('[') && host.ends_with(']');
    let is_name = !host.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    !host.is_empty() && (is_name || is_address)
}

/// The host of an authority, in lower case and without its port.
pub(super) fn host_of(authority: &str) -> String {
    without_port(authority).to_ascii_lowercase()
}

/// An authority without its port, if it has one.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Whether a host is what a pattern says, which may have a `*` for the first labels; both in lower case.
pub(crate) fn is_at(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => host.len() > end.len() && host.ends_with(end),
        None => host == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialects;
    use crate::policy::{ErrorBody, RequestLine};
    use crate::{Class, Outcome, RetryPolicy};
    use http::{HeaderMap, Method, StatusCode};

    #[test]
    fn a_host_may_speak_less_than_another_by_that_name() {
        let dialects = Dialects::by_host().host("minio.example", Dialect::s3());
        let policy = RetryPolicy::background().to_builder().dialects(dialects);
        let policy = policy.build().unwrap();
        let body = ErrorBody::read(br#"{"__type": "ThrottlingException"}"#);
        let class = |host: &str| {
            let headers = HeaderMap::new();
            let request = RequestLine::new(&Method::POST, host, "/", &headers);
            let outcome = Outcome::response(StatusCode::BAD_REQUEST, &headers);
            let outcome = outcome.of_request(&request).with_body(&body);
            policy.classify(outcome).class()
        };
        assert_eq!(class("dynamodb.eu-west-1.amazonaws.com"), Class::Throttled);
        assert_eq!(class("minio.example"), Class::Permanent);
    }

    #[test]
    fn a_host_that_no_request_has_is_refused() {
        let built = |host: &str| {
            let dialects = Dialects::by_host().host(host, Dialect::github());
            let policy = RetryPolicy::background().to_builder().dialects(dialects);
            policy.build().map(drop)
        };
        for host in [
            "github.example",
            "*.Example.com",
            "a_b.example",
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
        ] {
            let error = built(host).unwrap_err().to_string();
            let wanted = "dialects.host: this text is not allowed: must be a host without a port: api.example.com or *.example.com";
            assert_eq!(error, wanted, "{host}");
        }
    }
}
