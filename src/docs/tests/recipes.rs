//! The pages of the cookbook whose programs need other crates, held against the programs that are built.

use std::fs;
use std::path::Path;

/// A package of its own, which is not part of this one.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/recipes");

/// Each page with its program.
const PAGES: [(&str, &str); 4] = [
    ("axum_deadline.rs", include_str!("../cookbook/axum.md")),
    ("llm_program.rs", include_str!("../cookbook/llm.md")),
    (
        "opentelemetry.rs",
        include_str!("../cookbook/opentelemetry.md"),
    ),
    ("prometheus.rs", include_str!("../cookbook/prometheus.md")),
];

#[test]
fn each_program_of_a_recipe_is_the_one_that_is_built() {
    if !Path::new(PROGRAMS).exists() {
        return;
    }
    for (name, page) in PAGES {
        let (_, block) = page.split_once("\n```rust,ignore\n").unwrap();
        let (shown, _) = block.split_once("```\n").unwrap();
        let built = fs::read_to_string(Path::new(PROGRAMS).join(name)).unwrap();
        assert_eq!(shown, built, "{name}");
    }
}
