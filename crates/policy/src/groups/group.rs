//! Groups and their names.

use pia_kernel::{GroupId, Timestamp, utf16_len};

/// Maximum length of a name in characters.
const MAX_NAME_CHARS: usize = 100;

/// Group of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Id of the group.
    pub id: GroupId,
    /// Name of the group, unique without regard to case.
    pub name: GroupName,
    /// True if new accounts are members of it.
    pub is_default: bool,
    /// Id at the identity provider that manages it, unique; `None` if none does.
    pub external_id: Option<String>,
    /// Time of its creation.
    pub created_at: Timestamp,
}

/// Group as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupEntry {
    /// Group without its members.
    pub group: Group,
    /// Number of accounts in it, including deactivated ones.
    pub members: u64,
}

/// Name of a group: 1 to 100 characters, none of which is invisible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupName(String);

/// Errors that make a group name invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Name is empty.
    #[error("a group's name must not be empty")]
    Empty,
    /// Name is too long.
    #[error("a group's name has {MAX_NAME_CHARS} characters at most")]
    TooLong,
    /// Name contains control characters.
    #[error("a group's name has no control characters")]
    Control,
}

impl GroupName {
    /// Parses a name that an administrator entered.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if utf16_len(name) > MAX_NAME_CHARS {
            return Err(NameError::TooLong);
        }
        if name.chars().any(char::is_control) {
            return Err(NameError::Control);
        }
        Ok(Self(name.to_owned()))
    }

    /// Wraps a name loaded from the database.
    pub fn from_stored(name: String) -> Self {
        Self(name)
    }

    /// Returns the name as it was spelled.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form in which names are compared.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_and_compared_without_regard_to_case() {
        let name = GroupName::parse("  Ärzte Nord ").unwrap();

        assert_eq!(name.as_str(), "Ärzte Nord");
        assert_eq!(name.folded(), "ärzte nord");
    }

    #[test]
    fn a_name_has_one_to_a_hundred_printable_characters() {
        let longest = "ü".repeat(100);

        assert_eq!(GroupName::parse(&longest).map(|it| it.as_str().to_owned()), Ok(longest));
        assert_eq!(GroupName::parse(&"ü".repeat(101)), Err(NameError::TooLong));
        assert_eq!(GroupName::parse(" \t"), Err(NameError::Empty));
        assert_eq!(GroupName::parse("a\u{1b}b"), Err(NameError::Control));
    }
}
