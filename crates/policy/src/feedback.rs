//! Feedback of users on answers of the assistant.
//!
//! A user submits a report, and administrators triage it. `sweep` is run by
//! maintenance: it first clears the texts of answers, and later deletes whole reports.

mod draft;
mod ports;
mod report;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, FeedbackId, LiveSetting, Mail, Page, PageRequest, QueuedEmail, SideEffects, Timestamp,
    Unavailable, UserId,
};

pub use draft::FeedbackDraft;
#[cfg(any(test, feature = "mock"))]
pub use ports::MockFeedbackStore;
pub use ports::{FeedbackChangeOutcome, FeedbackFilter, FeedbackStore, TriageUpdate};
pub use report::{FeedbackEntry, FeedbackReport, FeedbackStatus, Rating};

use crate::violation::{FormCheck, Violation};

const MAX_NOTE_CHARS: usize = 4000;

/// Recipients and retention of feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackSettings {
    /// Addresses that get an email for each negative report.
    pub recipients: Vec<String>,
    /// Time after which a rated answer's text is deleted from its report.
    pub answer_retention: Duration,
    /// Time after which a report is deleted.
    pub report_retention: Duration,
}

/// Result of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackReceipt {
    /// Id of the report.
    pub id: FeedbackId,
    /// True if an email about it is queued: negative reports, while email is
    /// configured and there are recipients.
    pub notified: bool,
}

/// Change of a report's status and note by an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackChange {
    /// New status; `None` leaves it unchanged.
    pub status: Option<FeedbackStatus>,
    /// New note; a blank one removes the note, `None` leaves it unchanged.
    pub note: Option<String>,
}

/// Errors that prevent feedback from being stored, read or triaged.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// Request is invalid.
    #[error("the request is invalid")]
    Invalid(Vec<Violation>),
    /// No such report.
    #[error("there is no such report")]
    Unknown,
    /// Report was changed since the caller read it.
    #[error("the report was changed in the meantime")]
    Stale,
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Stores users' reports on answers, and lets administrators triage them.
#[derive(Clone)]
pub struct Feedback {
    store: Arc<dyn FeedbackStore>,
    settings: LiveSetting<FeedbackSettings>,
    sends_mail: LiveSetting<bool>,
    clock: Arc<dyn Clock>,
}

impl Feedback {
    /// Creates the use case; `sends_mail` is true while email delivery is configured.
    pub fn new(
        store: Arc<dyn FeedbackStore>,
        settings: LiveSetting<FeedbackSettings>,
        sends_mail: LiveSetting<bool>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, settings, sends_mail, clock }
    }

    /// Stores a report. A negative one is emailed too, without the answer's
    /// text.
    pub async fn submit(
        &self,
        user: UserId,
        draft: FeedbackDraft,
    ) -> Result<FeedbackReceipt, FeedbackError> {
        let report = draft.validate().map_err(FeedbackError::Invalid)?;
        let at = self.clock.now();
        let id = FeedbackId::generate();
        let mail = self.emails(id, &report, at);
        let notified = !mail.is_empty();
        let entry = FeedbackEntry::new(id, user, report, at);
        self.store.add(entry, SideEffects { audit: Vec::new(), mail }).await?;
        Ok(FeedbackReceipt { id, notified })
    }

    /// Returns a page of the reports, newest first.
    pub async fn page(
        &self,
        filter: FeedbackFilter,
        page: PageRequest,
    ) -> Result<Page<FeedbackEntry>, Unavailable> {
        self.store.page(filter, page).await
    }

    /// Returns a report.
    pub async fn find(&self, id: FeedbackId) -> Result<FeedbackEntry, FeedbackError> {
        self.store.find(id).await?.ok_or(FeedbackError::Unknown)
    }

    /// Changes status and note of a report. `expected` is the version that the
    /// administrator read; `None` accepts any.
    pub async fn triage(
        &self,
        by: UserId,
        id: FeedbackId,
        change: FeedbackChange,
        expected: Option<Timestamp>,
    ) -> Result<FeedbackEntry, FeedbackError> {
        let FeedbackChange { status, note } = change;
        let mut check = FormCheck::default();
        let note = note.map(|it| check.text("note", Some(it), MAX_NOTE_CHARS).unwrap_or_default());
        if !check.violations.is_empty() {
            return Err(FeedbackError::Invalid(check.violations));
        }

        let at = self.clock.now();
        let object = format!("feedback:{id}");
        let effects = SideEffects::of_object(at, Some(by), object, "Feedback.Triaged");
        match self.store.triage(id, TriageUpdate { status, note, at, expected }, effects).await? {
            FeedbackChangeOutcome::Done(entry) => Ok(*entry),
            FeedbackChangeOutcome::Unknown => Err(FeedbackError::Unknown),
            FeedbackChangeOutcome::Stale => Err(FeedbackError::Stale),
        }
    }

    /// Deletes answers and reports whose retention ended. Returns how many
    /// rows changed.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        let now = self.clock.now();
        let settings = self.settings.get();
        let answers = settings.answer_retention;
        let reports = settings.report_retention;
        self.store.sweep(now - answers, now - reports).await
    }

    fn emails(&self, id: FeedbackId, report: &FeedbackReport, at: Timestamp) -> Vec<Mail> {
        if report.rating != Rating::Down || !*self.sends_mail.get() {
            return Vec::new();
        }
        let email = QueuedEmail::new("answer-reported")
            .with("id", id.to_string())
            .with("comment", report.comment.clone().unwrap_or_default());
        let recipients = &self.settings.get().recipients;
        recipients.iter().map(|it| email.clone().to_address(at, it.clone())).collect()
    }
}

#[cfg(test)]
mod tests;
