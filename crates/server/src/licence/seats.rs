//! Number of accounts the licence allows.

use std::sync::Arc;

use pia_identity::{LicenceInForce, Seats};
use pia_kernel::{Clock, LiveSetting};
use pia_policy::{Licence, LicenceState, Licensed};

/// The licence's `maxUsers` and `maxAdmins`, for the domain that creates accounts.
#[derive(Clone)]
pub struct LicenceSeats {
    state: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
}

impl LicenceSeats {
    /// Creates the seats of the current licence in `state`.
    pub fn new(state: LiveSetting<LicenceState>, clock: Arc<dyn Clock>) -> Self {
        Self { state, clock }
    }
}

impl Seats for LicenceSeats {
    fn limit(&self) -> Option<u32> {
        self.allowed(|it| it.max_users)
    }

    fn admins(&self) -> Option<u32> {
        self.allowed(|it| it.max_admins)
    }
}

impl LicenceSeats {
    fn allowed(&self, limit: impl Fn(&Licence) -> Option<u32>) -> Option<u32> {
        match self.state.get().at(self.clock.now()) {
            // No route that creates accounts is open then. Should one be open,
            // the route must not create any number of accounts.
            Licensed::Not => Some(0),
            Licensed::Expired(licence) | Licensed::Valid(licence) => limit(licence),
        }
    }
}

impl LicenceInForce for LicenceSeats {
    fn in_force(&self) -> bool {
        matches!(self.state.get().at(self.clock.now()), Licensed::Valid(_))
    }
}
