//! The hosts that a pattern matches.

use super::*;
use crate::request_head::is_host_like;
use proptest::prelude::*;

proptest! {
    /// The map finds what a comparison with each pattern finds.
    #[test]
    fn a_lookup_agrees_with_a_scan(
        patterns in prop::collection::vec("(\\*\\.)?[aB]{1,2}(\\.[ab]{1,2}){0,3}(:8)?", 0..12),
        host in "[aB]{1,2}(\\.[aB]{1,2}){0,4}(:8)?",
    ) {
        let mut map = HostMap::default();
        for (number, pattern) in patterns.iter().enumerate() {
            map.insert(pattern, number);
        }
        let mut found: Vec<usize> = map.get(&host).copied().collect();
        found.sort_unstable();
        let is_like = |(number, pattern): (usize, &String)| is_host_like(pattern, &host).then_some(number);
        let scanned: Vec<usize> = patterns.iter().enumerate().filter_map(is_like).collect();
        prop_assert_eq!(found, scanned);
    }
}
