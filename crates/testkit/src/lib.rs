//! Shared test support. A dev-dependency only: nothing of it ships.

mod clock;
#[cfg(feature = "databases")]
pub mod databases;
mod location_database;
#[cfg(feature = "relay")]
pub mod relay;

pub use clock::{FixedClock, ManualClock};
pub use location_database::location_database;
