//! The strategies by which request bodies are kept for later attempts.

use super::replay::Measure;
use super::replay::Replay;
use super::replay_body::ReplayBody;
use super::requests::{Bodies, sealed::Sealed};
use super::rewrite::rewrite_bytes;
use http_body::Body;
use std::fmt;
use std::marker::PhantomData;

/// Copies bodies as their [`Replay`] says, which every `http_body::Body` has that is `Clone`: the second type parameter of
/// [`RetryLayer`](crate::tower::RetryLayer) and [`Retry`](crate::tower::Retry), and its default. A `reqwest::Request` is copied by
/// itself, and its streams are recorded.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CloneBody;

/// Copies bodies of the type `B` by the function that [`RetryLayer::copy_body`](crate::tower::RetryLayer::copy_body) or
/// [`copy_value`](crate::tower::RetryLayer::copy_value) sets.
///
/// To name it in a struct, give a function pointer, `CopyBody<Body, fn(&Body) -> Option<Body>>`, and set it as
/// one: `.copy_body(Body::try_clone as fn(&Body) -> Option<Body>)`.
pub struct CopyBody<B, F> {
    copy: F,
    measure: fn(&B) -> Measure,
}

/// Records bodies of the type `B` while they are sent, and makes the client's bodies of the records by the function that
/// [`RetryLayer::record_body`](crate::tower::RetryLayer::record_body) sets.
///
/// To name it in a struct, give a function pointer, `RecordBody<Body, fn(ReplayBody<Body>) -> Body>`, and set it
/// as one: `.record_body(Body::new as fn(ReplayBody<Body>) -> Body)`.
pub struct RecordBody<B, F> {
    wrap: F,
    body: PhantomData<fn(&B)>,
}

impl Sealed for CloneBody {}
impl<B, F> Sealed for CopyBody<B, F> {}
impl<B, F> Sealed for RecordBody<B, F> {}

#[diagnostic::do_not_recommend]
impl<B: Replay + Send + 'static> Bodies<B> for CloneBody {
    type Kept = B;

    #[inline]
    fn keep(&self, body: B, _: usize) -> (B, Option<(B, Measure)>) {
        let kept = body.replay().map(|copy| (copy, body.measure()));
        (body, kept)
    }

    fn body(kept: B) -> B {
        kept
    }
}

impl<B, F> CopyBody<B, F> {
    /// Copies bodies of any type; nothing checks the copies.
    pub(crate) fn unchecked(copy: F) -> Self {
        Self {
            copy,
            measure: |_| Measure::NotAsked,
        }
    }
}

impl<B: Body, F> CopyBody<B, F> {
    pub(crate) fn new(copy: F) -> Self {
        Self {
            copy,
            measure: Measure::of_vouched,
        }
    }
}

impl<B, F: Clone> Clone for CopyBody<B, F> {
    fn clone(&self) -> Self {
        Self {
            copy: self.copy.clone(),
            measure: self.measure,
        }
    }
}

impl<B, F> fmt::Debug for CopyBody<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CopyBody")
    }
}

impl<B, F> Bodies<B> for CopyBody<B, F>
where
    B: Send + 'static,
    F: Fn(&B) -> Option<B> + Clone + Send + 'static,
{
    type Kept = CopiedBody<B, F>;

    fn keep(&self, body: B, _: usize) -> (B, Option<(Self::Kept, Measure)>) {
        let measure = (self.measure)(&body);
        let kept = (self.copy)(&body).map(|copy| CopiedBody {
            body: copy,
            copy: self.copy.clone(),
            measure: self.measure,
        });
        (body, kept.map(|kept| (kept, measure)))
    }

    fn body(kept: Self::Kept) -> B {
        kept.body
    }
}

/// A body, the function that copies it, and the one that measures the copies.
pub struct CopiedBody<B, F> {
    body: B,
    copy: F,
    measure: fn(&B) -> Measure,
}

impl<B, F> Replay for CopiedBody<B, F>
where
    B: 'static,
    F: Fn(&B) -> Option<B> + Clone,
{
    fn replay(&self) -> Option<Self> {
        let (copy, measure) = (self.copy.clone(), self.measure);
        (self.copy)(&self.body).map(|body| Self {
            body,
            copy,
            measure,
        })
    }

    fn measure(&self) -> Measure {
        (self.measure)(&self.body)
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        rewrite_bytes(&mut self.body, with)
    }
}

impl<B, F> RecordBody<B, F> {
    pub(crate) fn new(wrap: F) -> Self {
        Self {
            wrap,
            body: PhantomData,
        }
    }
}

impl<B, F: Clone> Clone for RecordBody<B, F> {
    fn clone(&self) -> Self {
        Self::new(self.wrap.clone())
    }
}

impl<B, F> fmt::Debug for RecordBody<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordBody")
    }
}

impl<B, F> Bodies<B> for RecordBody<B, F>
where
    B: Body + Send + 'static,
    F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
{
    type Kept = RecordedBody<B, F>;

    fn keep(&self, body: B, recorded: usize) -> (B, Option<(Self::Kept, Measure)>) {
        let record = ReplayBody::with_limit(body, recorded);
        let kept = record.later().map(|record| RecordedBody {
            record,
            wrap: self.wrap.clone(),
        });
        let body = (self.wrap)(record);
        (body, kept.map(|kept| (kept, Measure::NotAsked)))
    }

    fn body(kept: Self::Kept) -> B {
        (kept.wrap)(kept.record)
    }
}

/// A body that is recorded, and the function that makes the client's body of the record.
pub struct RecordedBody<B, F> {
    record: ReplayBody<B>,
    wrap: F,
}

impl<B, F> Replay for RecordedBody<B, F>
where
    B: Body,
    F: Clone,
{
    fn replay(&self) -> Option<Self> {
        let wrap = self.wrap.clone();
        self.record.replay().map(|record| Self { record, wrap })
    }

    fn can_replay(&self, early: bool) -> bool {
        self.record.can_replay(early)
    }

    fn bytes_read(&self) -> Option<u64> {
        self.record.bytes_read()
    }

    fn next_in_turn(&mut self) {
        Replay::next_in_turn(&mut self.record);
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        Replay::rewrite(&mut self.record, with)
    }
}
