//! Setters of the policy called on an adapter: a compile error that names the policy's builder.
//!
//! Without these, rustc only says that there is no such method. They cannot be called, since nothing implements
//! [`SetOnPolicy`].

/// The bound that no argument meets.
#[diagnostic::on_unimplemented(
    message = "this is a setting of the policy: set it before the policy is built",
    label = "write `RetryPolicy::builder()` or `policy.to_builder()`, then this, then `.build()?`"
)]
pub trait SetOnPolicy {}

/// Defines setters that cannot be called, with the names that the core has for its builder's setters.
macro_rules! policy_settings {
    ($($name:ident)+) => {
        $(
            #[doc(hidden)]
            pub fn $name<T: crate::engine::SetOnPolicy>(&self, _: T) {}
        )+
    };
}

pub(crate) use policy_settings;
