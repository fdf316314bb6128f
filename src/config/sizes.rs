//! Sizes in bytes: `512KiB`, `2MiB`, or a number of bytes.

use super::fields::Type;
use super::schema::{forms, text_like};
use super::value::Value;
use serde_json::json;

/// A size in bytes.
pub(super) const fn bytes() -> Type<usize> {
    Type {
        read: |node| {
            let size = match node.value {
                Value::Integer(number) => usize::try_from(*number).ok(),
                Value::Text(text) => size(text),
                _ => None,
            };
            if size.is_none() {
                node.not("a size: write 512KiB, 2MiB or a number of bytes");
            }
            size
        },
        schema: |_| {
            forms([
                (
                    "a number of bytes",
                    json!({"type": "integer", "minimum": 0}),
                ),
                (
                    "a size: 512KiB or 2MiB",
                    text_like("^\\s*[0-9]+\\s*(?:KiB|MiB|GiB|B)\\s*$"),
                ),
            ])
        },
    }
}

/// Only units that mean one thing to everybody: a kB is 1000 bytes to some and 1024 to others.
fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: usize = number.parse().ok()?;
    let of: usize = match unit.trim_start() {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(of)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        assert_eq!(size("2MiB"), Some(2 << 20));
        assert_eq!(size(" 512 KiB "), Some(512 << 10));
        assert_eq!(size("0B"), Some(0));
        for text in ["2MB", "2M", "MiB", "2", "-2MiB", "1.5MiB", "2mib", ""] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(size("99999999999999999999MiB"), None);
        assert_eq!(size("18446744073709551615KiB"), None);
    }
}
