//! Says what a document means, or what is wrong with it.

fn main() {}
