//! How long a test waits for what must happen.

use std::time::Duration;

/// Reached only by a test that fails.
pub(crate) const IN_VAIN: Duration = Duration::from_secs(20);

/// What a future gives, unless it hangs.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    let done = tokio::time::timeout(IN_VAIN, future).await;
    done.expect("it should have ended long ago")
}
