//! SCIM 2.0 (RFC 7643, RFC 7644): users and groups that an identity provider
//! manages.

mod routes;
mod scim;

mod groups;
mod users;

mod group_changes;
mod group_resource;
mod user_changes;
mod user_resource;

mod attributes;
mod body;
mod discovery;
mod filter;
mod list;
mod patch;
mod refusals;
mod version;

pub use routes::routes;
pub use scim::Scim;
