#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::arithmetic_side_effects,
        clippy::float_arithmetic
    )
)]

mod manual_runtime;
mod script;
mod script_body;

pub use manual_runtime::ManualRuntime;
pub use script::Script;
pub use script_body::ScriptBody;
