//! The names of keys and channels. All names of one service hash to one slot of a cluster, and names of different
//! services never collide.

use sha1_smol::Sha1;
use std::fmt::Write;

/// The version of the keys' fields and of the scripts' arithmetic; another layout uses other keys.
const LAYOUT: u8 = 1;
/// The longest name that is kept whole; a longer one is cut, with a hash of the whole name.
const MAX_NAME_BYTES: usize = 128;
const CUT_NAME_BYTES: usize = 64;
const MAX_PREFIX_BYTES: usize = 64;
const HASH_DIGITS: usize = 16;

/// The keys of one service's budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BudgetKeys {
    /// The bucket that all processes share.
    pub(super) budget: String,
    /// The record of this process.
    pub(super) record: String,
}

/// The key and the channel of one gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GateKeys {
    pub(super) gate: String,
    /// The channel in which every change of the gate is published.
    pub(super) channel: String,
}

impl BudgetKeys {
    /// Returns the keys of a service, for the process with this number.
    pub(super) fn new(prefix: &str, service: &str, process: u64) -> Self {
        let start = start(prefix, &escaped(service));
        Self {
            budget: format!("{start}budget"),
            record: format!("{start}p:{process:016x}"),
        }
    }
}

impl GateKeys {
    /// Returns the names for a host, or for one of several limits there. The text that identifies the limit may be a
    /// secret, so it is hashed.
    pub(super) fn new(prefix: &str, host: &str, part: Option<&str>) -> Self {
        let mut name = escaped(host);
        if let Some(part) = part {
            name.push('~');
            // No prefix contains a NUL, so different pairs have different hashes.
            name.push_str(&hashed(&[prefix, "\0", part]));
        }
        let start = start(prefix, &name);
        Self {
            gate: format!("{start}gate"),
            channel: format!("{start}closed"),
        }
    }
}

/// Returns `true` if keys may begin with this prefix.
pub(super) fn is_prefix(prefix: &str) -> bool {
    (1..=MAX_PREFIX_BYTES).contains(&prefix.len()) && prefix.bytes().all(is_plain)
}

fn start(prefix: &str, name: &str) -> String {
    format!("{prefix}:{LAYOUT}:{{{name}}}:")
}

/// Escapes a name. An empty name becomes `~`, so that the braces are never empty.
fn escaped(name: &str) -> String {
    if name.is_empty() {
        return "~".to_owned();
    }
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if is_plain(byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(escaped, "%{byte:02X}").unwrap_or_default();
        }
    }
    if escaped.len() > MAX_NAME_BYTES {
        // No escaped name contains `~`, so a cut one equals no other.
        escaped.truncate(CUT_NAME_BYTES);
        escaped.push('~');
        escaped.push_str(&hashed(&[name]));
    }
    escaped
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-:".contains(&byte)
}

fn hashed(parts: &[&str]) -> String {
    let mut hash = Sha1::new();
    for part in parts {
        hash.update(part.as_bytes());
    }
    let mut digits = hash.digest().to_string();
    digits.truncate(HASH_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_service_has_three_keys_and_a_channel_in_one_slot() {
        let keys = BudgetKeys::new("http-retry", "api.example:8443", 0xab);
        assert_eq!(keys.budget, "http-retry:1:{api.example:8443}:budget");
        assert_eq!(
            keys.record,
            "http-retry:1:{api.example:8443}:p:00000000000000ab"
        );
        let keys = GateKeys::new("shop", "api.example", None);
        assert_eq!(keys.gate, "shop:1:{api.example}:gate");
        assert_eq!(keys.channel, "shop:1:{api.example}:closed");
    }

    #[test]
    fn the_part_of_a_gate_is_hashed_with_the_prefix() {
        let name = |prefix, apart| GateKeys::new(prefix, "a", Some(apart)).gate;
        let hashed = name("p", "hunter2");
        assert_eq!(hashed, "p:1:{a~ede40b79e22dc51c}:gate");
        assert_ne!(name("q", "hunter2")[1..], hashed[1..]);
        assert_ne!(name("p", "hunter3"), hashed);
    }

    #[test]
    fn names_are_escaped_and_bounded() {
        let name = |service: &str| BudgetKeys::new("p", service, 0).budget;
        assert_eq!(name("a}b{c d\0%"), "p:1:{a%7Db%7Bc%20d%00%25}:budget");
        assert_eq!(name(""), "p:1:{~}:budget");
        assert_eq!(name("ä"), "p:1:{%C3%A4}:budget");
        let long = "x".repeat(128);
        assert_eq!(name(&long), format!("p:1:{{{long}}}:budget"));
        let longer = name(&"x".repeat(10_000));
        assert_eq!(longer.len(), "p:1:{}:budget".len() + 64 + 1 + 16);
        assert_ne!(longer, name(&"x".repeat(10_001)));
    }

    proptest! {
        #[test]
        fn two_names_never_share_a_key(one in ".{0,80}", other in ".{0,80}") {
            prop_assert_eq!(escaped(&one) == escaped(&other), one == other);
            prop_assert!(escaped(&one).len() <= MAX_NAME_BYTES);
            let opens_or_matches = escaped(&one).contains(['{', '}', ' ', '*']);
            prop_assert!(!opens_or_matches);
        }
    }
}
