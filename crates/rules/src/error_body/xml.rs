//! The first element with a given name in a short XML error.

use super::work;

/// The most bytes of a text that are read.
const MAX_XML_BYTES: usize = 4 * 1024;
/// The root elements that services use for errors.
const ROOTS: [&str; 3] = ["Error", "ErrorResponse", "Response"];

/// Returns the trimmed content of the first element with this name, if the root of the text marks an error.
pub(super) fn first<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let text = start(text);
    work::add(text.len());
    let root = error_root(text).filter(|_| !tag.is_empty())?;
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let (_, inner) = root.split_once(open.as_str())?;
    let (content, _) = inner.split_once(close.as_str())?;
    Some(content.trim()).filter(|content| !content.contains('<'))
}

/// Returns `true` if a text ends with the end tag of its root.
pub(super) fn is_closed(text: &str) -> bool {
    let root = after_prolog(text).and_then(|root| root.strip_prefix('<'));
    let name = root.map(|root| root.split(|c: char| !c.is_alphanumeric()).next());
    let before = text.trim_end().strip_suffix('>').map(str::trim_end);
    let before = before.zip(name.flatten());
    before.is_some_and(|(text, name)| {
        let open = text.strip_suffix(name);
        !name.is_empty() && open.is_some_and(|open| open.ends_with("</"))
    })
}

/// Returns `true` if a text is not an XML error, or is a complete one without comments, sections and declarations
/// inside, in which all elements with this name hold the same text.
pub(super) fn is_certain(text: &str, tag: &str) -> bool {
    work::add(text.len());
    error_root(text).is_none() || read_whole(text, tag).is_some()
}

/// Returns the text after the `<` of the root, if its name is one of [`ROOTS`].
fn error_root(text: &str) -> Option<&str> {
    let root = after_prolog(text)?.strip_prefix('<')?;
    let end = root.find(|c: char| !c.is_alphanumeric())?;
    ROOTS.contains(&root.get(..end)?).then_some(root)
}

/// Reads one tag per turn, with the open elements on a stack. Returns `None` if a tag does not match, if two elements
/// named `tag` differ, or if anything follows the root.
fn read_whole(text: &str, tag: &str) -> Option<()> {
    let mut rest = after_prolog(text)?.trim_end().strip_prefix('<')?;
    let (mut open, mut first) = (Vec::new(), None);
    loop {
        let (markup, after) = rest.split_once('>')?;
        let closed = if let Some(name) = markup.strip_prefix('/') {
            let (own, content): (&str, &str) = open.pop()?;
            // Both texts end together, so the difference of their lengths is the content with the `<` of its end tag.
            let length = content.len().saturating_sub(rest.len());
            let content = content.get(..length)?.strip_suffix('<');
            (own == name.trim_end()).then_some((own, content?))?.into()
        } else if let Some(empty) = markup.strip_suffix('/') {
            Some((name_of(empty)?, ""))
        } else {
            open.push((name_of(markup)?, after));
            None
        };
        if let Some((_, text)) = closed.filter(|(name, _)| *name == tag) {
            let text = text.trim();
            if *first.get_or_insert(text) != text {
                return None;
            }
        }
        if open.is_empty() {
            return after.is_empty().then_some(());
        }
        rest = after.split_once('<')?.1;
    }
}

/// Returns the name in a start tag. Returns `None` for a comment, a section or a declaration.
fn name_of(markup: &str) -> Option<&str> {
    let name = markup.split(char::is_whitespace).next();
    name.filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

fn start(text: &str) -> &str {
    let mut end = text.len().min(MAX_XML_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the text after the declaration and the comments before the root.
fn after_prolog(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ => return Some(rest),
        };
        rest = rest.split_once(end)?.1.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::{first, is_certain};

    #[test]
    fn the_first_element_of_an_error_counts() {
        let s3 =
            "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>m</Message></Error>";
        assert_eq!(first(s3, "Code"), Some("SlowDown"));
        assert_eq!(first(s3, "Message"), Some("m"));
        let ec2 = "<Response><Errors><Error><Code> A </Code></Error><Error><Code>B</Code></Error></Errors></Response>";
        assert_eq!(first(ec2, "Code"), Some("A"));
        let named = "<!-- c --><ErrorResponse xmlns=\"http://iam\"><Error><Code>A</Code></Error></ErrorResponse>";
        assert_eq!(first(named, "Code"), Some("A"));
    }

    #[test]
    fn text_without_an_error_root_has_no_elements() {
        for text in [
            "",
            "<Code>A</Code>",
            "<List><Error><Code>A</Code></Error></List>",
            "<Errors><Code>A</Code></Errors>",
            "<Error><Code>A",
            "<Error><Code><B>A</B></Code></Error>",
            "text <Error><Code>A</Code></Error>",
            "<?xml <Error><Code>A</Code></Error>",
        ] {
            assert_eq!(first(text, "Code"), None, "{text}");
        }
        let late = format!("<Error>{}<Code>A</Code></Error>", " ".repeat(4 * 1024));
        assert_eq!(first(&late, "Code"), None);
    }

    #[test]
    fn one_whole_document_with_one_text_is_certain() {
        for text in [
            "<Error><Code>A</Code><Message>m</Message></Error>",
            "<?xml version=\"1.0\"?>\n<!-- c --><Error>\n<Code >A</Code\n></Error>\n",
            "<Response a=\"b\"><Errors><Error><Code>A</Code></Error><Error><Code> A</Code></Error></Errors></Response>",
            "<Error><Code>A</Code><Empty/><Empty /></Error>",
            "<Error/>",
            "",
            "text",
            "<!DOCTYPE html><html><p><b>no room",
        ] {
            assert!(is_certain(text, "Code"), "{text}");
        }
        let whole = "<Error><Code>A</Code><Message>m</Message></Error>";
        for end in "<Error>".len()..whole.len() {
            assert!(!is_certain(&whole[..end], "Code"), "{end}");
        }
    }

    #[test]
    fn an_error_that_can_be_read_in_two_ways_is_not_certain() {
        for text in [
            "<Error><Code>A</Code><Code>B</Code></Error>",
            "<Error><Code>A</Code><Code x=\"1\">B</Code></Error>",
            "<Error><Code>A</Code><Code/></Error>",
            "<Error><Code>A</Code></Error><Error><Code>A</Code></Error>",
            "<Error><Code>A</Code></Error> and more",
            "<Error><!-- <Code>A</Code> --><Code>B</Code></Error>",
            "<Error><![CDATA[<Code>A</Code>]]></Error>",
            "<Error><Code>A</Error></Code>",
            "<Error><Code>A</Code></Errors>",
        ] {
            assert!(!is_certain(text, "Code"), "{text}");
        }
    }
}
