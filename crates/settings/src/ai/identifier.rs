//! Identifiers: ids, keys, and parts of URLs.

use pia_assistant::DEFAULT_MODEL;
use pia_kernel::Secret;

use crate::error::Reason;
use crate::setting::Setting;

/// Maximum length of an id, which appears in lists, logs and the database.
const MAX_ID_CHARS: usize = 100;

/// Id of a catalogue entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryId(pub(super) String);

impl Setting for EntryId {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let id = String::parse(text)?;
        if id.chars().count() > MAX_ID_CHARS {
            return Err(Reason::form(format!("expected at most {MAX_ID_CHARS} characters")));
        }
        if id.contains(',') {
            return Err(Reason::form("expected no comma: ids stand in lists"));
        }
        if id.eq_ignore_ascii_case(DEFAULT_MODEL) {
            let reason =
                format!("`{DEFAULT_MODEL}` stands for the model of a mode, not for an entry");
            return Err(Reason::combination(reason));
        }

        Ok(Self(id))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

/// Key that is valid in a header, or empty.
pub(super) struct ApiKey(pub(super) Secret<String>);

impl Setting for ApiKey {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        if !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Reason::form("expected plain letters, digits and signs without blanks"));
        }
        match text {
            "" => Ok(Self(Secret::new(String::new()))),
            text => Secret::parse(text).map(Self),
        }
    }

    fn format(&self) -> String {
        self.0.expose().clone()
    }
}

/// API version of Azure.
pub(super) struct ApiVersion(pub(super) String);

impl Setting for ApiVersion {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let is_allowed = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.');
        if text.is_empty() || text.len() > 40 || !text.bytes().all(is_allowed) {
            return Err(Reason::form("expected a version such as 2024-10-21"));
        }
        Ok(Self(text.to_owned()))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}
