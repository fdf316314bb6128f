//! What the middleware and the layer do in a browser. Each test is a function that the page calls by its name.
#![cfg(target_arch = "wasm32")]

mod calls;
mod middleware;
mod runtime;
mod stacks;

use std::future::Future;
use std::panic;
use std::pin::Pin;
use wasm_bindgen::prelude::wasm_bindgen;

type Test = fn() -> Pin<Box<dyn Future<Output = Outcome>>>;
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Names async functions, and boxes what they return.
macro_rules! tests {
    ($($module:ident::$name:ident)*) => {
        &[$((stringify!($name), || Box::pin(crate::$module::$name()))),*]
    };
}

const TESTS: &[(&str, Test)] = tests! {
    middleware::a_503_is_repeated
    middleware::a_cut_connection_is_repeated
    middleware::a_retry_after_is_waited_for
    middleware::a_retry_after_that_is_not_exposed_is_not_seen
    middleware::a_post_is_not_repeated_after_a_429
    middleware::a_post_is_not_repeated_after_a_cut
    middleware::a_post_is_not_unsent_if_nothing_listens
    middleware::a_post_with_a_key_is_repeated
    middleware::a_redirected_get_is_repeated
    middleware::an_attempt_that_hangs_is_cut
    middleware::a_dropped_call_sends_nothing_more
    middleware::a_last_response_is_whole
    middleware::a_document_decides
    runtime::a_wait_lasts_as_long_as_it_was_asked_to
    runtime::the_longest_wait_never_ends
    runtime::random_numbers_and_keys_differ
    runtime::the_wall_clock_is_right
    stacks::the_layer_repeats_on_a_service_of_the_users
    stacks::the_layer_runs_on_a_runtime_of_the_users
    stacks::an_operation_reads_the_body_again
};

#[wasm_bindgen]
extern "C" {
    /// Keeps the text of a panic, which ends the program.
    fn panicked(text: &str);
}

/// Returns the names of the tests.
#[wasm_bindgen]
pub fn names() -> Vec<String> {
    TESTS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Runs a test, and returns its error's text, or nothing.
#[wasm_bindgen]
pub async fn run(name: String) -> Option<String> {
    panic::set_hook(Box::new(|info| panicked(&info.to_string())));
    let (_, test) = TESTS.iter().find(|(other, _)| *other == name)?;
    test().await.err().map(|error| format!("{error}"))
}
