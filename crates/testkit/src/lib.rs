//! What tests share. A dev-dependency only: nothing of it ships.

mod clock;
#[cfg(feature = "databases")]
pub mod databases;

pub use clock::{FixedClock, ManualClock};
