//! The macro that makes the types of a policy's settings from one table.

/// Generates from a table of settings:
///
/// - `Settings`, which has a value for each, with their checks and their lines in an explanation,
/// - `PartialSettings`, those that were set on a builder, and the builder's setters,
/// - [`RetryOverride`](crate::RetryOverride), with those that a request may set,
/// - a macro that passes their names to another one, and hints for those who call a setter on a policy.
///
/// A row has these parts, of which those after `set` may be left out:
///
/// ```text
/// NAME: TYPE {
///     default VALUE;
///     /// The documentation of the builder's setter.
///     set(ARGUMENT: ITS TYPE) => VALUE;
///     /// The documentation of the request's setter.
///     request(ARGUMENT: ITS TYPE) -> TYPE => VALUE, open if |settings| THE POLICY LEAVES IT OPEN;
///     check |settings| RESULT;
///     explain |settings, worst| THE LINE, OR NONE;
/// }
/// ```
macro_rules! settings {
    (
        $(#[$about:meta])*
        names $names:ident, with those of other setters: $($other:ident)+;

        $($setting:ident: $type:ty {
            default $default:expr;
            $(#[$doc:meta])*
            set($value:ident: $given:ty) => $set:expr;
            $(
                $(#[$own_doc:meta])*
                request($own_value:ident: $own_given:ty) -> $own:ty => $own_set:expr, open if $open:expr;
            )?
            $(check $check:expr;)?
            $(explain $line:expr;)?
        })+
    ) => {
        /// The settings of a policy.
        #[derive(Clone)]
        pub(super) struct Settings {
            pub(super) name: Cow<'static, str>,
            /// Set if a builder has changed the settings since they got that name.
            pub(super) changed: bool,
            /// Set if the settings are the preset without retries, unchanged.
            pub(super) never: bool,
            $(pub(super) $setting: $type,)+
            pub(super) classifiers: Classifiers,
            pub(super) own_errors: Vec<ErrorJudge>,
            pub(super) rewrite: Option<Arc<dyn Rewrite>>,
            pub(super) streams: Option<Arc<dyn StreamHolder>>,
            pub(super) rules: Rules,
        }

        impl Settings {
            /// Creates settings of this name that are all at their defaults, which are those of the preset
            /// `background`.
            pub(super) fn new(name: &'static str) -> Self {
                Self {
                    name: name.into(),
                    changed: false,
                    never: false,
                    $($setting: $default,)+
                    classifiers: Classifiers::default(),
                    own_errors: Vec::new(),
                    rewrite: None,
                    streams: None,
                    rules: Rules::default(),
                }
            }

            /// Checks the settings of the table, in its order.
            pub(super) fn check(&self) -> Result<(), ConfigError> {
                $($({
                    let check: fn(&Self) -> Result<(), ConfigError> = $check;
                    check(self)?;
                })?)+
                Ok(())
            }

            /// Returns the lines of an explanation for the settings of the table, in its order.
            pub(super) fn lines(&self, worst: &WorstCase) -> Vec<String> {
                let mut lines = Vec::new();
                $($({
                    let line: fn(&Self, &WorstCase) -> Option<String> = $line;
                    lines.extend(line(self, worst));
                })?)+
                lines
            }
        }

        impl fmt::Debug for Settings {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("Settings")
                    .field("name", &self.name)
                    $(.field(stringify!($setting), &self.$setting))+
                    .finish_non_exhaustive()
            }
        }

        /// The settings of the table that were set on a builder.
        #[derive(Clone, Debug, Default)]
        pub(super) struct PartialSettings {
            $(pub(super) $setting: Option<$type>,)+
        }

        impl PartialSettings {
            /// Returns these settings with those of a policy in place of those not set.
            pub(super) fn over(self, below: Settings) -> Settings {
                Settings {
                    $($setting: self.$setting.unwrap_or(below.$setting),)+
                    ..below
                }
            }
        }

        impl RetryPolicyBuilder {
            $(
                $(#[$doc])*
                pub fn $setting(mut self, $value: $given) -> Self {
                    self.given.$setting = Some($set);
                    self
                }
            )+
        }

        impl RetryPolicy {
            $(
                #[doc(hidden)]
                pub fn $setting<T: SetOnBuilder>(&self, _: T) {}
            )+
            $(
                #[doc(hidden)]
                pub fn $other<T: SetOnBuilder>(&self, _: T) {}
            )+
        }

        /// One request's own settings, which override the policy's; put them into the request's extensions.
        ///
        /// With tower and hyper these are the extensions of `http::Request`; with reqwest-middleware, those of
        /// `RequestBuilder::with_extension` or `execute_with_extensions`. A bare `reqwest::Request` keeps its
        /// extensions private, so there only the policy decides. A setting that is not set stays as in the policy.
        ///
        /// ```
        /// use http_retry::RetryOverride;
        /// use std::time::Duration;
        ///
        /// let mut request = http::Request::new(());
        /// request.extensions_mut().insert(
        ///     RetryOverride::new()
        ///         .max_retries(1)
        ///         .deadline(Duration::from_secs(3))
        ///         .service("payments"),
        /// );
        /// ```
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct RetryOverride {
            pub(crate) off: bool,
            $($(pub(crate) $setting: Option<$own>,)?)+
            pub(crate) idempotent: Option<bool>,
            pub(crate) service: Option<Arc<str>>,
            pub(crate) retry_when_nested: bool,
            pub(crate) never_resumed: bool,
        }

        impl RetryOverride {
            pub(super) const NOTHING: Self = Self {
                off: false,
                $($($setting: None::<$own>,)?)+
                idempotent: None,
                service: None,
                retry_when_nested: false,
                never_resumed: false,
            };

            $($(
                $(#[$own_doc])*
                #[must_use]
                pub fn $setting(self, $own_value: $own_given) -> Self {
                    Self {
                        $setting: Some($own_set),
                        ..self
                    }
                }
            )?)+

            /// Returns these settings with earlier ones in place of those not set, limited to what a session needs.
            /// [`off`](Self::off) stays.
            pub(super) fn over(&self, before: &Self) -> Self {
                Self {
                    off: self.off || before.off,
                    $($($setting: Option::<$own>::or(self.$setting, before.$setting),)?)+
                    idempotent: self.idempotent.or(before.idempotent),
                    ..Self::NOTHING
                }
            }

            /// Returns these settings without those of the table that a policy does not leave open.
            pub(super) fn filling(self, policy: &Settings) -> Self {
                Self {
                    // Turning retries off sets their number, to 0.
                    off: self.off && is_open(&policy.rules, "max_retries", false),
                    $($($setting: self.$setting.filter(|_: &$own| {
                        let open: fn(&Settings) -> bool = $open;
                        is_open(&policy.rules, stringify!($setting), open(policy))
                    }),)?)+
                    ..self
                }
            }
        }

        $(#[$about])*
        macro_rules! $names {
            ($receiver:path) => {
                $receiver! { $($setting)+ $($other)+ }
            };
        }
    };
}

pub(super) use settings;
