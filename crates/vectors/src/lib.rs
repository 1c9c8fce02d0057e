//! Vector stores: an engine within this process for a single instance, and a
//! Qdrant server for several.
//!
//! Both have one point for each chunk, with a dense vector, a sparse one of
//! terms and the base that scopes searches. They are an index over the database,
//! which can be rebuilt at any time.
//!
//! `embedded.rs` and `server.rs` implement `VectorStore` of `knowledge`, in which the
//! contract is described. Each has a file `request.rs` that builds the same requests
//! for its engine: what they must agree on is in `layout.rs` and `format.rs`.

mod embedded;
mod format;
mod layout;
mod server;
mod setup_error;

pub use embedded::EmbeddedVectors;
pub use server::ServerVectors;
pub use setup_error::VectorSetupError;
