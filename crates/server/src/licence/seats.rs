//! How many accounts the licence allows.

use std::sync::Arc;

use pia_identity::Seats;
use pia_kernel::{Clock, Live};
use pia_policy::{LicenceState, Licensed};

/// The licence's `maxUsers`, for the domain that makes accounts.
pub struct LicenceSeats {
    state: Live<LicenceState>,
    clock: Arc<dyn Clock>,
}

impl LicenceSeats {
    /// Seats as the licence in `state` has them at each moment.
    pub fn new(state: Live<LicenceState>, clock: Arc<dyn Clock>) -> Self {
        Self { state, clock }
    }
}

impl Seats for LicenceSeats {
    fn limit(&self) -> Option<u32> {
        match self.state.get().at(self.clock.now()) {
            // No route that makes accounts is open then. Should one be, the
            // answer is none, and not as many as anybody likes.
            Licensed::Not => Some(0),
            Licensed::Expired(licence) | Licensed::Valid(licence) => licence.max_users,
        }
    }
}
