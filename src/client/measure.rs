//! The length that a body announces, by which a copy is known to be whole.

use http_body::Body;

/// The length that a body announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
#[non_exhaustive]
pub enum Measure {
    /// The body keeps track itself of whether it is whole.
    NotAsked,
    /// It announces none, and nobody vouches for a copy.
    Unknown,
    /// Nothing is left.
    AtItsEnd,
    /// Exactly this many bytes are left, and perhaps trailers.
    Exactly(u64),
    /// This many bytes are left, perhaps more; its owner vouches for a copy.
    AtLeast(u64),
}

impl Measure {
    /// The measure of a body whose copies nobody vouches for.
    #[inline]
    pub(crate) fn of(body: &impl Body) -> Self {
        match body.size_hint().exact() {
            _ if body.is_end_stream() => Self::AtItsEnd,
            Some(bytes) => Self::Exactly(bytes),
            None => Self::Unknown,
        }
    }

    /// The measure of a body that is copied by a function of its owner's.
    #[inline]
    pub(crate) fn of_vouched(body: &impl Body) -> Self {
        match Self::of(body) {
            Self::Unknown => Self::AtLeast(body.size_hint().lower()),
            known => known,
        }
    }

    /// Returns `true` if a copy that measures `copy` lacks nothing of a body that measured this before the first attempt.
    fn is_still(self, copy: Self) -> bool {
        match (self, copy) {
            (Self::NotAsked, _) => true,
            (Self::Unknown, _) => false,
            // Nothing can be missing from a copy of nothing.
            (Self::AtItsEnd, copy) => {
                !matches!(copy, Self::Exactly(bytes) | Self::AtLeast(bytes) if bytes > 0)
            }
            (Self::Exactly(first), copy) => copy == Self::Exactly(first),
            // A copy of a stream may be of bytes. One with none is what a shared stream leaves.
            (Self::AtLeast(first), Self::Exactly(bytes)) => bytes > 0 && bytes >= first,
            (Self::AtLeast(first), copy) => {
                matches!(copy, Self::AtLeast(bytes) if bytes >= first)
            }
        }
    }
}

/// The measure of a body before its first attempt, in one word: every call in flight has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstMeasure(u64);

impl FirstMeasure {
    const NOT_ASKED: Self = Self(u64::MAX);
    const UNKNOWN: Self = Self(u64::MAX - 1);
    const AT_ITS_END: Self = Self(u64::MAX - 2);
    const AT_LEAST: u64 = 1 << 63;
    /// No body is as long.
    const LONGEST: u64 = 1 << 62;

    /// Returns `true` if a copy lacks nothing of the body.
    pub(super) fn is_still(self, copy: Measure) -> bool {
        Measure::from(self).is_still(copy)
    }
}

impl From<Measure> for FirstMeasure {
    #[inline]
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::NotAsked => Self::NOT_ASKED,
            Measure::AtItsEnd => Self::AT_ITS_END,
            Measure::Exactly(bytes) if bytes <= Self::LONGEST => Self(bytes),
            Measure::AtLeast(bytes) if bytes <= Self::LONGEST => Self(bytes | Self::AT_LEAST),
            Measure::Unknown | Measure::Exactly(_) | Measure::AtLeast(_) => Self::UNKNOWN,
        }
    }
}

impl From<FirstMeasure> for Measure {
    fn from(first: FirstMeasure) -> Self {
        match first {
            FirstMeasure::NOT_ASKED => Self::NotAsked,
            FirstMeasure::UNKNOWN => Self::Unknown,
            FirstMeasure::AT_ITS_END => Self::AtItsEnd,
            FirstMeasure(bytes) if bytes & FirstMeasure::AT_LEAST == 0 => Self::Exactly(bytes),
            FirstMeasure(bytes) => Self::AtLeast(bytes & !FirstMeasure::AT_LEAST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Measure::{AtItsEnd, AtLeast, Exactly, NotAsked, Unknown};
    use super::*;
    use bytes::Bytes;
    use http_body_util::{BodyExt, Empty, Full};

    #[test]
    fn a_copy_is_whole_only_if_it_lacks_nothing_of_the_body() {
        for (first, now, whole) in [
            (NotAsked, NotAsked, true),
            (Unknown, Unknown, false),
            (Unknown, Exactly(3), false),
            (Unknown, AtItsEnd, false),
            (AtItsEnd, AtItsEnd, true),
            (AtItsEnd, Exactly(0), true),
            (AtItsEnd, Unknown, true),
            (AtItsEnd, AtLeast(0), true),
            (AtItsEnd, Exactly(1), false),
            (AtItsEnd, AtLeast(1), false),
            (Exactly(0), Exactly(0), true),
            (Exactly(0), AtItsEnd, false),
            (Exactly(3), Exactly(3), true),
            (Exactly(3), Exactly(2), false),
            (Exactly(3), Exactly(4), false),
            (Exactly(3), Unknown, false),
            (Exactly(3), AtLeast(3), false),
            (Exactly(3), AtItsEnd, false),
            (Exactly(u64::MAX), Exactly(u64::MAX), false),
            (AtLeast(u64::MAX), AtLeast(u64::MAX), false),
            (Exactly(1 << 62), Exactly(1 << 62), true),
            (AtLeast(1 << 62), AtLeast(1 << 62), true),
            (AtLeast(0), AtLeast(0), true),
            (AtLeast(0), Exactly(3), true),
            (AtLeast(0), Exactly(0), false),
            (AtLeast(0), AtItsEnd, false),
            (AtLeast(3), AtLeast(3), true),
            (AtLeast(3), AtLeast(2), false),
            (AtLeast(3), Exactly(3), true),
            (AtLeast(3), Exactly(2), false),
            (AtLeast(3), AtItsEnd, false),
        ] {
            let is_still = FirstMeasure::from(first).is_still(now);
            assert_eq!(is_still, whole, "{first:?}, {now:?}");
        }
    }

    #[test]
    fn a_body_is_measured_by_what_it_announces() {
        assert_eq!(Measure::of(&Empty::<Bytes>::new()), AtItsEnd);
        assert_eq!(Measure::of(&Full::new(Bytes::new())), AtItsEnd);
        assert_eq!(Measure::of(&"abc".to_owned()), Exactly(3));
        let trailed = Empty::<Bytes>::new().with_trailers(std::future::ready(None));
        assert_eq!(Measure::of(&trailed), Exactly(0));
        let stream = futures_util::stream::empty::<Result<http_body::Frame<Bytes>, ()>>();
        let stream = http_body_util::StreamBody::new(stream);
        assert_eq!(Measure::of(&stream), Unknown);
    }

    #[test]
    fn a_vouched_body_without_a_length_has_a_least_one() {
        assert_eq!(Measure::of_vouched(&"abc".to_owned()), Exactly(3));
        let stream = futures_util::stream::empty::<Result<http_body::Frame<Bytes>, ()>>();
        let stream = http_body_util::StreamBody::new(stream);
        assert_eq!(Measure::of_vouched(&stream), AtLeast(0));
    }
}
