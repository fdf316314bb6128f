//! Services, and what each place of them says.

mod summary;

pub use summary::RouteSummary;
pub(crate) use summary::routes;
