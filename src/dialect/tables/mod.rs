//! The built-in tables, one file for each family of services.
//!
//! A row needs a source, a case and a case that must not match (`tests/it/dialect`). Rows that stop stand before rows
//! that retry. A row says *refused* only where the service says that it did nothing, or turns requests away at its door.

mod amazon;
mod azure;
mod forges;
mod google;
#[cfg(feature = "llm")]
pub(super) mod llm;
mod mail;
mod payment;
mod platforms;
mod records;
mod talk;
#[cfg(test)]
mod tests;

use super::Dialect;
use std::time::Duration;

const MINUTE: Duration = seconds(60);
const HOUR: Duration = seconds(60 * 60);

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The built-in dialects: a constructor for each, and the list of all.
macro_rules! dialects {
    ($($(#[$feature:meta])? $family:ident::$name:ident $what:literal,)*) => {
        impl Dialect {
            $(
                $(#[$feature])?
                #[doc = concat!("What ", $what, " means by its answers.")]
                pub fn $name() -> Self {
                    $family::$name()
                }
            )*
        }

        /// A name, and what makes the dialect.
        type Made = (&'static str, fn() -> Dialect);

        /// Every built-in dialect by its name.
        pub(super) const ALL: &[Made] = &[$($(#[$feature])? (stringify!($name), $family::$name)),*];
    };
}

dialects! {
    platforms::akamai "Akamai",
    records::airtable "Airtable",
    forges::atlassian "Atlassian (Jira, Trello)",
    platforms::auth0 "Auth0",
    amazon::aws "an AWS service",
    azure::azure "Azure (Resource Manager, Cosmos DB, Storage) or Microsoft Graph",
    mail::brevo "Brevo",
    payment::chargebee "Chargebee",
    platforms::datadog "Datadog",
    talk::discord "Discord",
    platforms::docker_hub "Docker Hub",
    records::dropbox "Dropbox",
    platforms::elasticsearch "Elasticsearch",
    mail::emailit "Emailit",
    forges::github "GitHub",
    forges::gitlab "GitLab",
    google::google "Google (Workspace, BigQuery, YouTube, Cloud)",
    platforms::grpc "a gRPC server, in answers without a body,",
    records::hubspot "HubSpot",
    payment::idempotency "a server of the draft on keys of idempotency",
    platforms::kubernetes "Kubernetes",
    forges::linear "Linear",
    #[cfg(feature = "llm")] llm::llm "an API of language models",
    records::mediawiki "MediaWiki (Wikipedia)",
    records::mod_io "mod.io",
    platforms::okta "Okta",
    payment::paypal "PayPal",
    records::prisjakt "Prisjakt",
    amazon::s3 "Amazon S3",
    records::salesforce "Salesforce",
    mail::sendgrid "SendGrid",
    payment::shopify "Shopify",
    talk::slack "Slack",
    payment::stripe "Stripe",
    talk::telegram "Telegram",
    talk::turn_io "turn.io",
    talk::x "X",
    records::zendesk "Zendesk",
    talk::zoom "Zoom",
}

/// The members of families, and the dialects that they speak.
pub(super) const MEMBERS: [(&str, &str); 37] = [
    ("akamai_cloudlets", "akamai"),
    ("anthropic", "llm"),
    ("azure_arm", "azure"),
    ("azure_cosmos", "azure"),
    ("azure_storage", "azure"),
    ("bedrock", "llm"),
    ("bigquery", "google"),
    ("cohere", "llm"),
    ("confluence", "atlassian"),
    ("cosmos", "azure"),
    ("deepseek", "llm"),
    ("docker", "docker_hub"),
    ("dynamodb", "aws"),
    ("ec2", "aws"),
    ("gemini", "llm"),
    ("gmail", "google"),
    ("google_calendar", "google"),
    ("google_cloud", "google"),
    ("google_drive", "google"),
    ("google_sheets", "google"),
    ("google_workspace", "google"),
    ("groq", "llm"),
    ("jira", "atlassian"),
    ("kinesis", "aws"),
    ("lambda", "aws"),
    ("microsoft_graph", "azure"),
    ("mistral", "llm"),
    ("openai", "llm"),
    ("openrouter", "llm"),
    ("route53", "aws"),
    ("shopify_graphql", "shopify"),
    ("shopify_rest", "shopify"),
    ("trello", "atlassian"),
    ("twitter", "x"),
    ("wikipedia", "mediawiki"),
    ("xai", "llm"),
    ("youtube", "google"),
];
