//! The upstream models over HTTP: one bounded client for whole answers and
//! for streams, which are cut into frames without copying them, and a dialect
//! for each type of upstream.

mod caps;
mod client;
mod dialect;
mod limits;
mod linkup;
mod look;
mod pieces;
mod reading;
mod refusal;
mod rope;
mod sampling;
mod single;
mod splitter;
mod tls;
mod tokens;
mod waits;

pub use caps::CapNames;
pub use client::{SetupError, Upstream};
pub use limits::Limits;
pub use sampling::Sampling;
pub use tls::{Tls, TlsError};
pub use tokens::O200k;
pub use waits::TokioWaits;

#[cfg(test)]
mod peer;
