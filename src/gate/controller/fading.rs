//! How the successes of an open gate are forgotten.

use super::{SECOND, quotient, sum};

/// After this time the successes of an open gate count half.
const MEMORY: u64 = 20 * SECOND;

/// Successes of an open gate and since when they count, seen at `now`: after [`MEMORY`] half of them, and so on.
pub(in crate::gate) fn faded(ok: u64, since: u64, now: u64) -> (u64, u64) {
    let age = now.saturating_sub(since);
    if age <= MEMORY {
        return (ok, since);
    }
    let halvings = u32::try_from(quotient(age, MEMORY)).unwrap_or(u32::MAX);
    let ok = ok.checked_shr(halvings).unwrap_or_default();
    (ok, now.saturating_sub(quotient(MEMORY, 2)))
}

/// When the successes that count since then will have faded.
pub(in crate::gate) fn fades_at(since: u64) -> u64 {
    sum(since, sum(MEMORY, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::controller::MOST;

    #[test]
    fn old_successes_weigh_less_while_the_gate_is_open() {
        assert_eq!(faded(100, 0, MEMORY), (100, 0));
        let half = MEMORY / 2;
        assert_eq!(faded(100, 0, MEMORY + 1), (50, half + 1));
        assert_eq!(faded(100, 0, 3 * MEMORY), (12, 2 * MEMORY + half));
        assert_eq!(faded(MOST, 0, MOST), (0, MOST - half));
        assert_eq!(fades_at(0), MEMORY + 1);
    }
}
