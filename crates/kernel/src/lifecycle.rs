//! Tasks that span all domains: exporting and erasing people's data.

use std::ops::Range;

use async_trait::async_trait;

use crate::{Cursor, SessionId, SideEffects, Timestamp, Unavailable, UserId};

/// Sections of every export, and the data that is left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The kinds of data, in the order of the export: `loginHistory`.
    pub sections: Vec<&'static str>,
    /// Data that is stored and not exported.
    pub left_out: Vec<LeftOut>,
}

/// Something that is stored and not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the data: `accounts.passwordHash`.
    pub what: String,
    /// Reason why its owner is better off without it.
    pub why: &'static str,
}

/// A part of one kind of data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportPage {
    /// Stored rows, each a JSON object.
    pub rows: Vec<String>,
    /// Behind which place the next page begins; nothing if this is the last.
    pub next: Option<Cursor>,
}

/// Reader of all that is stored about a person, in every domain.
#[async_trait]
pub trait PersonalData: Send + Sync {
    /// Returns the sections of every export.
    fn inventory(&self) -> Inventory;

    /// Writes what goes with an export that begins. Answers whether there is
    /// such an account.
    async fn begin_export(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// A page of one of the inventory's sections, newest first.
    ///
    /// A page is small enough to be held in memory for every reader at once,
    /// and nothing is held open between two of them. What is added meanwhile
    /// neither repeats nor hides any row.
    async fn page(
        &self,
        user: UserId,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable>;
}

/// Somebody's wish to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountErasure {
    /// Account that is erased.
    pub user: UserId,
    /// The session in which they say so.
    pub session: SessionId,
    /// Time of the erasure.
    pub at: Timestamp,
    /// Side effects that remain: entries that name nobody, and emails to
    /// addresses.
    pub effects: SideEffects,
}

/// Outcome of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureOutcome {
    /// Account and all its data were erased.
    Erased,
    /// Without them nobody could look after the server.
    LastAdmin,
    /// The session ended before, or the account was deactivated.
    SessionOver,
    /// No such account.
    Gone,
}

/// Accounts that nobody ever came to use.
#[derive(Debug, Clone)]
pub struct UnverifiedAccounts {
    /// Range of creation times: not so old that sign-ins since then have been
    /// forgotten, nor so recent that the owners may still use the accounts.
    pub made: Range<Timestamp>,
    /// Time of the erasure.
    pub at: Timestamp,
    /// Side effects for each: entries that name nobody.
    pub effects: fn(Timestamp) -> SideEffects,
}

/// Erasure of people's data, in all domains at once.
#[async_trait]
pub trait Eraser: Send + Sync {
    /// Forgets a person and all that is theirs, atomically.
    ///
    /// However many administrators leave at once, one stays. Of what is reported
    /// to the audit log, neither this nor what was reported before says any more
    /// who they were. What is only counted stays, as nobody's.
    async fn erase(&self, departure: AccountErasure) -> Result<ErasureOutcome, Unavailable>;

    /// Forgets, each as if they left, accounts whose addresses nobody has shown
    /// to be theirs and that nobody ever signed in to; never one with a role
    /// beyond a user's, nor one that an operator has deactivated. Answers how
    /// many they were.
    ///
    /// Whoever shows it or signs in meanwhile stays, or comes too late.
    async fn erase_unverified(&self, unclaimed: UnverifiedAccounts) -> Result<u64, Unavailable>;

    /// Takes what was deleted out of the database's files too, where somebody
    /// who was reading stood in the way of that. Answers whether all is done.
    async fn settle(&self) -> Result<bool, Unavailable>;
}
