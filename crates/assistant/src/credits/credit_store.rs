//! Port of credits.

use async_trait::async_trait;
use pia_kernel::{GroupId, SideEffects, Unavailable};

use super::admission_request::{AdmissionRequest, CreditHolder};
use super::refusal::BudgetRefusal;
use super::reservation::ReservationGuard;
use super::truncation_cause::TruncationCause;
use super::windows::CreditWindows;
use crate::credits::rates::Micros;

/// Outcome of a request for admission.
#[derive(Debug)]
pub enum Admission {
    /// The call may be made.
    Granted {
        /// Reservation of the call.
        reservation: ReservationGuard,
        /// Maximum length of its answer, in tokens.
        output: i64,
        /// Facts about the budget that shortens the requested answer.
        truncation_cause: Option<Box<TruncationCause>>,
    },
    /// Call refused by a budget.
    Refused(BudgetRefusal),
}

/// A window in which more, or less, is reserved than open calls may spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditMismatch {
    /// Key of the window in the database.
    pub window: String,
    /// Amount that is reserved in it.
    pub reserved: Micros,
    /// Amount of it that open calls may spend.
    pub open: Micros,
}

/// Counter of credits, shared by all instances.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait CreditStore: Send + Sync {
    /// Admits a call if there is enough left in every window that it counts
    /// in, and reserves what it may spend. Dropped before it answers, nothing
    /// stays reserved.
    async fn admit(&self, ask: AdmissionRequest) -> Result<Admission, Unavailable>;

    /// The windows of somebody as they are now.
    async fn load_windows(&self, holder: CreditHolder) -> Result<CreditWindows, Unavailable>;

    /// Gives a group more credits, which do not expire. Answers how much it
    /// was ever given; nothing if there is no such group.
    async fn top_up(
        &self,
        group: GroupId,
        credits: Micros,
        effects: SideEffects,
    ) -> Result<Option<Micros>, Unavailable>;

    /// The windows in which what is reserved is not what open calls may spend.
    async fn find_mismatches(&self) -> Result<Vec<CreditMismatch>, Unavailable>;
}
