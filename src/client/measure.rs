//! What a body says of its length, by which a copy is known to be whole.

use http_body::Body;

/// How much of a body there is, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
#[non_exhaustive]
pub enum Measure {
    /// The body knows by itself whether it is whole.
    NotAsked,
    /// It does not say.
    Unknown,
    /// Nothing is left.
    AtItsEnd,
    /// So many bytes are left, and perhaps trailers.
    Exactly(u64),
}

impl Measure {
    #[inline]
    pub(super) fn of(body: &impl Body) -> Self {
        match body.size_hint().exact() {
            _ if body.is_end_stream() => Self::AtItsEnd,
            Some(bytes) => Self::Exactly(bytes),
            None => Self::Unknown,
        }
    }
}

/// What a body measured at first, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured(u64);

impl Measured {
    const NOT_ASKED: Self = Self(u64::MAX);
    const UNKNOWN: Self = Self(u64::MAX - 1);
    const AT_ITS_END: Self = Self(u64::MAX - 2);

    /// Whether a copy that measures `now` is still the body that measured this at first.
    pub(super) fn is_still(self, now: Measure) -> bool {
        match self {
            Self::NOT_ASKED => true,
            Self::UNKNOWN => false,
            first => first == Self::from(now),
        }
    }
}

impl From<Measure> for Measured {
    #[inline]
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::NotAsked => Self::NOT_ASKED,
            Measure::Unknown => Self::UNKNOWN,
            Measure::AtItsEnd => Self::AT_ITS_END,
            Measure::Exactly(bytes) if bytes < Self::AT_ITS_END.0 => Self(bytes),
            Measure::Exactly(_) => Self::UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Measure::{AtItsEnd, Exactly, NotAsked, Unknown};
    use super::*;
    use bytes::Bytes;
    use http_body_util::{BodyExt, Empty, Full};

    #[test]
    fn a_copy_is_whole_only_where_it_measures_what_the_body_did() {
        for (first, now, whole) in [
            (NotAsked, NotAsked, true),
            (Unknown, Unknown, false),
            (Unknown, Exactly(3), false),
            (Unknown, AtItsEnd, false),
            (AtItsEnd, AtItsEnd, true),
            (AtItsEnd, Exactly(0), false),
            (Exactly(0), Exactly(0), true),
            (Exactly(0), AtItsEnd, false),
            (Exactly(3), Exactly(3), true),
            (Exactly(3), Exactly(2), false),
            (Exactly(3), Unknown, false),
            (Exactly(3), AtItsEnd, false),
            (Exactly(u64::MAX), Exactly(u64::MAX), false),
        ] {
            assert_eq!(
                Measured::from(first).is_still(now),
                whole,
                "{first:?}, {now:?}"
            );
        }
    }

    #[test]
    fn a_body_is_measured_by_its_own_word() {
        assert_eq!(Measure::of(&Empty::<Bytes>::new()), AtItsEnd);
        assert_eq!(Measure::of(&Full::new(Bytes::new())), AtItsEnd);
        assert_eq!(Measure::of(&"abc".to_owned()), Exactly(3));
        let trailed = Empty::<Bytes>::new().with_trailers(std::future::ready(None));
        assert_eq!(Measure::of(&trailed), Exactly(0));
        let stream = futures_util::stream::empty::<Result<http_body::Frame<Bytes>, ()>>();
        assert_eq!(
            Measure::of(&http_body_util::StreamBody::new(stream)),
            Unknown
        );
    }
}
