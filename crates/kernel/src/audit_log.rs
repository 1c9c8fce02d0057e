//! Reading what the audit log reports.

use std::net::IpAddr;

use async_trait::async_trait;
use uuid::Uuid;

use crate::{PageRequest, Timestamp, Unavailable, UserId};

/// An entry of the audit log as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Id of the entry.
    pub id: Uuid,
    /// Time of the event.
    pub at: Timestamp,
    /// Action that was recorded: `session.started`.
    pub action: String,
    /// Object of the action, if that is no person.
    pub object: Option<String>,
    /// The request that caused it.
    pub request: Option<String>,
    /// Members that the action changed, as the JSON of an
    /// [`AuditChanges`](crate::AuditChanges).
    pub changes: Option<String>,
    /// Person or system that acted.
    pub actor: AuditSide,
    /// Whom it happened to, if that is somebody else.
    pub subject: AuditSide,
}

/// Side of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AuditSide {
    /// Entry has no such person.
    #[default]
    Nobody,
    /// Person was erased, or their key is lost.
    Forgotten,
    /// Somebody of whom this is known.
    Known(AuditPerson),
}

/// Person as recorded in the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPerson {
    /// Their account.
    pub user: Option<UserId>,
    /// From where they called.
    pub address: Option<IpAddr>,
    /// With what.
    pub agent: Option<String>,
}

/// Selection of entries; what is omitted selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Entries in which this user is on either side.
    pub user: Option<UserId>,
    /// Entries of this action.
    pub action: Option<String>,
    /// Entries of this time and later.
    pub since: Option<Timestamp>,
    /// Entries before this time.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Selects the entries in which a user is on either side.
    pub fn of_user(user: UserId) -> Self {
        Self { user: Some(user), ..Self::default() }
    }
}

/// Store of the audit log: reading, and its retention.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Loads up to `page.limit` of the selected entries, newest first.
    async fn page(
        &self,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Vec<AuditRecord>, Unavailable>;

    /// Deletes entries from before `time`, with what identifies whom they are
    /// about. Some may stay until younger ones that were chained together with
    /// them are as old. Returns how many were deleted.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;
}
