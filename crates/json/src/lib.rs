//! JSON that is passed on: only its top level is parsed, values keep their
//! bytes, and large ones are never copied.
//!
//! `serde_json` reads and writes everything that is interpreted. This crate is
//! for the rest: objects of which a few members matter, and bodies that are
//! assembled from slices of other bodies.

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
