//! What credits need of the outside world.

use async_trait::async_trait;
use pia_kernel::{SideEffects, GroupId, Unavailable};

use super::admission_request::{AdmissionRequest, Holder};
use super::windows::CreditWindows;
use super::reservation::ReservationGuard;
use super::refusal::BudgetRefusal;
use super::shortage::TruncationCause;
use crate::rates::Micros;

/// What became of an ask.
#[derive(Debug)]
pub enum Admission {
    /// The call may be made.
    Granted {
        /// What was reserved for it.
        hold: ReservationGuard,
        /// How long its answer may be, in tokens.
        output: i64,
        /// What is known of the budget that is in the way of as long an answer
        /// as was asked for.
        short: Option<Box<TruncationCause>>,
    },
    /// It may not.
    Refused(BudgetRefusal),
}

/// A window in which more, or less, is reserved than open calls may spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Which one, as the database names it.
    pub window: String,
    /// What is reserved in it.
    pub reserved: Micros,
    /// What open calls may spend of it.
    pub open: Micros,
}

/// Where credits are counted, for all instances together.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait CreditStore: Send + Sync {
    /// Admits a call if there is enough left in every window that it counts
    /// in, and reserves what it may spend. Dropped before it answers, nothing
    /// stays reserved.
    async fn admit(&self, ask: AdmissionRequest) -> Result<Admission, Unavailable>;

    /// The windows of somebody as they are now.
    async fn books(&self, holder: Holder) -> Result<CreditWindows, Unavailable>;

    /// Gives a group more credits, which do not expire. Answers how much it
    /// was ever given; nothing if there is no such group.
    async fn top_up(
        &self,
        group: GroupId,
        credits: Micros,
        effects: SideEffects,
    ) -> Result<Option<Micros>, Unavailable>;

    /// The windows in which what is reserved is not what open calls may spend.
    async fn check(&self) -> Result<Vec<Mismatch>, Unavailable>;
}
