//! HTTP access to upstream models: a client with limits for full responses and
//! for streams, which are split into frames without copying, and a dialect for
//! each type of upstream.
//!
//! `Upstream` implements the port `ChatUpstream` of `assistant`. A streamed call passes
//! `client.rs` (sending, with retries for refused parameters), `dialect.rs` (request in
//! the upstream's format), `reading.rs` (timeouts), `splitter.rs` (frames) and the
//! dialect's translation of the frames. Read `client.rs` first. `linkup.rs` implements the
//! port `WebSearch`, and `tokens.rs` the port `TokenCounter`.

mod client;
mod dialect;
mod event_filter;
mod limits;
mod linkup;
mod max_tokens_support;
mod pieces;
mod reading;
mod refusal;
mod sampling;
mod single;
mod splitter;
mod timer;
mod tls;
mod tokens;

pub use client::{Upstream, UpstreamSetupError};
pub use limits::UpstreamLimits;
pub use max_tokens_support::MaxTokensSupport;
pub use sampling::SamplingSupport;
pub use timer::TokioTimer;
pub use tls::{Tls, TlsError};
pub use tokens::O200k;

#[cfg(test)]
mod peer;
