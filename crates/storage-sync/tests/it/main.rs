//! Contract tests of the storage of synchronised items, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod catalogue;
mod committing;
mod conflicts;
mod paging;
mod person;
mod pushing;
mod resetting;
mod stamp_gaps;
mod statements;
