//! SCIM 2.0 (RFC 7643, RFC 7644): users and groups that an identity provider
//! manages.
//!
//! A request takes this path: `routes.rs`, the gates of `web`, a handler in
//! `users.rs` or `groups.rs`, which parses the body (`user_changes.rs`,
//! `group_changes.rs`) or the filter (`filter.rs`) and calls a use case of
//! `identity` or `policy` through `Scim::run`. `user_resource.rs` and
//! `group_resource.rs` build the response. docs/SCIM.md explains how identity
//! providers are connected.

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
