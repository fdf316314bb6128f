//~ named `llm` found for struct `RetryPolicy`

use http_retry::RetryPolicy;

fn main() {
    let _policy = RetryPolicy::llm();
}
