//! What a budget's lock protects.

use super::bucket::{Bucket, Terms};
#[cfg(feature = "redis")]
use super::fleet::Member;
use std::time::Duration;

/// Where a budget's tokens are.
#[derive(Debug)]
pub(super) enum Account {
    Local {
        bucket: Bucket,
        /// How many of the successes the bucket has.
        counted: u64,
    },
    /// In a fleet, of which this process is a member.
    #[cfg(feature = "redis")]
    Shared(Box<Member>),
}

impl Account {
    /// Counts the time until `now`, if it is to be counted, and what is new of `successes`.
    pub(super) fn settle(&mut self, terms: &Terms, successes: u64, now: Option<Duration>) {
        match self {
            Self::Local { bucket, counted } => {
                let new = successes.wrapping_sub(*counted);
                *counted = successes;
                match now {
                    Some(now) => bucket.settle(terms, new, now),
                    None => bucket.take_in(terms, new, 0),
                }
            }
            #[cfg(feature = "redis")]
            Self::Shared(member) => match now {
                Some(now) => member.settle(successes, now),
                None => member.count(successes),
            },
        }
    }

    /// Takes the price if there are enough tokens, else nothing. To be settled before.
    pub(super) fn withdraw(&mut self, price: u64) -> bool {
        match self {
            Self::Local { bucket, .. } => bucket.withdraw(price),
            #[cfg(feature = "redis")]
            Self::Shared(member) => member.pay(price),
        }
    }

    /// Puts a price back.
    pub(super) fn refund(&mut self, price: u64) {
        match self {
            Self::Local { bucket, .. } => bucket.add(price),
            #[cfg(feature = "redis")]
            Self::Shared(member) => member.refund(price),
        }
    }

    /// The process's part in the budget, if that is a fleet's.
    #[cfg(feature = "redis")]
    pub(super) fn member(&mut self) -> Option<&mut Member> {
        match self {
            Self::Local { .. } => None,
            Self::Shared(member) => Some(member),
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        match self {
            Self::Local { bucket, .. } => bucket.tokens(),
            #[cfg(feature = "redis")]
            Self::Shared(member) => member.tokens(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        match self {
            Self::Local { bucket, .. } => bucket.capacity(),
            #[cfg(feature = "redis")]
            Self::Shared(member) => member.capacity(),
        }
    }
}
