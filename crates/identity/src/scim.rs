//! Provisioning of users by an identity provider (SCIM 2.0, RFC 7643).

pub(crate) mod tokens;
pub(crate) mod user;
pub(crate) mod users;
