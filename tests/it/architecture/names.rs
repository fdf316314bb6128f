//! The names of the tests in a source file.

use syn::ItemFn;
use syn::visit::{self, Visit};

/// The functions under `#[test]` and `#[tokio::test]`, in every module of the file.
pub(super) fn of_tests(text: &str) -> Vec<String> {
    let mut names = Names(Vec::new());
    names.visit_file(&syn::parse_file(text).unwrap());
    names.0
}

struct Names(Vec<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        let mut attributes = function.attrs.iter().map(syn::Attribute::path);
        let last = |path: &syn::Path| {
            path.segments
                .last()
                .is_some_and(|word| word.ident == "test")
        };
        if attributes.any(last) {
            self.0.push(function.sig.ident.to_string());
        }
        visit::visit_item_fn(self, function);
    }
}

#[test]
fn tests_are_found_by_their_attribute() {
    let text = "#[test] fn a() {} fn b() {} mod c { #[x] #[tokio::test(y = 1)] async fn d() {} }";
    assert_eq!(of_tests(text), ["a", "d"]);
}
