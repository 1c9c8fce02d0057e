//! Sealed texts of assignments, events and schedules.
//!
//! Each text is bound to its purpose and to its row's id, so one that was copied to
//! another column or row cannot be opened.

use pia_kernel::Unavailable;
use pia_sealing::{PersonSeal, SealContext};
use pia_storage::{DbError, DbUid};

/// Text of an assignment, an event or a schedule that is stored sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealedText {
    Input,
    Outputs,
    ArtifactJson,
    ArtifactText,
    ErrorMessage,
    EventMessage,
    ScheduleInput,
}

impl SealedText {
    /// Seals the text of a row.
    pub(crate) fn seal(
        self,
        seal: &PersonSeal,
        row: DbUid,
        text: &str,
    ) -> Result<Vec<u8>, Unavailable> {
        seal.seal(self.seal_context(&row), text.as_bytes())
    }

    /// Opens the text of a row; `None` if the row has none.
    pub(crate) fn open(
        self,
        seal: &PersonSeal,
        row: DbUid,
        sealed: Option<Vec<u8>>,
    ) -> Result<Option<String>, Unavailable> {
        let Some(sealed) = sealed else { return Ok(None) };
        let bytes = seal
            .open_long(self.seal_context(&row), sealed)
            .map_err(|err| Unavailable::new("a sealed assignment", err))?
            .reveal();
        let text =
            String::from_utf8(bytes).map_err(|_bytes| DbError::Unreadable(self.purpose()))?;
        Ok(Some(text))
    }

    fn seal_context(self, row: &DbUid) -> SealContext<'_> {
        SealContext { purpose: self.purpose(), row: row.0.as_bytes() }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::Input => "assignment-input",
            Self::Outputs => "assignment-outputs",
            Self::ArtifactJson => "assignment-artifact-json",
            Self::ArtifactText => "assignment-artifact-text",
            Self::ErrorMessage => "assignment-error",
            Self::EventMessage => "assignment-event",
            Self::ScheduleInput => "assignment-schedule-input",
        }
    }
}
