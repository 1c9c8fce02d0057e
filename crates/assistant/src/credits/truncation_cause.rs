//! A budget that is in the way of as long an answer as was asked for.

use pia_kernel::Timestamp;

use super::admission_request::AdmissionRequest;
use super::refusal::BudgetRefusal;
use super::reservation::{Charge, ReservationLine};
use super::windows::CreditWindows;

/// Facts needed to name, when the call has ended, the budget that had cut off
/// its answer: the call's cost counts then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncationCause {
    /// The windows of who asked, with what was reserved.
    pub(super) credit_windows: CreditWindows,
    pub(super) ask: AdmissionRequest,
    /// Maximum length of the answer, in tokens.
    pub(super) output: i64,
    /// Lines of the reservation.
    pub(super) parts: Vec<ReservationLine>,
}

impl TruncationCause {
    /// Returns the budget that was in the way, as of now, after a call of this
    /// cost.
    pub(crate) fn after(mut self, charge: Charge, now: Timestamp) -> BudgetRefusal {
        let credit_windows = &mut self.credit_windows;
        credit_windows.now = credit_windows.now.max(now);
        let (weeks, now) = (credit_windows.weeks, credit_windows.now);
        // What a new week has brought is not known here.
        for window in credit_windows.windows.values_mut().filter(|it| !it.is_over(weeks, now)) {
            window.roll_over(weeks, now);
        }
        credit_windows.settle(&self.parts, charge.spent(&self.parts), &self.parts);
        let (least, wanted) = (self.ask.cost(self.output + 1), self.ask.cost(self.ask.output));
        credit_windows.refusal(&self.ask.holder, least, wanted)
    }
}
