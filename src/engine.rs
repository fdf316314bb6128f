//! An adapter's settings, shared by all of its requests.

mod policy_settings;
mod settings;

pub(crate) use http_retry_core::adapter::{Engine, Routes};
pub(crate) use policy_settings::SetOnPolicy;
pub(crate) use policy_settings::policy_settings;
pub(crate) use settings::http_engine_settings;
pub(crate) use settings::{engine_settings, redirect_settings};
