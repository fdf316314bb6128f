//! The setting of a policy that only presets and documents use.

use super::RetryPolicyBuilder;
use crate::policy::OwnError;

impl RetryPolicyBuilder {
    pub(crate) fn own_error(self, own: OwnError) -> Self {
        self.with(|settings| settings.own_errors.push(own))
    }
}
