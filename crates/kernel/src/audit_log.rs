//! Reading of the audit log.

use std::net::IpAddr;

use async_trait::async_trait;
use uuid::Uuid;

use crate::{ChainReport, PageRequest, TimeOrder, Timestamp, Unavailable, UserId};

/// Store of the audit log: reading, verification, and its retention.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Loads up to `page.limit` of the selected entries, in their order.
    async fn page(
        &self,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Vec<AuditRecord>, Unavailable>;

    /// Loads an entry; `None` if there is none with this id.
    async fn find(&self, id: Uuid) -> Result<Option<AuditRecord>, Unavailable>;

    /// Verifies every entry against the chain that it was written to. No entry
    /// may have been deleted that is younger than `retained_since`.
    async fn verify(&self, retained_since: Timestamp) -> Result<ChainReport, Unavailable>;

    /// Deletes entries from before `time`, with the data that identifies their
    /// users. Entries may stay until younger ones of the same chain segment are
    /// as old. Returns the number of deleted entries.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;
}

/// An entry of the audit log as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Id of the entry, which follows `at` in the order of pages.
    pub id: Uuid,
    /// Time of the event, not of its chaining.
    pub at: Timestamp,
    /// Action that was recorded: `session.started`.
    pub action: String,
    /// Object of the action, unless it is a user: `group:…`.
    pub object: Option<String>,
    /// Id of the request that caused the event; `None` for the command line and
    /// background work.
    pub request: Option<String>,
    /// Fields that the action changed, as the JSON of an
    /// [`AuditChanges`](crate::AuditChanges).
    pub changes: Option<String>,
    /// User or system that acted.
    pub actor: AuditSide,
    /// Affected user, if not the actor.
    pub subject: AuditSide,
}

/// Actor or subject of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AuditSide {
    /// Entry has no such user.
    #[default]
    Nobody,
    /// User was erased, or the key to their data is lost.
    Forgotten,
    /// User whose data is known.
    Known(AuditPerson),
}

/// User as recorded in the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPerson {
    /// Account; `None` if it is unknown.
    pub user: Option<UserId>,
    /// Address of the request.
    pub address: Option<IpAddr>,
    /// User agent of the request.
    pub agent: Option<String>,
}

/// Filter for entries; an empty field matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Entries in which this user is on either side.
    pub user: Option<UserId>,
    /// Entries of this action.
    pub action: Option<String>,
    /// Entries of this object: `group:…`.
    pub object: Option<String>,
    /// Entries of this time and later.
    pub since: Option<Timestamp>,
    /// Entries before this time.
    pub until: Option<Timestamp>,
    /// Order of the entries, newest first by default.
    pub order: TimeOrder,
}

impl AuditFilter {
    /// Selects the entries in which a user is on either side.
    pub fn of_user(user: UserId) -> Self {
        Self { user: Some(user), ..Self::default() }
    }
}
