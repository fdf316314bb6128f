//! Answers beyond the shared cases, and what must hold for any.

mod more_cases;
mod properties;

use super::LlmPreset;
use http_retry_core::RetryPolicy;

#[test]
fn the_preset_passes_the_checks_of_its_own_builder() {
    let preset = RetryPolicy::llm();
    assert!(preset.explain().starts_with("llm: at most"));
    let rebuilt = preset.to_builder().build().unwrap();
    let unchanged = rebuilt.explain().replacen(" (changed)", "", 1);
    assert_eq!(unchanged, preset.explain());
}
