//! A failover: how a request comes from one server to another.

use http::Uri;

/// A request's way from one base URL to another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Move {
    pub(crate) from: Option<Uri>,
    pub(crate) to: Uri,
}

impl Move {
    /// The same place below the other base URL; nothing if that is no URI.
    pub(crate) fn of(&self, target: &Uri) -> Option<Uri> {
        let whole = target.path();
        let from = self
            .from
            .as_ref()
            .map_or("", Uri::path)
            .trim_end_matches('/');
        let below = whole
            .strip_prefix(from)
            .filter(|below| below.is_empty() || below.starts_with('/'));
        let to = self.to.path().trim_end_matches('/');
        let path = match (to, below.unwrap_or(whole)) {
            ("", "") => "/".to_owned(),
            (to, below) => format!("{to}{below}"),
        };
        let path = match target.query() {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        let mut parts = self.to.clone().into_parts();
        parts.path_and_query = Some(path.parse().ok()?);
        Uri::from_parts(parts).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_moves_from_one_base_url_to_another() {
        let moved = |from: Option<&str>, to: &str, target: &str| {
            let of = Move {
                from: from.map(|from| from.parse().unwrap()),
                to: to.parse().unwrap(),
            };
            of.of(&target.parse().unwrap()).unwrap().to_string()
        };
        let target = "http://a/v1/chat?n=1";
        assert_eq!(moved(None, "https://b", target), "https://b/v1/chat?n=1");
        assert_eq!(
            moved(None, "https://b:8/api/", target),
            "https://b:8/api/v1/chat?n=1"
        );
        assert_eq!(
            moved(Some("http://a/v1"), "https://b/api/v1", target),
            "https://b/api/v1/chat?n=1"
        );
        assert_eq!(
            moved(Some("http://a/v"), "https://b", target),
            "https://b/v1/chat?n=1"
        );
        assert_eq!(moved(None, "https://b", "http://a"), "https://b/");
    }
}
