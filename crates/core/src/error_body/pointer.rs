//! Pointers into a JSON text.

use crate::error::ConfigError;
use std::fmt;

/// The most tokens of a pointer. Deeper values are not looked up.
const MAX_POINTER_TOKENS: usize = 32;

/// A pointer into a JSON body, as in RFC 6901, in which `*` matches any member or item, such as
/// `/errors/*/retry_after`. The empty pointer is the whole body.
///
/// ```
/// use http_retry::policy::Pointer;
///
/// let code = Pointer::parse("/error/code")?;
/// assert_eq!(code.to_string(), "/error/code");
/// assert!(Pointer::parse("error.code").is_err());
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer(Box<[Box<str>]>);

impl Pointer {
    /// Parses a pointer.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not empty and does not start with a slash, or if it has more than 32 parts.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = |allowed| Err(ConfigError::new("json", text, allowed));
        if text.is_empty() {
            return Ok(Self(Box::default()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return wrong("a pointer starts with a slash: write /error/code");
        };
        let tokens: Box<[Box<str>]> = rest.split('/').map(unescaped).collect();
        if tokens.len() > MAX_POINTER_TOKENS {
            wrong("a pointer has at most 32 parts")
        } else {
            Ok(Self(tokens))
        }
    }

    /// Returns its parts, without the slashes before them and without their escapes.
    #[must_use]
    pub fn tokens(&self) -> &[Box<str>] {
        &self.0
    }
}

fn unescaped(token: &str) -> Box<str> {
    // RFC 6901, section 4: `~1` is replaced first, or `~01` would become a slash.
    token.replace("~1", "/").replace("~0", "~").into()
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |token: &str| token.replace('~', "~0").replace('/', "~1");
        self.0
            .iter()
            .try_for_each(|token| write!(f, "/{}", escaped(token)))
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_displays_as_it_was_parsed() {
        for text in ["", "/", "/error/code", "/a~1b/~0c/*", "/*/0"] {
            assert_eq!(Pointer::parse(text).unwrap().to_string(), text);
        }
        assert!(Pointer::parse("error/code").is_err());
        assert!(Pointer::parse(&"/a".repeat(33)).is_err());
        assert!(Pointer::parse(&"/a".repeat(32)).is_ok());
    }
}
