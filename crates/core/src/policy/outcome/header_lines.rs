//! The lines of a header, the elements of their lists, and the parts of a line by their names.

use crate::server_hints::split;
use http::{HeaderMap, HeaderName};

/// The longest header line that is looked at, in bytes.
const MAX_LINE_BYTES: usize = 1024;
/// The number of lines of a header that are looked at.
const MAX_LINES: usize = 8;
/// The number of elements of a line that are looked at.
const MAX_ELEMENTS: usize = 64;

/// Returns the values of a header: the elements of each line that is a list, and the line itself. A gateway may have
/// folded several lines into one.
pub(in crate::policy) fn values<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    lines(headers, name).flat_map(|line| {
        let list = Some(line).filter(|line| line.contains(','));
        let elements = list.into_iter().flat_map(split).take(MAX_ELEMENTS);
        elements.chain([line])
    })
}

/// Returns the lines of a header that are short enough to be looked at.
pub(in crate::policy) fn lines<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = headers.get_all(name).iter().take(MAX_LINES);
    let short = lines.filter(|line| line.len() <= MAX_LINE_BYTES);
    short.filter_map(|line| std::str::from_utf8(line.as_bytes()).ok())
}

/// Returns the values of a part by its name: `left` in `used=3, left=2`, and in `{"used":3,"left":2}`.
pub(in crate::policy) fn parts<'a>(line: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let bare = |text: &'a str| text.trim_matches(['"', '{', '}', '[', ']', ' ', '\t']);
    line.split([',', ';', '&']).filter_map(move |part| {
        let (own, value) = part.split_once(['=', ':'])?;
        let same = bare(own).eq_ignore_ascii_case(name);
        same.then(|| bare(value))
    })
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_part_is_found_in_a_list_and_in_json() {
        let json =
            r#"{"112": [{"type":"ads", "calls":95,"minutes":0}, {"type":"pages","minutes": 19}]}"#;
        for (line, name, wanted) in [
            ("used=3, left=2", "left", vec!["2"]),
            (r#"Left: "2"; left=4"#, "left", vec!["2", "4"]),
            (r#"{"used":3,"left":2}"#, "used", vec!["3"]),
            (json, "minutes", vec!["0", "19"]),
            (json, "Calls", vec!["95"]),
            (json, "minute", vec![]),
            (json, "112", vec![r#"type":"ads"#]),
        ] {
            assert_eq!(parts(line, name).collect::<Vec<_>>(), wanted, "{line}");
        }
    }
}
