//! The outcome lists of a policy that are set in code. Those of a document are shown by its origins.

use crate::policy::Settings;
use crate::policy::rules::OnExhausted;
use std::fmt::{self, Write};

impl Settings {
    pub(super) fn explain_lists(&self, text: &mut String) -> fmt::Result {
        // The origins of a document name these settings already.
        if !self.rules.origins.is_empty() {
            return Ok(());
        }
        if let Some(conditions) = &self.rules.retry_on {
            let holds = Conditions(conditions.len());
            writeln!(text, "  retry_on: only if {holds}, whatever the class")?;
        }
        if !self.rules.stop_on.is_empty() {
            let holds = Conditions(self.rules.stop_on.len());
            writeln!(text, "  stop_on: never if {holds}")?;
        }
        match &self.rules.on_exhausted {
            OnExhausted::Last => Ok(()),
            OnExhausted::Fail => writeln!(text, "  on_exhausted: fail"),
            OnExhausted::Respond(response) => {
                writeln!(text, "  on_exhausted: respond {}", response.status.as_u16())
            }
            OnExhausted::Failover { to, .. } => {
                writeln!(text, "  on_exhausted: failover to {}", to.service)
            }
            OnExhausted::DeadLetter { name } => {
                writeln!(text, "  on_exhausted: dead_letter {name}")
            }
        }
    }
}

struct Conditions(usize);

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("its condition holds"),
            many => write!(f, "one of its {many} conditions holds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::RetryPolicy;
    use crate::policy::rules::{CannedResponse, Condition, OnExhausted};
    use http::StatusCode;

    #[test]
    fn explain_shows_the_lists_that_are_set_in_code() {
        let status = |status| Condition::status([status]).unwrap();
        let later = CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE);
        let policy = RetryPolicy::builder()
            .retry_on([status(500), status(502)])
            .stop_on([status(501)])
            .on_exhausted(OnExhausted::Respond(later));
        let text = policy.build().unwrap().explain();
        for line in [
            "  retry_on: only if one of its 2 conditions holds, whatever the class\n",
            "  stop_on: never if its condition holds\n",
            "  on_exhausted: respond 503\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let plain = RetryPolicy::background().explain();
        assert!(!plain.contains("_on") && !plain.contains("on_"), "{plain}");
    }
}
