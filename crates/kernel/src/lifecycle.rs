//! Tasks that span all domains: export and erasure of personal data.
//!
//! The domains do not take part: `storage-lifecycle` implements both ports from one
//! inventory of all tables, so a new table cannot be forgotten by either.

use std::ops::Range;

use async_trait::async_trait;

use crate::{Cursor, SessionId, SideEffects, Timestamp, Unavailable, UserId};

/// Reader of all data that is stored about a user, in every domain.
#[async_trait]
pub trait PersonalData: Send + Sync {
    /// Returns the sections of every export.
    fn inventory(&self) -> Inventory;

    /// Writes the side effects of an export that begins. Returns whether the
    /// account exists.
    async fn begin_export(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Returns a page of one of the inventory's sections, newest first.
    ///
    /// A page is small enough to be held in memory for all readers at once, and
    /// no resource is held between two pages. Rows that are added between two pages
    /// are neither repeated nor hidden.
    async fn page(
        &self,
        user: UserId,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable>;
}

/// Sections of every export, and the data that is left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Sections in the order of the export: `loginHistory`.
    pub sections: Vec<&'static str>,
    /// Data that is stored and not exported.
    pub left_out: Vec<LeftOut>,
}

/// Data that is stored but not exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the data: `accounts.passwordHash`.
    pub what: String,
    /// Reason for leaving it out.
    pub why: &'static str,
}

/// Page of one section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportPage {
    /// Stored rows, each a JSON object.
    pub rows: Vec<String>,
    /// Cursor that the next page begins after; `None` on the last page.
    pub next: Option<Cursor>,
}

/// Erasure of personal data, in all domains at once.
#[async_trait]
pub trait Eraser: Send + Sync {
    /// Erases an account and all its data, atomically.
    ///
    /// One active administrator remains, even with concurrent calls. Afterwards no
    /// entry of the audit log identifies the user. Counters stay, without an
    /// owner.
    async fn erase(&self, erasure: AccountErasure) -> Result<ErasureOutcome, Unavailable>;

    /// Erases the accounts whose addresses were never verified and that were
    /// never signed in to; never one with a role beyond a user's, nor one that
    /// an operator deactivated. Returns the number of erased accounts.
    ///
    /// An account that is verified or signed in to during the call is not erased.
    async fn erase_unverified(&self, accounts: UnverifiedAccounts) -> Result<u64, Unavailable>;

    /// Removes deleted data from the database's files, where a concurrent
    /// reader prevented that. Returns whether nothing is left to remove.
    async fn settle(&self) -> Result<bool, Unavailable>;
}

/// Request to erase an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountErasure {
    /// Account that is erased.
    pub user: UserId,
    /// Session that requests it.
    pub session: SessionId,
    /// Time of the erasure.
    pub at: Timestamp,
    /// Side effects that outlive the account: entries that identify no user,
    /// and emails to addresses.
    pub effects: SideEffects,
}

/// Outcome of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureOutcome {
    /// Account and all its data were erased.
    Erased,
    /// Account is the last administrator's.
    LastAdmin,
    /// Session has ended, or the account was deactivated.
    SessionOver,
    /// Account was erased before, or never existed.
    Gone,
}

/// Accounts that were never used.
#[derive(Debug, Clone)]
pub struct UnverifiedAccounts {
    /// Range of creation times: recent enough that all sign-ins since then are
    /// recorded, and old enough that the owners are unlikely to use the
    /// accounts.
    pub made: Range<Timestamp>,
    /// Time of the erasure.
    pub at: Timestamp,
    /// Returns the side effects of each erasure: entries that identify no user.
    pub effects: fn(Timestamp) -> SideEffects,
}
