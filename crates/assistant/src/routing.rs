//! Routing: which models a call is sent to, in which order, and how many at once.

pub(crate) mod attempts;
pub(crate) mod catalogue;
pub(crate) mod keys;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod target;
pub(crate) mod upstream_limiter;
