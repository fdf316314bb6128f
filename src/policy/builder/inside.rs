//! What presets and documents alone say of a policy.

use super::RetryPolicyBuilder;
use crate::policy::OwnError;

impl RetryPolicyBuilder {
    pub(crate) fn own_error(self, own: OwnError) -> Self {
        self.with(|settings| settings.own_errors.push(own))
    }

    /// Whether a quota counts at the gate from the first answer on, not only after a refusal.
    #[cfg(feature = "serde")]
    pub(crate) fn quotas_at_once(self, at_once: bool) -> Self {
        self.with(|settings| settings.quotas_at_once = at_once)
    }

    /// Whether this is the preset without retries.
    #[cfg(feature = "serde")]
    pub(crate) fn never(self, never: bool) -> Self {
        self.with(|settings| settings.never = never)
    }

    #[cfg(feature = "serde")]
    pub(crate) fn of_document(
        self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        rules: crate::policy::Rules,
    ) -> Self {
        let builder = self.with(|settings| {
            settings.name = name.into();
            settings.rules = rules;
        });
        Self {
            is_of_document: true,
            ..builder
        }
    }
}
