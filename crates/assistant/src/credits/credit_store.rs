//! Port of the credit store.
//!
//! `storage-assistant` implements it. A reservation holds from `admit` until its guard is
//! dropped, wherever that happens: the guard queues the settlement by itself.

use async_trait::async_trait;
use pia_kernel::{BudgetPeriod, GroupId, SideEffects, Unavailable};

use super::admission_request::{AdmissionRequest, CreditHolder};
use super::group_budget::GroupBudget;
use super::refusal::BudgetRefusal;
use super::reservation::ReservationGuard;
use super::truncation_cause::TruncationCause;
use super::window::Window;
use super::windows::CreditWindows;
use crate::credits::rates::Micros;

/// Counter of credits, shared by all instances.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait CreditStore: Send + Sync {
    /// Admits a call if every window that it counts in has enough left, and
    /// reserves what it may spend. If the future is dropped before it
    /// completes, nothing stays reserved.
    async fn admit(&self, request: AdmissionRequest) -> Result<AdmissionOutcome, Unavailable>;

    /// Loads the current windows of a holder.
    async fn load_windows(&self, holder: CreditHolder) -> Result<CreditWindows, Unavailable>;

    /// Loads the budgets of groups of which at least `min_share` of each credit
    /// is used, the fullest first. Reads at most a thousand windows.
    async fn load_group_budgets(&self, min_share: Micros) -> Result<Vec<GroupBudget>, Unavailable>;

    /// Loads the current windows of this period, of members of the group who called
    /// lately. Reads at most a thousand, those of which most was used when they were
    /// last written.
    async fn load_member_windows(
        &self,
        group: GroupId,
        period: BudgetPeriod,
    ) -> Result<Vec<Window>, Unavailable>;

    /// Adds credits that do not expire to a group: if a total of its top-ups is expected, only if
    /// that is still their total.
    async fn top_up(
        &self,
        group: GroupId,
        credits: Micros,
        expected: Option<Micros>,
        effects: SideEffects,
    ) -> Result<TopUpOutcome, Unavailable>;

    /// Loads the total of a group's top-ups, used or not.
    async fn load_top_ups(&self, group: GroupId) -> Result<Micros, Unavailable>;

    /// Returns the windows whose reserved amount differs from that of the open
    /// calls.
    async fn find_mismatches(&self) -> Result<Vec<CreditMismatch>, Unavailable>;
}

/// Outcome of adding credits to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopUpOutcome {
    /// Credits are added. Has the new total of the group's top-ups.
    Done(Micros),
    /// Top-ups have another total than the expected one.
    Stale,
    /// Group does not exist.
    UnknownGroup,
}

/// Outcome of a request for admission.
#[derive(Debug)]
pub enum AdmissionOutcome {
    /// Call is admitted, and its cost reserved.
    Granted {
        /// Reservation, which settles when it is dropped.
        reservation: ReservationGuard,
        /// Maximum length of its response in tokens.
        output: i64,
        /// Facts about the budget that shortens the requested response.
        truncation_cause: Option<Box<TruncationCause>>,
    },
    /// Call refused by a budget.
    Refused(BudgetRefusal),
}

/// Window whose reserved amount differs from that of the open calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditMismatch {
    /// Key of the window in the database.
    pub window: String,
    /// Amount that the window has reserved.
    pub reserved: Micros,
    /// Amount that open calls may spend.
    pub open: Micros,
}
