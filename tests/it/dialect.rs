//! What services mean by their answers: a case for each row of each table, and one that must not match.

mod ambiguous_bodies;
mod answers;
mod broken_bodies;
mod keys;
mod locations;
mod one_object;
mod own_rows;
mod properties;
mod request;
mod rows;
