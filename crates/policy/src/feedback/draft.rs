//! Reports as clients send them, and their rules.
//!
//! Unknown fields are collected in `extension`, up to a size, so that newer clients may
//! add some.

use pia_kernel::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::report::{FeedbackReport, Rating};
use crate::violation::{FormCheck, Violation};

const MAX_COMMENT_CHARS: usize = 10_000;
const MAX_ANSWER_CHARS: usize = 200_000;
const MAX_LABEL_CHARS: usize = 255;
const MAX_EXTENSION_BYTES: usize = 16 * 1024;

/// Report as a client sent it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the fields of `FeedbackReport`")]
pub struct FeedbackDraft {
    pub schema_version: Option<i32>,
    pub message_id: Option<Uuid>,
    pub chat_id: Option<Uuid>,
    pub rating: Option<String>,
    pub comment: Option<String>,
    pub answer_text: Option<String>,
    pub pii_tokenized: Option<bool>,
    pub privacy_concern: Option<bool>,
    pub model: Option<String>,
    pub answered_at: Option<Timestamp>,
    pub reported_at: Option<Timestamp>,
    pub app_version: Option<String>,
    pub locale: Option<String>,
    pub extension: Map<String, Value>,
}

impl FeedbackDraft {
    /// Validates the report and trims its texts. Lists every violation.
    pub fn validate(self) -> Result<FeedbackReport, Vec<Violation>> {
        let mut check = FormCheck::default();
        let rating = self.rating.as_deref().and_then(Rating::from_name);
        if self.rating.is_some() {
            check.rule("rating", rating.is_some(), "rating must be \"up\" or \"down\".");
        }

        check.rule(
            "schemaVersion",
            self.schema_version.is_none_or(|it| it == 1),
            "schemaVersion must be 1.",
        );
        let extension = serde_json::to_string(&self.extension).map_or(usize::MAX, |it| it.len());
        if extension > MAX_EXTENSION_BYTES {
            let message = format!("Further fields must have at most {MAX_EXTENSION_BYTES} bytes.");
            check.refuse("", "too_long", message);
        }

        let required = [
            ("schemaVersion", self.schema_version.is_some()),
            ("messageId", self.message_id.is_some()),
            ("rating", self.rating.is_some()),
            ("piiTokenized", self.pii_tokenized.is_some()),
            ("answeredAt", self.answered_at.is_some()),
            ("reportedAt", self.reported_at.is_some()),
        ];

        for (field, _) in required.into_iter().filter(|it| !it.1) {
            check.refuse(field, "required", format!("{field} is required."));
        }

        let report = FeedbackReport {
            schema_version: self.schema_version.unwrap_or(1),
            message_id: self.message_id.unwrap_or_default(),
            chat_id: self.chat_id,
            rating: rating.unwrap_or(Rating::Down),
            comment: check.text("comment", self.comment, MAX_COMMENT_CHARS),
            answer_text: check.text("answerText", self.answer_text, MAX_ANSWER_CHARS),
            pii_tokenized: self.pii_tokenized.unwrap_or_default(),
            privacy_concern: self.privacy_concern.unwrap_or_default(),
            model: check.line("model", self.model, MAX_LABEL_CHARS),
            answered_at: self.answered_at.unwrap_or(Timestamp::UNIX_EPOCH),
            reported_at: self.reported_at.unwrap_or(Timestamp::UNIX_EPOCH),
            app_version: check.line("appVersion", self.app_version, MAX_LABEL_CHARS),
            locale: check.line("locale", self.locale, MAX_LABEL_CHARS),
            extension: self.extension,
        };

        if check.violations.is_empty() { Ok(report) } else { Err(check.violations) }
    }
}
