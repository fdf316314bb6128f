//! Limits that no single number describes.

use super::*;

pub(super) const KINDS: &[Kind] = &[
    // Each minute the short window is found anew, as slowly as after the long pause.
    kind("20 per 1 s, 300 per 60 s", TWO_WINDOWS, Seconds(194.5))
        .calls(1_200)
        .at_most(1.4, 0.3)
        .in_short(),
    // A refusal by the proxy asks for a second, and the bucket is full after a fifth of one.
    kind("a bucket, and 1 in 20", BUCKET_AND_RANDOM, Seconds(99.8)).at_most(2.7, 0.35),
];
