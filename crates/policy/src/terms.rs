//! Terms of a licence, and their encoding as the payload that is signed.
//!
//! `Terms` are what an issuer enters, and `Licence` is what a server reads: the former
//! may name an edition instead of features. The JSON between them ignores unknown keys.

use std::collections::BTreeSet;

use pia_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::edition::Edition;
use crate::feature::Feature;
use crate::licence::{Licence, LicenceError};

/// Maximum length of the licensee's and the edition's name.
const MAX_NAME_CHARS: usize = 200;

/// Terms of a licence that is issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Id of the licence, which no other licence has.
    pub id: Uuid,
    /// Edition that it is sold as.
    pub edition: String,
    /// Licensee's name.
    pub licensee: String,
    /// Included features; `None` for those of its edition.
    pub features: Option<BTreeSet<Feature>>,
    /// Maximum number of active accounts; `None` for no limit.
    pub max_users: Option<u32>,
    /// Maximum number of active administrators; `None` for no limit.
    pub max_admins: Option<u32>,
    /// Time of issue.
    pub issued_at: Timestamp,
    /// Time of expiry; `None` for never.
    pub expires_at: Option<Timestamp>,
}

impl Terms {
    /// Creates the terms of a new licence of an edition, unlimited and without expiry.
    pub fn new(licensee: impl Into<String>, edition: Edition, issued_at: Timestamp) -> Self {
        Self {
            id: Uuid::now_v7(),
            edition: edition.name().to_owned(),
            licensee: licensee.into(),
            features: None,
            max_users: None,
            max_admins: None,
            issued_at,
            expires_at: None,
        }
    }

    pub(crate) fn to_payload(&self) -> Result<Vec<u8>, LicenceError> {
        let names =
            |features: &BTreeSet<Feature>| features.iter().map(|it| it.name().to_owned()).collect();
        let payload = Payload {
            id: self.id,
            edition: self.edition.clone(),
            licensee: self.licensee.clone(),
            features: self.features.as_ref().map(names),
            max_users: self.max_users,
            max_admins: self.max_admins,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
        };

        serde_json::to_vec(&payload).map_err(|err| LicenceError::Unreadable(err.to_string()))
    }
}

/// JSON payload of a licence. Unknown keys and features are ignored, so that
/// older servers accept newer licences.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    id: Uuid,
    edition: String,
    licensee: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_users: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_admins: Option<u32>,
    issued_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

/// Parses a signed payload, and returns the licence and the names of unknown
/// features.
pub(crate) fn from_payload(json: &[u8]) -> Result<(Licence, Vec<String>), LicenceError> {
    let payload: Payload =
        serde_json::from_slice(json).map_err(|err| LicenceError::Unreadable(err.to_string()))?;
    check_name("licensee", &payload.licensee)?;
    check_name("edition", &payload.edition)?;
    check_limit("maxUsers", payload.max_users)?;
    check_limit("maxAdmins", payload.max_admins)?;

    let (features, unknown_features) = match payload.features {
        Some(names) => parse_features(names),
        None => (features_of_edition(&payload.edition)?, Vec::new()),
    };
    let licence = Licence {
        id: payload.id,
        edition: payload.edition,
        licensee: payload.licensee,
        features,
        max_users: payload.max_users,
        max_admins: payload.max_admins,
        issued_at: payload.issued_at,
        expires_at: payload.expires_at,
    };

    Ok((licence, unknown_features))
}

/// Returns the features with these names, and the names of unknown ones.
fn parse_features(names: Vec<String>) -> (BTreeSet<Feature>, Vec<String>) {
    let mut features = BTreeSet::new();
    let mut unknown_names = Vec::new();
    for name in names {
        match Feature::from_name(&name) {
            Some(feature) => {
                features.insert(feature);
            }
            None => unknown_names.push(name),
        }
    }
    (features, unknown_names)
}

/// Returns the features of an edition, for a licence that names none.
fn features_of_edition(name: &str) -> Result<BTreeSet<Feature>, LicenceError> {
    let edition = Edition::from_name(name).ok_or_else(|| {
        LicenceError::Unreadable(format!(
            "it names no features, and its edition {name:?} is unknown here"
        ))
    })?;
    Ok(edition.features())
}

/// Checks a name, which must be short and on one line for logs and pages.
fn check_name(field: &str, name: &str) -> Result<(), LicenceError> {
    let problem = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().count() > MAX_NAME_CHARS {
        "is longer than 200 characters"
    } else if name.chars().any(char::is_control) {
        "has control characters"
    } else {
        return Ok(());
    };
    Err(LicenceError::Unreadable(format!("its {field} {problem}")))
}

/// Checks a limit. Zero is refused, because it could mean either "nobody" or
/// "everybody"; an omitted limit is unlimited.
fn check_limit(field: &str, limit: Option<u32>) -> Result<(), LicenceError> {
    match limit {
        Some(0) => Err(LicenceError::Unreadable(format!(
            "its {field} is 0; it must be at least 1, or left out for no limit"
        ))),
        _ => Ok(()),
    }
}
