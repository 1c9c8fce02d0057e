//! The upstream models over HTTP: one bounded client for whole answers and
//! for streams, which are cut into frames without copying them, and a dialect
//! for each type of upstream.

mod max_tokens_param;
mod client;
mod dialect;
mod limits;
mod linkup;
mod event_filter;
mod pieces;
mod reading;
mod refusal;
mod json_rope;
mod sampling;
mod single;
mod splitter;
mod tls;
mod tokens;
mod timer;

pub use max_tokens_param::CapNames;
pub use client::{SetupError, Upstream};
pub use limits::Limits;
pub use sampling::Sampling;
pub use tls::{Tls, TlsError};
pub use tokens::O200k;
pub use timer::TokioWaits;

#[cfg(test)]
mod peer;
