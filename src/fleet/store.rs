//! What a fleet needs of a store.

/// Somebody who listens to a channel.
pub(crate) trait Hear: Send + Sync + 'static {
    fn told(&self, told: Told);

    /// Nothing is heard any more: whatever was told since is missed.
    fn lost(&self);
}

/// What a gate's channel tells: which pause it is about, and how long it lasts from now on; 0: the gate is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) opening: i64,
    pub(crate) milliseconds: i64,
}
