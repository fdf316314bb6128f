//! What a rule changes in the request.

use crate::config::fields::{Fields, Type, object, table};
use crate::config::headers::{headers, is_map};
use http::HeaderMap;
use std::sync::Arc;

table! {
    /// What changes in the request from the next attempt on.
    Change("set", "What changes before the next attempt") {
        /// Request headers, which take the place of those of the same name.
        headers: Arc<HeaderMap> = headers(), required();
    }
}

/// What changes in the request: its headers.
pub(in crate::config) fn set() -> Type<Arc<HeaderMap>> {
    Type {
        read: |node| {
            if !is_map(node) {
                return None;
            }
            let mut block = node.clone().block()?;
            let read = Change::take(&mut block).headers;
            let is_nothing = read.as_ref().is_none_or(|headers| headers.is_empty());
            block.end_or(is_nothing.then_some("sets nothing: write {headers: {NAME: VALUE}}"));
            read
        },
        schema: object::<Change>,
    }
}
