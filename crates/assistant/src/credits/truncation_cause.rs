//! Budget that shortened a response.

use pia_kernel::Timestamp;

use super::admission_request::AdmissionRequest;
use super::refusal::BudgetRefusal;
use super::reservation::{Charge, ReservationLine};
use super::windows::CreditWindows;

/// Facts from which the budget that shortened a response is found once the call
/// has ended and its cost counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncationCause {
    /// Windows of the caller, with the reservation.
    pub(super) credit_windows: CreditWindows,
    pub(super) request: AdmissionRequest,
    /// Maximum length of the response in tokens.
    pub(super) output: i64,
    /// Lines of the reservation, which the call's cost replaces.
    pub(super) lines: Vec<ReservationLine>,
}

impl TruncationCause {
    /// Returns the refusal of the budget that blocks a longer response after a
    /// call of this cost.
    pub(crate) fn after(mut self, charge: Charge, now: Timestamp) -> BudgetRefusal {
        let credit_windows = &mut self.credit_windows;
        credit_windows.now = credit_windows.now.max(now);
        let weeks = credit_windows.weeks;
        let now = credit_windows.now;
        // The size of a new week's pool is not known here.
        for window in credit_windows.windows.values_mut().filter(|it| !it.is_over(weeks, now)) {
            window.roll_over(weeks, now);
        }

        credit_windows.settle(&self.lines, charge.amount_to_spend(&self.lines), &self.lines);
        let min_cost = self.request.cost(self.output + 1);
        let full_cost = self.request.cost(self.request.output);

        credit_windows.refusal(&self.request.holder, min_cost, full_cost)
    }
}
