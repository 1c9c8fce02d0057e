//! Log messages about the licence. Each kind has a stable code.

use std::path::Path;

use pia_policy::{Licence, LicenceError, LicenceReading, VerifyingKey};

pub(super) fn loaded(reading: &LicenceReading) {
    let licence = &reading.licence;
    let features: Vec<_> = licence.features.iter().map(|it| it.name()).collect();
    tracing::info!(
        licence.id = %licence.id,
        licence.licensee = licence.licensee,
        licence.edition = licence.edition,
        licence.features = features.join(" "),
        licence.max_users = licence.max_users,
        licence.max_admins = licence.max_admins,
        licence.expires_at = licence.expires_at.map(tracing::field::display),
        "the licence is loaded"
    );
    if !reading.unknown_features.is_empty() {
        tracing::warn!(
            code = "SVC-LIC-008",
            licence.id = %licence.id,
            // Quoted, since they are any text at all.
            licence.unknown_features = ?reading.unknown_features,
            "the licence names features that this version does not know; they are not in"
        );
    }
}

pub(super) fn missing(path: &Path) {
    tracing::warn!(
        code = "SVC-LIC-001",
        licence.path = %path.display(),
        "there is no licence file: the server is unlicensed"
    );
}

/// The sentences differ, since what the operator does next differs.
pub(super) fn refused(path: &Path, fault: &LicenceError, key: &VerifyingKey) {
    let path = path.display();
    match fault {
        LicenceError::Truncated(_) => tracing::error!(
            code = "SVC-LIC-002", licence.path = %path, licence.fault = %fault,
            "the licence file is cut off or is no licence: copy it again, whole"
        ),
        LicenceError::Foreign(theirs) => tracing::error!(
            code = "SVC-LIC-003", licence.path = %path, licence.key_id = theirs,
            server.key_id = key.id(),
            "the licence is of another issuer than this build accepts"
        ),
        LicenceError::Forged => tracing::error!(
            code = "SVC-LIC-004", licence.path = %path,
            "the licence was changed after it was signed, or is forged"
        ),
        LicenceError::Unreadable(_) => tracing::error!(
            code = "SVC-LIC-005", licence.path = %path, licence.fault = %fault,
            "the licence cannot be read"
        ),
    }
}

pub(super) fn ended(licence: &Licence) {
    tracing::error!(
        code = "SVC-LIC-006",
        licence.id = %licence.id,
        licence.expires_at = licence.expires_at.map(tracing::field::display),
        "the licence has ended: people can sign in, read and leave, but not write"
    );
}

pub(super) fn development_key() {
    tracing::warn!(
        code = "SVC-LIC-007",
        "this build accepts licences of the development key, which everybody has: anybody can \
         license it, so it is not to be distributed"
    );
}

pub(super) fn unreachable(path: &Path, why: &str) {
    tracing::error!(
        code = "SVC-LIC-009",
        licence.path = %path.display(),
        error = why,
        "the licence file cannot be looked at; what was loaded before stays in force"
    );
}
