//! Licence of the operator, and what it permits at a time.
//!
//! `LicenceState` is the result of reading the file. `at` returns the permissions at a
//! time and `includes` whether a feature is licensed, both without reading again.

use std::collections::BTreeSet;
use std::time::Duration;

use pia_kernel::Timestamp;
use uuid::Uuid;

use crate::feature::Feature;

/// Time before the end of a licence from which administrators are reminded of it.
pub const EXPIRY_NOTICE: Duration = Duration::from_hours(30 * 24);

/// Licence whose signature was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    /// Id of the licence, by which the audit log names it.
    pub id: Uuid,
    /// Edition that it was sold as; one that this version does not know is possible.
    pub edition: String,
    /// Licensee's name.
    pub licensee: String,
    /// Included features.
    pub features: BTreeSet<Feature>,
    /// Maximum number of active accounts; `None` if there is no limit.
    pub max_users: Option<u32>,
    /// Maximum number of active administrators; `None` if there is no limit.
    pub max_admins: Option<u32>,
    /// Time of issue.
    pub issued_at: Timestamp,
    /// Time of expiry; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
}

/// Errors that prevent a licence file from being accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LicenceError {
    /// File is not a licence, or a part of it is missing.
    #[error("the text is not a complete licence: {0}")]
    Truncated(&'static str),
    /// Licence was issued with another issuer's key.
    #[error("the licence was issued with a key ({0}) that this build does not accept")]
    Foreign(String),
    /// Signature does not match.
    #[error("the signature of the licence is invalid: the licence was changed or forged")]
    Forged,
    /// Content cannot be parsed, though the signature is valid; or it has a
    /// later format, whose signature cannot be verified here.
    #[error("the licence cannot be read: {0}")]
    Unreadable(String),
}

/// Result of reading the installed licence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LicenceState {
    /// File is missing.
    Missing,
    /// Licence is not accepted.
    Refused(LicenceError),
    /// Licence is accepted; it may have expired.
    Loaded(Licence),
}

/// Permissions of a licence at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Licensed<'a> {
    /// No licence: only the setup is available.
    Not,
    /// Expired licence: reading, signing in and out, securing and deleting an
    /// account. Each route declares in the route table whether it needs more.
    Expired(&'a Licence),
    /// Licence in force.
    Valid(&'a Licence),
}

impl Licence {
    /// Returns whether it expires within [`EXPIRY_NOTICE`], or has expired.
    pub fn expires_soon(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|it| it < now + EXPIRY_NOTICE)
    }
}

impl LicenceState {
    /// Returns whether the licence includes a feature, even if it has expired.
    pub fn includes(&self, feature: Feature, now: Timestamp) -> bool {
        match self.at(now) {
            Licensed::Not => false,
            Licensed::Expired(it) | Licensed::Valid(it) => it.features.contains(&feature),
        }
    }

    /// Returns the permissions at `now`.
    pub fn at(&self, now: Timestamp) -> Licensed<'_> {
        match self {
            Self::Missing | Self::Refused(_) => Licensed::Not,
            Self::Loaded(it) if it.expires_at.is_some_and(|end| end <= now) => {
                Licensed::Expired(it)
            }
            Self::Loaded(it) => Licensed::Valid(it),
        }
    }
}

impl LicenceError {
    /// Returns the name on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated(_) => "license_truncated",
            Self::Foreign(_) => "license_foreign",
            Self::Forged => "license_forged",
            Self::Unreadable(_) => "license_unreadable",
        }
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::Timestamp;

    use super::*;
    use crate::edition::Edition;
    use crate::signing_key::SigningKey;
    use crate::terms::Terms;

    #[test]
    fn a_licence_expires_exactly_at_its_end() {
        let end = Timestamp::from_micros(2_000_000_000_000_000);
        let key = SigningKey::generate().unwrap();
        let terms = Terms {
            expires_at: Some(end),
            ..Terms::new("A Company", Edition::Community, Timestamp::UNIX_EPOCH)
        };
        let licence = Licence::parse(key.issue(&terms).unwrap(), &key.verifying_key()).unwrap();

        let state = LicenceState::Loaded(licence.clone());

        assert_eq!(state.at(end - Duration::from_secs(1)), Licensed::Valid(&licence));
        assert_eq!(state.at(end), Licensed::Expired(&licence));
    }

    #[test]
    fn administrators_are_reminded_thirty_days_before_the_end() {
        let end = Timestamp::from_micros(2_000_000_000_000_000);
        let key = SigningKey::generate().unwrap();
        let terms = Terms::new("A Company", Edition::Community, Timestamp::UNIX_EPOCH);
        let parse = |expires_at| {
            let terms = Terms { expires_at, ..terms.clone() };
            Licence::parse(key.issue(&terms).unwrap(), &key.verifying_key()).unwrap()
        };

        let limited = parse(Some(end));

        assert!(!limited.expires_soon(end - EXPIRY_NOTICE));
        assert!(limited.expires_soon(end - EXPIRY_NOTICE + Duration::from_secs(1)));
        assert!(!parse(None).expires_soon(end));
    }

    #[test]
    fn without_an_accepted_licence_only_the_set_up_is_available() {
        for state in [LicenceState::Missing, LicenceState::Refused(LicenceError::Forged)] {
            assert_eq!(state.at(Timestamp::UNIX_EPOCH), Licensed::Not);
        }
    }
}
