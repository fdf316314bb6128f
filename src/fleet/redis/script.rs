//! A script that the server runs in one step.

use ::redis::{Cmd, cmd};
use sha1_smol::Sha1;

/// A script, and the name that a server knows it by once it was loaded.
pub(crate) struct Script {
    source: &'static str,
    hash: String,
}

impl Script {
    pub(crate) fn new(source: &'static str) -> Self {
        let hash = Sha1::from(source).digest().to_string();
        Self { source, hash }
    }

    /// Runs it by its name.
    pub(super) fn command(&self, keys: &[&str], numbers: &[i64]) -> Cmd {
        let mut command = cmd("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        command.arg(numbers);
        command
    }

    /// Makes the server know it.
    pub(super) fn load(&self) -> Cmd {
        let mut command = cmd("SCRIPT");
        command.arg("LOAD").arg(self.source);
        command
    }
}
