//! JSON that is passed on: its surface is read, its values stay as they were
//! written, and what is large is never copied.
//!
//! `serde_json` reads and writes everything that is understood. This is for
//! the rest: objects of which a few members count, and bodies that are put
//! together from slices of other bodies.

mod members;
mod nulls;
mod rope;
mod writer;

pub use members::{MemberKey, Members};
pub use nulls::NullStripper;
pub use rope::{Rope, RopeMembers};
pub use writer::{JsonWriter, quoted};
