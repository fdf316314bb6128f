//! Building blocks for those that set policies and services, or show how they are set: documents, routers, and programs for
//! operators.
//!
//! [`PolicyExt`] tells what a policy is set to. The patterns of hosts and paths are checked here and brought to the normal
//! form in which requests are matched; a [`HostMap`] finds what belongs to a host, and a [`SharedMap`] shares its entries
//! with its clones. `http-retry-config` and `http-retry-services` are built on this module.

pub use crate::normal_form::{
    authority_of_url, base_url, host_pattern, path_pattern, public_authority, scheme_pattern,
};
pub use crate::policy::ext::PolicyExt;
pub use crate::policy::framing::{CLIENT_HEADER, is_client_header};
pub use crate::policy::rules::rule::check_name;
pub use crate::route::host_map::HostMap;
pub use crate::route::shared_map::SharedMap;
