//! Store of feedback; implemented in `storage-policy`.

use async_trait::async_trait;
use pia_kernel::{
    FeedbackId, Page, PageRequest, SideEffects, TimeOrder, Timestamp, Unavailable, UserId,
};

use super::report::{FeedbackEntry, FeedbackStatus, Rating};

/// Store of reports.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// Stores a report.
    async fn add(&self, entry: FeedbackEntry, effects: SideEffects) -> Result<(), Unavailable>;

    /// Returns a page of the selected reports, in their order.
    async fn page(
        &self,
        filter: FeedbackFilter,
        page: PageRequest,
    ) -> Result<Page<FeedbackEntry>, Unavailable>;

    /// Returns a report.
    async fn find(&self, id: FeedbackId) -> Result<Option<FeedbackEntry>, Unavailable>;

    /// Changes state and note of a report. Of concurrent changes that expect
    /// the same version, one succeeds.
    async fn triage(
        &self,
        id: FeedbackId,
        update: TriageUpdate,
        effects: SideEffects,
    ) -> Result<FeedbackChangeOutcome, Unavailable>;

    /// Deletes the answers in reports received before `answers`, and the
    /// reports received before `reports`. Returns the number of changed rows.
    async fn sweep(&self, answers: Timestamp, reports: Timestamp) -> Result<u64, Unavailable>;
}

/// Selection of reports; an omitted criterion selects all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedbackFilter {
    /// Reports in this state.
    pub status: Option<FeedbackStatus>,
    /// Reports with this rating.
    pub rating: Option<Rating>,
    /// Reports of this user.
    pub user: Option<UserId>,
    /// Order of the reports.
    pub order: TimeOrder,
}

/// Change of a report by an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriageUpdate {
    /// New state; `None` leaves it unchanged.
    pub status: Option<FeedbackStatus>,
    /// New note; an empty one removes the note, `None` leaves it unchanged.
    pub note: Option<String>,
    /// Time of the change. The stored one is later than the last.
    pub at: Timestamp,
    /// Time of the last change that the administrator loaded; `None` accepts any.
    pub expected: Option<Timestamp>,
}

/// Outcome of changing a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedbackChangeOutcome {
    /// Report was changed; the new entry.
    Done(Box<FeedbackEntry>),
    /// No such report.
    Unknown,
    /// Report has another version than the expected one.
    Stale,
}
