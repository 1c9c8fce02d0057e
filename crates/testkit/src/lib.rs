//! Shared test support. A dev-dependency only: nothing of it ships.

mod clock;
#[cfg(feature = "databases")]
pub mod databases;
#[cfg(feature = "relay")]
pub mod relay;

pub use clock::{FixedClock, ManualClock};
