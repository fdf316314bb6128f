//~ named `json` found for struct `Condition`

use http_retry::rules::Condition;

fn main() {
    let _busy = Condition::json("/error/code", "busy");
}
