//! What must happen together with a change, whichever domain makes it.

use crate::{Timestamp, UserId};

/// Things written in the transaction of the change they belong to.
///
/// They are plain data in a port's call, so domains that know nothing of one
/// another still leave no change without its audit entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// What the audit log keeps.
    pub audit: Vec<AuditEntry>,
}

impl Effects {
    /// One audit entry and nothing else.
    pub fn audit(at: Timestamp, subject: UserId, action: &'static str) -> Self {
        Self { audit: vec![AuditEntry { at, subject, action }] }
    }
}

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When it happened.
    pub at: Timestamp,
    /// Whom it happened to.
    pub subject: UserId,
    /// What happened, as auditors search for it: `session.reuse_detected`.
    pub action: &'static str,
}
