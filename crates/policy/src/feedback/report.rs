//! Reports on answers.

use pia_kernel::{FeedbackId, Timestamp, UserId, named_variants};
use serde_json::{Map, Value};
use uuid::Uuid;

named_variants! {
    /// Rating of an answer, with its name on the wire and in the database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Rating {
        /// Answer was good.
        Up = "up",
        /// Answer was bad, or the user complains about it.
        Down = "down",
    }
}

named_variants! {
    /// State of a report's processing, with its name on the wire and in the database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FeedbackStatus {
        /// No administrator has read it.
        New = "new",
        /// Administrator is investigating it.
        Triaged = "triaged",
        /// Report is resolved.
        Closed = "closed",
    }
}

/// Report of a user on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackReport {
    /// Version of the fields' meaning, 1.
    pub schema_version: i32,
    /// Id that the client gave the rated message.
    pub message_id: Uuid,
    /// Chat of the message; `None` if the chat is not stored.
    pub chat_id: Option<Uuid>,
    /// Rating of the answer.
    pub rating: Rating,
    /// Comment of up to 10,000 characters.
    pub comment: Option<String>,
    /// Text of the answer; `None` unless the user added it, and after its retention.
    pub answer_text: Option<String>,
    /// True if personal data in the texts was replaced by tokens.
    pub pii_tokenized: bool,
    /// True if the report is about privacy.
    pub privacy_concern: bool,
    /// Model, as the client labels it.
    pub model: Option<String>,
    /// Time of the answer, by the client's clock.
    pub answered_at: Timestamp,
    /// Time of the report, by the client's clock.
    pub reported_at: Timestamp,
    /// Version of the client: `1.3.1000`.
    pub app_version: Option<String>,
    /// Language of the client: `de-DE`.
    pub locale: Option<String>,
    /// Fields that this version does not know.
    pub extension: Map<String, Value>,
}

/// Report as it is stored, with its processing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackEntry {
    /// Id that the server gave the report.
    pub id: FeedbackId,
    /// User who sent the report.
    pub user: UserId,
    /// Report as the client sent it.
    pub report: FeedbackReport,
    /// Time when it was stored, by the server's clock.
    pub received_at: Timestamp,
    /// State of its processing.
    pub status: FeedbackStatus,
    /// Note of administrators, which is not exported to the user.
    pub note: Option<String>,
    /// Time of the last triage, or of the report's arrival.
    pub updated_at: Timestamp,
}

impl FeedbackEntry {
    /// Creates the entry of a new report.
    pub fn new(id: FeedbackId, user: UserId, report: FeedbackReport, at: Timestamp) -> Self {
        let status = FeedbackStatus::New;
        Self { id, user, report, received_at: at, status, note: None, updated_at: at }
    }
}

impl Rating {
    /// Returns the rating of a name; `None` if there is none. Case matters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl FeedbackStatus {
    /// Returns the state of a name; `None` if there is none. Case matters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
