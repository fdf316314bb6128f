//! The place of a cut.

use super::*;

/// Every member on a way to a text that may be cut.
const MEMBERS: [&str; 16] = [
    "messages",
    "input",
    "contents",
    "prompt",
    "content",
    "parts",
    "text",
    "source",
    "data",
    "output",
    "response",
    "result",
    "document",
    "toolResult",
    "functionResponse",
    "function_response",
];

/// The text that is shorter after a cut, as a JSON pointer.
pub(super) fn pointer(before: &[u8], cut: &Rewritten) -> String {
    let (before, after) = (Span::of(before).unwrap(), Span::of(&cut.body).unwrap());
    shorter(before, after).unwrap()
}

fn shorter(before: Span<'_>, after: Span<'_>) -> Option<String> {
    if let (Some(before), Some(after)) = (before.text(), after.text()) {
        return (after.bytes() < before.bytes()).then(String::new);
    }
    let elements = before.elements().zip(after.elements()).enumerate();
    let mut elements = elements.map(|(index, (before, after))| (index.to_string(), before, after));
    let in_one = |(name, before, after)| Some(format!("/{name}{}", shorter(before, after)?));
    elements.find_map(in_one).or_else(|| {
        let [before, after] = [before, after].map(|object| object.members(MEMBERS));
        let members = MEMBERS.into_iter().zip(before?.into_iter().zip(after?));
        let mut members =
            members.filter_map(|(name, (before, after))| Some((name.to_owned(), before?, after?)));
        members.find_map(in_one)
    })
}
