//! What a document says, and what it is refused for.
