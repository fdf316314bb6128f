//! The built-in tables, one file for each family of services.
//!
//! Every row needs a source, a test case, and a case that must not match (`tests/it/dialect`). Rows that stop come
//! before rows that retry. A row may be *refused* only if the service documents that it did nothing, or rejects
//! requests before any processing.

mod clouds;
mod commerce;
pub(super) mod llm;
mod messages;
mod platforms;
mod records;
#[cfg(test)]
mod tests;

use super::{Dialect, Row, RowBuilder};
use http::HeaderName;
use http_retry_core::policy::rules::Condition;
use std::time::Duration;

const MINUTE: Duration = seconds(60);
const HOUR: Duration = seconds(60 * 60);

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Starts a row that matches responses with one of these statuses.
fn on(statuses: impl IntoIterator<Item = u16>) -> RowBuilder {
    Row::when().status(statuses)
}

/// Holds for responses without this header.
fn unless_head(name: HeaderName) -> Condition {
    !Condition::header(name)
}

/// Defines the built-in dialects, each with its service and the source of its facts: a constructor for each, and the
/// list of all.
macro_rules! dialects {
    ($($(#[$feature:meta])? $family:ident::$name:ident $what:literal, $source:literal $(, key $key:literal)?;)*) => {
        impl Dialect {
            $(
                $(#[$feature])?
                #[doc = concat!("The error responses of ", $what, ".\n\n# Source\n\n", $source, ".")]
                pub fn $name() -> Self {
                    let own = Self::built_in(stringify!($name), $source, $family::$name());
                    $(let own = own.key_header(HeaderName::from_static($key));)?
                    own
                }
            )*
        }

        /// The name of a dialect and its constructor.
        type Made = (&'static str, fn() -> Dialect);

        /// Every built-in dialect by its name.
        pub(super) const ALL: &[Made] = &[$($(#[$feature])? (stringify!($name), Dialect::$name)),*];
    };
}

dialects! {
    records::airtable "Airtable",
        "airtable.com/developers, rate limits";
    platforms::akamai "Akamai",
        "techdocs.akamai.com/cloudlets, 429";
    platforms::atlassian "Atlassian (Jira, Trello)",
        "developer.atlassian.com, Jira Cloud rate limiting and Trello rate limits; JRACLOUD-69262";
    platforms::auth0 "Auth0",
        "community.auth0.com 77440";
    clouds::aws "an AWS service",
        "boto/botocore retries/standard.py";
    clouds::azure "Azure (Resource Manager, Cosmos DB, Storage) or Microsoft Graph",
        "learn.microsoft.com: Cosmos DB status codes, Storage error codes, Resource Manager throttling; \
         azure-sdk-for-java, azure-cosmos/docs/StatusCodes.md; microsoft-graph-docs, concepts/errors.md";
    commerce::binance "Binance",
        "binance/binance-spot-api-docs, limits and errors; developers.binance.com, derivatives and portfolio margin, \
         HTTP return codes";
    messages::brevo "Brevo",
        "developers.brevo.com, limit headers";
    commerce::chargebee "Chargebee",
        "apidocs.chargebee.com, idempotent requests", key "chargebee-idempotency-key";
    records::contentful "Contentful",
        "contentful.com/developers, Content Management API, rate limits";
    platforms::datadog "Datadog",
        "docs.datadoghq.com, rate limits";
    messages::discord "Discord",
        "discord/discord-api-docs, rate limits";
    platforms::docker_hub "Docker Hub",
        "docs.docker.com, Docker Hub usage and pulls; Hub API reference";
    records::dropbox "Dropbox",
        "dropbox.com/developers, error handling; WriteError";
    platforms::elasticsearch "Elasticsearch",
        "elastic.co: rejected requests, circuit breaker errors";
    messages::emailit "Emailit",
        "emailit.com/docs, 429";
    messages::facebook "Facebook's Graph API (Meta)",
        "developers.facebook.com, Graph API rate limits and error handling; facebook/facebook-python-business-sdk";
    platforms::github "GitHub",
        "docs.github.com, rate limits for the REST API and the GraphQL API; octokit/plugin-throttling.js";
    platforms::gitlab "GitLab",
        "docs.gitlab.com, rate limits; gitlab-org/gitlab#199738, !206603";
    clouds::google "Google (Workspace, BigQuery, YouTube, Cloud)",
        "googleapis/google-api-python-client http.py; googleapis/python-bigquery retry.py; google.rpc.RetryInfo";
    platforms::grpc "a gRPC server, in answers without a body,",
        "grpc/proposal A6, client retries";
    records::hubspot "HubSpot",
        "HubSpot/hubspot-api-nodejs RetryDecorator; developers.hubspot.com, error handling";
    commerce::idempotency "a server of the draft on keys of idempotency",
        "draft-ietf-httpapi-idempotency-key-header, section 2.7";
    platforms::influxdb "InfluxDB Cloud",
        "influxdata/docs-v2, InfluxDB Cloud limits and write API";
    commerce::kraken "Kraken",
        "docs.kraken.com, Spot REST rate limits and error messages; support.kraken.com 360001491786; \
         knowm/XChange#4369";
    platforms::kubernetes "Kubernetes",
        "kubernetes.io, API priority and fairness; metav1.Status";
    platforms::linear "Linear",
        "linear.app/developers, rate limiting";
    llm::llm "an API of language models",
        "platform.openai.com, docs.anthropic.com, ai.google.dev, openrouter.ai: error codes and rate limits";
    messages::mailerlite "MailerLite",
        "developers-classic.mailerlite.com, API rate limits";
    records::mediawiki "MediaWiki (Wikipedia)",
        "mediawiki.org: Manual:Maxlag parameter, API:Errors and warnings";
    records::mod_io "mod.io",
        "docs.mod.io, rate limiting";
    records::monday "monday.com",
        "developer.monday.com, rate limits, error handling and changelog";
    clouds::oci "Oracle Cloud Infrastructure",
        "docs.oracle.com/iaas, API errors; oracle/oci-python-sdk retry_checkers.py", key "opc-retry-token";
    platforms::okta "Okta",
        "developer.okta.com, rate limit best practices";
    platforms::pagerduty "PagerDuty",
        "PagerDuty/developer-docs, Events API v1 and rate limits of the Events API";
    commerce::paypal "PayPal",
        "developer.paypal.com, idempotency and error messages", key "paypal-request-id";
    records::prisjakt "Prisjakt",
        "developer.prisjakt.nu, rate limit";
    records::riot "Riot Games",
        "developer.riotgames.com, rate limiting";
    clouds::s3 "Amazon S3",
        "docs.aws.amazon.com/AmazonS3, ErrorBestPractices and error codes";
    records::salesforce "Salesforce",
        "developer.salesforce.com, API request limits and status codes";
    messages::sendgrid "SendGrid",
        "twilio.com/docs/sendgrid, rate limits";
    commerce::shopify "Shopify",
        "shopify.dev, API limits and GraphQL status codes";
    messages::slack "Slack",
        "docs.slack.dev, rate limits and errors of the Web API";
    records::spotify "Spotify",
        "developer.spotify.com, rate limits and Web API changes of July 2026";
    commerce::stripe "Stripe",
        "docs.stripe.com, low-level errors and idempotent requests";
    messages::telegram "Telegram",
        "core.telegram.org/bots/api, ResponseParameters";
    messages::turn_io "turn.io",
        "whatsapp.turn.io/docs, rate limiting";
    messages::x "X",
        "docs.x.com, rate limits";
    commerce::xero "Xero",
        "developer.xero.com, API limits";
    records::zendesk "Zendesk",
        "developer.zendesk.com, rate limits";
    messages::zoom "Zoom",
        "developers.zoom.us, rate limits; devforum.zoom.us 18928";
}

/// Families, by the name of their dialect, and their members.
pub(super) const FAMILIES: [(&str, &str); 14] = [
    ("akamai", "akamai_cloudlets"),
    ("atlassian", "confluence jira trello"),
    ("aws", "dynamodb ec2 kinesis lambda route53"),
    (
        "azure",
        "azure_arm azure_cosmos azure_storage cosmos microsoft_graph",
    ),
    ("docker_hub", "docker"),
    ("facebook", "facebook_graph instagram meta"),
    (
        "google",
        "bigquery gmail google_calendar google_cloud google_drive google_sheets \
         google_workspace youtube",
    ),
    (
        "llm",
        "anthropic bedrock cohere deepseek gemini groq mistral openai openrouter xai",
    ),
    ("mediawiki", "wikipedia"),
    ("monday", "monday_com"),
    ("oci", "oracle oracle_cloud"),
    ("riot", "riot_games"),
    ("shopify", "shopify_graphql shopify_rest"),
    ("x", "twitter"),
];
