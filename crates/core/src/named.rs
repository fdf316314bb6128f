//! Enums whose variants have stable names, for logs, metric labels and documents.

/// Gives an enum its `ALL`, `NAMES`, `as_str` and `Display`, from one table of its variants in declaration order. If the
/// table has a sentence for each variant, the enum also gets `explain`.
macro_rules! named {
    ($type:ident { $($variant:ident => $name:literal,)+ }) => {
        impl $type {
            /// Every variant, in declaration order: for a test or a dashboard that must know each.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Every variant by its name, for parsers of documents.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant)),+];

            /// Returns a stable name for logs and metric labels: the variant's name in snake case.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// As its name.
        #[cfg(feature = "serde")]
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    ($type:ident { $($variant:ident => $name:literal, $sentence:literal;)+ }) => {
        crate::named::named! { $type { $($variant => $name,)+ } }

        impl $type {
            /// Returns it as a sentence for people, with a remedy if there is one.
            #[must_use]
            pub fn explain(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)+
                }
            }
        }
    };
}

pub(crate) use named;

#[cfg(test)]
mod tests {
    use crate::policy::Reason;
    use crate::report::LeaveReason;
    use crate::{Class, ErrorKind, StopReason};
    use std::fmt::Debug;

    /// Returns the name of a variant in snake case.
    fn snake(variant: &impl Debug) -> String {
        let mut name = String::new();
        for letter in format!("{variant:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    #[test]
    fn a_name_is_in_snake_case_and_an_explanation_a_sentence() {
        macro_rules! check {
            ($($type:ty),+) => {$(
                for (one, (name, named)) in <$type>::ALL.iter().zip(<$type>::NAMES) {
                    assert_eq!((*name, named), (one.as_str(), one));
                    assert_eq!(*name, snake(one));
                    assert_eq!(*name, one.to_string());
                    assert!(one.explain().ends_with('.'), "{name}");
                }
            )+};
        }
        check!(Class, LeaveReason, Reason, StopReason);
        for kind in ErrorKind::ALL {
            assert_eq!(kind.as_str(), snake(kind));
        }
    }
}
