//! The first element of a name in a short XML error.

use super::work;

/// How much of a text is looked at.
const MOST_BYTES: usize = 4 * 1024;
/// The roots that services give their errors.
const ROOTS: [&str; 3] = ["Error", "ErrorResponse", "Response"];

/// What the first element of this name holds, without the blanks around it, in a text whose root says that it is an error.
pub(super) fn first<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let text = start(text);
    work::add(text.len());
    let root = after_prolog(text)?.strip_prefix('<')?;
    let end = root.find(|c: char| !c.is_alphanumeric())?;
    let name = root.get(..end)?;
    if !ROOTS.contains(&name) || tag.is_empty() {
        return None;
    }
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let (_, inner) = root.split_once(open.as_str())?;
    let (held, _) = inner.split_once(close.as_str())?;
    Some(held.trim()).filter(|held| !held.contains('<'))
}

/// Whether a text ends with its root.
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

fn start(text: &str) -> &str {
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

/// What follows the declaration and the comments before the root.
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
    use super::first;

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
    fn what_is_no_error_says_nothing() {
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
}
