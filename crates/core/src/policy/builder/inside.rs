//! What presets and documents alone say of a policy.

use super::RetryPolicyBuilder;
use crate::policy::OwnError;

impl RetryPolicyBuilder {
    pub(crate) fn own_error(self, own: OwnError) -> Self {
        self.with(|settings| settings.own_errors.push(own))
    }
}
