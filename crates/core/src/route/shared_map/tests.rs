//! A map against the map of the standard library.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

proptest! {
    /// A map and a clone that was changed later each have what a map without shared parts has.
    #[test]
    fn clones_change_apart(
        first in prop::collection::vec((0..300_u32, prop::option::of(0..9_u32)), 0..600),
        then in prop::collection::vec((0..300_u32, prop::option::of(0..9_u32)), 0..60),
    ) {
        let (mut map, mut wanted) = (SharedMap::default(), BTreeMap::new());
        apply(&mut map, &mut wanted, &first);
        let (before, wanted_before) = (map.clone(), wanted.clone());
        apply(&mut map, &mut wanted, &then);
        for (map, wanted) in [(before, wanted_before), (map, wanted)] {
            prop_assert!(map.in_order().into_iter().eq(&wanted));
            for (key, value) in &wanted {
                prop_assert_eq!(map.get(key), Some(value));
            }
            prop_assert_eq!(map.get("none"), None);
        }
    }
}

/// Sets and removes values, each with the same result in both maps.
fn apply(
    map: &mut SharedMap<u32>,
    wanted: &mut BTreeMap<Arc<str>, u32>,
    changes: &[(u32, Option<u32>)],
) {
    for (key, value) in changes {
        let key: Arc<str> = format!("key {key}").into();
        match value {
            Some(0) => {
                map.update(&key, |value| *value += 1);
                *wanted.entry(key).or_default() += 1;
            }
            Some(value) => {
                let replaced = map.insert(Arc::clone(&key), *value);
                assert_eq!(replaced, wanted.insert(key, *value));
            }
            None => assert_eq!(map.remove(&key), wanted.remove(&key)),
        }
    }
}
