//! Longer texts: how to do things, why they are as they are, and how others do them. Only in the documentation.
//!
//! The pages stand with any features; without all of them a name that is not there is no link.

#![cfg_attr(
    not(all(
        feature = "hedge",
        feature = "llm",
        feature = "metrics",
        feature = "redis",
        feature = "reqwest",
        feature = "serde",
        feature = "testing",
        feature = "tracing"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

#[doc = include_str!("docs/guide.md")]
pub mod guide {}

#[doc = include_str!("docs/faq.md")]
pub mod faq {}

#[doc = include_str!("docs/clients.md")]
pub mod clients {}

#[doc = include_str!("docs/browser.md")]
pub mod browser {}

#[doc = include_str!("docs/gate.md")]
#[doc = include_str!("docs/charts/V.svg")]
pub mod gate {}

#[doc = include_str!("docs/hedging.md")]
pub mod hedging {}

#[doc = include_str!("docs/config.md")]
pub mod config {}

#[doc = include_str!("docs/fleet.md")]
pub mod fleet {}

#[doc = include_str!("docs/dialects.md")]
pub mod dialects {}

#[doc = include_str!("docs/design.md")]
pub mod design {}

#[doc = include_str!("docs/comparison.md")]
pub mod comparison {}

#[doc = include_str!("docs/cookbook.md")]
pub mod cookbook {
    #[doc = include_str!("docs/cookbook/methods.md")]
    pub mod methods {}

    #[doc = include_str!("docs/cookbook/statuses.md")]
    pub mod statuses {}

    #[doc = include_str!("docs/cookbook/timeouts.md")]
    pub mod timeouts {}

    #[doc = include_str!("docs/cookbook/post.md")]
    pub mod post {}

    #[doc = include_str!("docs/cookbook/blocking.md")]
    pub mod blocking {}

    #[doc = include_str!("docs/cookbook/upload.md")]
    pub mod upload {}

    #[doc = include_str!("docs/cookbook/download.md")]
    pub mod download {}

    #[doc = include_str!("docs/cookbook/axum.md")]
    pub mod axum {}

    #[doc = include_str!("docs/cookbook/gateway.md")]
    pub mod gateway {}

    #[doc = include_str!("docs/cookbook/token.md")]
    pub mod token {}

    #[doc = include_str!("docs/cookbook/webhooks.md")]
    pub mod webhooks {}

    #[doc = include_str!("docs/cookbook/services.md")]
    pub mod services {}

    #[doc = include_str!("docs/cookbook/batch.md")]
    pub mod batch {}

    #[doc = include_str!("docs/cookbook/hedge.md")]
    pub mod hedge {}

    #[doc = include_str!("docs/cookbook/llm.md")]
    pub mod llm {}

    #[doc = include_str!("docs/cookbook/logs.md")]
    pub mod logs {}

    #[doc = include_str!("docs/cookbook/opentelemetry.md")]
    pub mod opentelemetry {}

    #[doc = include_str!("docs/cookbook/prometheus.md")]
    pub mod prometheus {}

    #[doc = include_str!("docs/cookbook/testing.md")]
    pub mod testing {}

    #[doc = include_str!("docs/cookbook/mistakes.md")]
    pub mod mistakes {}
}

#[doc = include_str!("docs/migration.md")]
pub mod migration {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
