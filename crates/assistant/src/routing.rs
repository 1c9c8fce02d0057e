//! Routing: choice of the models for a call, their order, and limits on
//! upstreams.
//!
//! `turn.rs` uses the files in this order: `route.rs` chooses the models,
//! `upstream_limiter.rs` admits the call to one of them, `keys.rs` orders its keys, and
//! after a failure `attempts.rs` decides whether the next key or model is tried, while
//! `refusal.rs` explains the last failure to the caller.

pub(crate) mod attempts;
pub(crate) mod catalogue;
pub(crate) mod keys;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod target;
pub(crate) mod upstream_limiter;
