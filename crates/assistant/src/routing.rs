//! Routing: choice of the models for a call, their order, and limits on
//! upstreams.

pub(crate) mod attempts;
pub(crate) mod catalogue;
pub(crate) mod keys;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod target;
pub(crate) mod upstream_limiter;
