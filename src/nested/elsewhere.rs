//! The latest redirects of the whole process, for attempts that go on where nobody sees whose they are.

use super::LayerId;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many are kept. An attempt during which there were more counts as one that may have been redirected.
const KEPT: usize = 1024;

/// Redirects so far, modulo 2^32. What an attempt leads to happens after its beginning and before its end, whichever
/// tasks it goes through, so relaxed order is enough.
static COUNT: AtomicU32 = AtomicU32::new(0);
static LATEST: Mutex<VecDeque<Redirect>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone, Copy)]
struct Redirect {
    /// The hash of the path that was asked for first.
    path: Option<u64>,
    /// The layer furthest out that saw it; nobody where it happened outside of every attempt.
    seen_by: Option<LayerId>,
}

pub(super) fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

pub(super) fn note(path: Option<&str>, seen_by: Option<LayerId>) {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if latest.len() == KEPT {
        latest.pop_front();
    }
    let path = path.map(hash);
    latest.push_back(Redirect { path, seen_by });
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Whether a redirect since then may be one of an attempt for this path that this layer has not seen: one for the same path
/// that nobody saw, or that another layer saw, perhaps further in and in another task.
pub(super) fn has_new(before: u32, path: Option<&str>, layer: LayerId) -> bool {
    if count() == before {
        return false;
    }
    let path = path.map(hash);
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let new = usize::try_from(count().wrapping_sub(before)).unwrap_or(usize::MAX);
    let anothers = |redirect: &Redirect| {
        let paths = path.zip(redirect.path);
        redirect.seen_by == Some(layer) || paths.is_some_and(|(one, other)| one != other)
    };
    new > latest.len() || !latest.iter().rev().take(new).all(anothers)
}

fn hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
