//! The built-in tables, one file for each family of services.
//!
//! Every row needs a source, a test case, and a case that must not match (`tests/it/dialect`). Rows that stop come
//! before rows that retry. A row may be *refused* only if the service documents that it did nothing, or rejects
//! requests before any processing.

mod clouds;
mod commerce;
mod data;
pub(super) mod llm;
mod messages;
mod platforms;
mod records;
#[cfg(test)]
mod tests;

use super::{Dialect, Row, RowBuilder};
use http::HeaderName;
use http_retry_rules::Condition;
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

/// Holds for responses whose body has one of these words.
fn says<const N: usize>(words: [&str; N]) -> Condition {
    Condition::any(words.map(Condition::message).into_iter().flatten())
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
        "techdocs.akamai.com: 429 of Cloudlets, CPS, mTLS Edge Truststore and mTLS Origin Keystore";
    data::alchemy "Alchemy",
        "alchemy.com/docs, throughput and error reference";
    clouds::alibaba_cloud "Alibaba Cloud",
        "alibabacloud.com/help, OpenAPI: throttling and error codes";
    messages::apns "Apple's push notifications",
        "developer.apple.com, handling notification responses from APNs";
    platforms::atlassian "Atlassian (Jira, Trello, Opsgenie, Statuspage)",
        "developer.atlassian.com, Jira Cloud rate limiting and Trello rate limits; JRACLOUD-69262; docs.opsgenie.com, \
         API rate limiting; developer.statuspage.io, rate limiting";
    platforms::auth0 "Auth0",
        "community.auth0.com 77440";
    clouds::aws "an AWS service",
        "boto/botocore retries/standard.py; docs.aws.amazon.com: DynamoDB and Kinesis errors";
    clouds::azure "Azure (Resource Manager, Cosmos DB, Storage) or Microsoft Graph",
        "learn.microsoft.com: Cosmos DB status codes, Storage error codes, Resource Manager throttling; \
         azure-sdk-for-java, azure-cosmos/docs/StatusCodes.md; microsoft-graph-docs, concepts/errors.md";
    commerce::binance "Binance",
        "binance/binance-spot-api-docs, limits and errors; developers.binance.com, derivatives and portfolio margin, \
         HTTP return codes";
    messages::brevo "Brevo",
        "developers.brevo.com, limit headers";
    commerce::bybit "Bybit",
        "bybit-exchange.github.io/docs/v5, rate limit and error codes";
    commerce::chargebee "Chargebee",
        "apidocs.chargebee.com, idempotent requests", key "chargebee-idempotency-key";
    platforms::cloudflare "Cloudflare",
        "developers.cloudflare.com, error responses";
    records::cloudinary "Cloudinary",
        "cloudinary.com/documentation, Admin API: usage limits; yoelpc4/laravel-cloudinary#11";
    commerce::coinmarketcap "CoinMarketCap",
        "coinmarketcap.com/api, errors and rate limits";
    records::contentful "Contentful",
        "contentful.com/developers, Content Management API, rate limits";
    data::crossref "Crossref",
        "crossref.org, REST API: access and authentication";
    platforms::datadog "Datadog",
        "docs.datadoghq.com, rate limits";
    messages::dingtalk "DingTalk",
        "open.dingtalk.com, limits of calls";
    messages::discord "Discord",
        "discord/discord-api-docs, rate limits";
    platforms::docker_hub "Docker Hub",
        "docs.docker.com, Docker Hub usage and pulls; Hub API reference";
    records::docusign "DocuSign",
        "developers.docusign.com, rules and limits";
    records::dropbox "Dropbox",
        "dropbox.com/developers, error handling; WriteError";
    platforms::elasticsearch "Elasticsearch",
        "elastic.co: rejected requests, circuit breaker errors";
    messages::emailit "Emailit",
        "emailit.com/docs, 429";
    data::esi "EVE Online's ESI",
        "developers.eveonline.com, ESI rate limiting and best practices";
    data::etherscan "Etherscan",
        "docs.etherscan.io, rate limits and common error messages";
    messages::facebook "Facebook's Graph API (Meta)",
        "developers.facebook.com, Graph API rate limits and error handling; facebook/facebook-python-business-sdk";
    platforms::fastly "Fastly",
        "fastly.com/documentation, API rate limiting";
    messages::feishu "Feishu (Lark)",
        "open.feishu.cn, rate limits";
    data::firecrawl "Firecrawl",
        "firecrawl/firecrawl#190; dzhng/deep-research#30";
    commerce::gate "Gate",
        "gate.io/docs/developers/apiv4, rate limits";
    platforms::github "GitHub",
        "docs.github.com, rate limits for the REST API and the GraphQL API, troubleshooting the REST API; \
         octokit/plugin-throttling.js";
    platforms::gitlab "GitLab",
        "docs.gitlab.com, rate limits; gitlab-org/gitlab#199738, !206603";
    clouds::google "Google (Workspace, BigQuery, YouTube, Maps, Cloud)",
        "googleapis/google-api-python-client http.py; googleapis/python-bigquery retry.py; google.rpc.RetryInfo; \
         cloud.google.com/storage, quotas and 429; firebase.google.com, FCM error codes; developers.google.com: Maps \
         status codes, Ads quota errors";
    platforms::grpc "a gRPC server, in answers without a body,",
        "grpc/proposal A6, client retries";
    platforms::hetzner "Hetzner Cloud",
        "docs.hetzner.cloud, errors; hetznercloud/hcloud-go";
    records::highlevel "HighLevel",
        "marketplace.gohighlevel.com/docs, rate limits";
    records::hubspot "HubSpot",
        "HubSpot/hubspot-api-nodejs RetryDecorator; developers.hubspot.com, error handling";
    commerce::idempotency "a server of the draft on keys of idempotency",
        "draft-ietf-httpapi-idempotency-key-header, section 2.7";
    platforms::influxdb "InfluxDB Cloud",
        "influxdata/docs-v2, InfluxDB Cloud limits and write API";
    data::infura "Infura",
        "INFURA/infura#201; MetaMask/eth-json-rpc-infura#33: rate limits of the JSON-RPC API";
    commerce::kraken "Kraken",
        "docs.kraken.com, Spot REST rate limits and error messages; support.kraken.com 360001491786; \
         knowm/XChange#4369";
    platforms::kubernetes "Kubernetes",
        "kubernetes.io, API priority and fairness; metav1.Status";
    commerce::kucoin "KuCoin",
        "kucoin.com/docs-new, rate limit";
    platforms::linear "Linear",
        "linear.app/developers, rate limiting";
    messages::linkedin "LinkedIn",
        "learn.microsoft.com/linkedin, rate limiting and error handling";
    llm::llm "an API of language models",
        "platform.openai.com, docs.anthropic.com, ai.google.dev, openrouter.ai: error codes and rate limits";
    messages::mailerlite "MailerLite",
        "developers-classic.mailerlite.com, API rate limits";
    messages::matrix "Matrix",
        "spec.matrix.org, client-server API: rate limiting; matrix-org/matrix-spec-proposals#4041";
    records::mediawiki "MediaWiki (Wikipedia)",
        "mediawiki.org: Manual:Maxlag parameter, API:Errors and warnings";
    records::mod_io "mod.io",
        "docs.mod.io, rate limiting";
    records::monday "monday.com",
        "developer.monday.com, rate limits, error handling and changelog";
    records::moysklad "MoySklad",
        "moysklad/api-remap-1.2-doc, limits";
    data::musicbrainz "MusicBrainz",
        "musicbrainz.org, API rate limiting";
    records::notion "Notion",
        "developers.notion.com, request limits; makenotion/notion-sdk-js#727";
    clouds::oci "Oracle Cloud Infrastructure",
        "docs.oracle.com/iaas, API errors; oracle/oci-python-sdk retry_checkers.py", key "opc-retry-token";
    platforms::okta "Okta",
        "developer.okta.com, rate limit best practices";
    commerce::okx "OKX",
        "okx.com/docs-v5, error codes and rate limits";
    platforms::pagerduty "PagerDuty",
        "PagerDuty/developer-docs, Events API v1 and rate limits of the Events API";
    commerce::paypal "PayPal",
        "developer.paypal.com, idempotency and error messages", key "paypal-request-id";
    records::prisjakt "Prisjakt",
        "developer.prisjakt.nu, rate limit";
    records::quickbooks "QuickBooks Online",
        "developer.intuit.com, API call limits and throttles";
    messages::resend "Resend",
        "resend.com/docs, API errors";
    records::riot "Riot Games",
        "developer.riotgames.com, rate limiting";
    clouds::s3 "Amazon S3",
        "docs.aws.amazon.com/AmazonS3, ErrorBestPractices and error codes";
    records::salesforce "Salesforce",
        "developer.salesforce.com, API request limits and status codes";
    data::sec "the SEC's EDGAR",
        "sec.gov, accessing EDGAR data and privacy and security policy";
    messages::sendgrid "SendGrid",
        "twilio.com/docs/sendgrid, rate limits";
    platforms::sentry "Sentry",
        "docs.sentry.io/api/ratelimits; develop.sentry.dev, rate limiting; getsentry/develop#342, #479";
    commerce::shopify "Shopify",
        "shopify.dev, API limits and GraphQL status codes";
    messages::slack "Slack",
        "docs.slack.dev, rate limits and errors of the Web API";
    records::smartsheet "Smartsheet",
        "developers.smartsheet.com, rate limiting and error codes";
    records::spotify "Spotify",
        "developer.spotify.com, rate limits and Web API changes of July 2026";
    data::strava "Strava",
        "developers.strava.com, rate limits";
    commerce::stripe "Stripe",
        "docs.stripe.com, rate limits, low-level errors and idempotent requests";
    messages::telegram "Telegram",
        "core.telegram.org/bots/api, ResponseParameters";
    clouds::tencent_cloud "Tencent Cloud",
        "tencentcloud.com/document, API 3.0: responses and common error codes";
    messages::turn_io "turn.io",
        "whatsapp.turn.io/docs, rate limiting";
    messages::twilio "Twilio",
        "twilio.com/docs, Verify rate limits; errors 60202 and 60203";
    platforms::vault "HashiCorp Vault",
        "developer.hashicorp.com/vault: /sys/health, HTTP status codes; hashicorp/vault api/client.go";
    messages::vk "VK",
        "dev.vk.com, error codes";
    messages::wechat "WeChat",
        "developers.weixin.qq.com, global return codes";
    messages::x "X",
        "docs.x.com, rate limits and usage caps";
    commerce::xero "Xero",
        "developer.xero.com, API limits";
    records::zendesk "Zendesk",
        "developer.zendesk.com, rate limits";
    messages::zoom "Zoom",
        "developers.zoom.us, rate limits; devforum.zoom.us 18928";
}

/// Families, by the name of their dialect, and their members.
pub(super) const FAMILIES: [(&str, &str); 25] = [
    (
        "akamai",
        "akamai_cloudlets akamai_cps akamai_netstorage akamai_papi edgegrid",
    ),
    ("alibaba_cloud", "alibaba aliyun"),
    (
        "atlassian",
        "bitbucket confluence jira opsgenie statuspage trello",
    ),
    (
        "aws",
        "cloudwatch cognito dynamodb ec2 kinesis lambda route53 ses sns sqs sts",
    ),
    (
        "azure",
        "azure_arm azure_cosmos azure_storage cosmos microsoft_graph",
    ),
    ("coinmarketcap", "coin_market_cap"),
    ("dingtalk", "ding_talk"),
    ("docker_hub", "docker"),
    ("esi", "eve eve_esi eve_online"),
    ("facebook", "facebook_graph instagram meta whatsapp"),
    ("feishu", "feishu_lark lark"),
    ("gate", "gate_io"),
    (
        "google",
        "bigquery cloud_storage fcm firebase firestore gcp gcs gmail google_ads google_calendar google_cloud \
         google_cloud_storage google_drive google_maps google_sheets google_storage google_workspace youtube",
    ),
    (
        "highlevel",
        "go_high_level gohighlevel high_level leadconnector",
    ),
    (
        "llm",
        "anthropic azure_openai bedrock cerebras cohere dashscope deepseek fireworks gemini groq kimi minimax \
         mistral moonshot ollama openai openrouter perplexity together vertex vertex_ai volcengine xai zai zhipu",
    ),
    ("matrix", "synapse"),
    ("mediawiki", "wikidata wikipedia"),
    ("monday", "monday_com"),
    ("moysklad", "moy_sklad"),
    ("oci", "oracle oracle_cloud"),
    ("riot", "riot_games"),
    ("sec", "edgar sec_edgar"),
    ("shopify", "shopify_graphql shopify_rest"),
    ("wechat", "wecom weixin"),
    ("x", "twitter"),
];
