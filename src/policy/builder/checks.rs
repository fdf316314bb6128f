//! What a policy refuses.

use crate::error::ConfigError;
use crate::policy::{Settings, whole_answers};
use std::time::Duration;

impl Settings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.backoff.check()?;
        above_zero("deadline", self.deadline)?;
        above_zero("attempt_timeout", self.attempt_timeout)?;
        above_zero("max_gate_wait", self.max_gate_wait)?;
        let held = self.streams.as_ref();
        let held = held.and_then(|streams| streams.first_event_timeout());
        above_zero("first_event_timeout", held)?;
        whole_answers::check(self.whole_answers)?;
        match (self.attempt_timeout, self.deadline) {
            (Some(timeout), Some(deadline)) if timeout > deadline => Err(ConfigError::new(
                "attempt_timeout",
                format!("{timeout:?}"),
                format!("must be at most the deadline, which is {deadline:?}"),
            )),
            _ => Ok(()),
        }
    }
}

fn above_zero(field: &'static str, duration: Option<Duration>) -> Result<(), ConfigError> {
    match duration {
        Some(Duration::ZERO) => Err(ConfigError::new(field, "0ns", "must be above 0")),
        _ => Ok(()),
    }
}
