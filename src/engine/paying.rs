//! Waits for what a fleet says to a retry.

use super::Engine;
use crate::budget::{Asking, PaidRetry};
use crate::runtime::within;
use std::time::Duration;

impl Engine {
    /// The fleet's answer to a retry that asks for it; nothing where it is refused. It is waited for no longer than the
    /// budget says, and no longer than `left`: then the process pays alone, if it can.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it asks no longer, and nothing is paid.
    pub(crate) async fn answer(&self, mut asking: Asking, left: Duration) -> Option<PaidRetry> {
        let timer = self.runtime.sleep(asking.wait().min(left));
        match within(timer, &mut asking).await {
            Some(answer) => answer,
            None => asking.alone(self.runtime.now()),
        }
    }
}
