//! JSON that is passed on: only its top level is parsed, values keep their
//! bytes, and large ones are never copied.
//!
//! `serde_json` reads and writes everything that is interpreted. This crate is
//! for the rest: objects of which a few members matter, and bodies that are
//! assembled from slices of other bodies. For a text in one buffer, such as an
//! event of a stream, begin with `Members`; for a body in pieces with `Rope`,
//! which reads it, and `JsonWriter`, which assembles the next one from it.

mod members;
mod nulls;
mod rope;
mod structure;
mod writer;

pub use members::{MemberKey, Members};
pub use nulls::NullStripper;
pub use rope::{Rope, RopeMembers};
pub use structure::structural_bytes;
pub use writer::{JsonWriter, quoted};
