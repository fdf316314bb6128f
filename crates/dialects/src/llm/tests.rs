//! Answers beyond the shared cases, and what must hold for any.

mod more_cases;
mod properties;
