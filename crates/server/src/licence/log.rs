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
            // Quoted, since the features are arbitrary text.
            licence.unknown_features = ?reading.unknown_features,
            "licence features unknown to this version are ignored"
        );
    }
}

pub(super) fn missing(path: &Path) {
    tracing::warn!(
        code = "SVC-LIC-001",
        licence.path = %path.display(),
        "no licence file found; the server is unlicensed"
    );
}

/// Logs a refused licence, with a message for each remedy.
pub(super) fn refused(path: &Path, fault: &LicenceError, key: &VerifyingKey) {
    let path = path.display();

    match fault {
        LicenceError::Truncated(_) => tracing::error!(
            code = "SVC-LIC-002", licence.path = %path, licence.fault = %fault,
            "licence file is truncated or not a licence; copy it again"
        ),
        LicenceError::Foreign(key_id) => tracing::error!(
            code = "SVC-LIC-003", licence.path = %path, licence.key_id = key_id,
            server.key_id = key.id(),
            "licence was issued by a key that this build does not trust"
        ),
        LicenceError::Forged => tracing::error!(
            code = "SVC-LIC-004", licence.path = %path,
            "licence signature is invalid; the licence was modified or forged"
        ),
        LicenceError::Unreadable(_) => tracing::error!(
            code = "SVC-LIC-005", licence.path = %path, licence.fault = %fault,
            "licence file could not be read"
        ),
    }
}

pub(super) fn ended(licence: &Licence) {
    tracing::error!(
        code = "SVC-LIC-006",
        licence.id = %licence.id,
        licence.expires_at = licence.expires_at.map(tracing::field::display),
        "licence expired; users can sign in, read and export, but not write"
    );
}

pub(super) fn development_key() {
    tracing::warn!(
        code = "SVC-LIC-007",
        "this build accepts licences of the development key, which everybody has: anybody can \
         license it, so it is not to be distributed"
    );
}

pub(super) fn unreachable(path: &Path, reason: &str) {
    tracing::error!(
        code = "SVC-LIC-009",
        licence.path = %path.display(),
        error = reason,
        "failed to check the licence file; the loaded licence stays in force"
    );
}
