//! What a user meets: the public names of a module, and the public methods of a type.

use syn::{Attribute, ImplItem, Item, ItemImpl, Type, UseTree, Visibility};

/// The public names of a module's file, in its order, besides those of globs and hidden ones.
pub(super) fn names(text: &str) -> Vec<String> {
    let items = syn::parse_file(text).unwrap().items.into_iter();
    items.flat_map(|item| names_of(&item)).collect()
}

fn names_of(item: &Item) -> Vec<String> {
    let (visibility, attributes, name) = match item {
        Item::Use(item) if is_shown(&item.vis, &item.attrs) => return leaves(&item.tree),
        Item::Const(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Enum(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
        Item::Mod(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Struct(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Trait(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Type(item) => (&item.vis, &item.attrs, &item.ident),
        _ => return Vec::new(),
    };
    let shown = is_shown(visibility, attributes);
    shown.then(|| name.to_string()).into_iter().collect()
}

/// The names that a `use` declares.
fn leaves(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Path(path) => leaves(&path.tree),
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Name(name) => vec![name.ident.to_string()],
        UseTree::Rename(name) => vec![name.rename.to_string()],
        UseTree::Glob(_) => Vec::new(),
    }
}

/// The public methods and functions of a type in a file, without those of traits and hidden ones.
pub(super) fn methods(text: &str, of: &str) -> Vec<String> {
    let items = syn::parse_file(text).unwrap().items.into_iter();
    let blocks = items.filter_map(|item| match item {
        Item::Impl(block) if is_inherent(&block, of) => Some(block.items),
        _ => None,
    });
    let functions = blocks.flatten().filter_map(|item| match item {
        ImplItem::Fn(function) if is_shown(&function.vis, &function.attrs) => {
            Some(function.sig.ident.to_string())
        }
        _ => None,
    });
    functions.collect()
}

fn is_inherent(block: &ItemImpl, of: &str) -> bool {
    let Type::Path(path) = &*block.self_ty else {
        return false;
    };
    block.trait_.is_none() && path.path.segments.iter().all(|part| part.ident == of)
}

fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_hidden = |attribute: &Attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("doc")
            && list.is_ok_and(|list| list.tokens.to_string() == "hidden")
    };
    matches!(visibility, Visibility::Public(_)) && !attributes.iter().any(is_hidden)
}

#[test]
fn what_is_public_and_shown_is_found() {
    let text = "
        pub use a::{B, c::{D, E as F}, g::*};
        pub(crate) use h::I;
        #[doc(hidden)]
        pub use j::K;
        pub struct L;
        impl L {
            pub const fn m(&self) {}
            #[doc(hidden)]
            pub fn n(&self) {}
            pub(crate) fn o(&self) {}
            fn p(&self) {}
        }
        impl<T> Q<T> { pub fn r(self) {} }
        impl S for L { fn t() {} }
        pub mod u;
        mod v;
    ";
    assert_eq!(names(text), ["B", "D", "F", "L", "u"]);
    assert_eq!(methods(text, "L"), ["m"]);
    assert_eq!(methods(text, "Q"), ["r"]);
}
