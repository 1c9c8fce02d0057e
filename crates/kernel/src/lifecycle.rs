//! What spans all domains: telling people what is kept of them, and forgetting
//! them.

use std::ops::Range;

use async_trait::async_trait;

use crate::{SideEffects, Cursor, SessionId, Timestamp, Unavailable, UserId};

/// What there is of everybody, and what of it nobody is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The kinds of data, in the order in which they are told: `loginHistory`.
    pub sections: Vec<&'static str>,
    /// What is kept and not shown.
    pub left_out: Vec<LeftOut>,
}

/// Something that is kept and not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is: `accounts.passwordHash`.
    pub what: String,
    /// Why its owner is better off without it.
    pub why: &'static str,
}

/// A part of one kind of data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportPage {
    /// What is kept, each an object of JSON.
    pub rows: Vec<String>,
    /// Behind which place the next page begins; nothing if this is the last.
    pub next: Option<Cursor>,
}

/// Where all is read that is kept of a person, in whichever domain.
#[async_trait]
pub trait PersonalData: Send + Sync {
    /// What there is to tell of anybody.
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
    /// Who goes.
    pub user: UserId,
    /// The session in which they say so.
    pub session: SessionId,
    /// When they do.
    pub at: Timestamp,
    /// What stays of it: entries that name nobody, and letters to addresses.
    pub effects: SideEffects,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// Nothing of them is left.
    Erased,
    /// Without them nobody could look after the server.
    LastAdmin,
    /// The session ended before, or the account was deactivated.
    SessionOver,
    /// There is no such account.
    Gone,
}

/// Accounts that nobody ever came to use.
#[derive(Debug, Clone)]
pub struct UnverifiedAccounts {
    /// When they were made: not so long ago that it is forgotten who signed in
    /// since, nor so lately that their owners may still come.
    pub made: Range<Timestamp>,
    /// When they go.
    pub at: Timestamp,
    /// What stays of each: entries that name nobody.
    pub effects: fn(Timestamp) -> SideEffects,
}

/// Where people are forgotten, in all domains at once.
#[async_trait]
pub trait Eraser: Send + Sync {
    /// Forgets a person and all that is theirs, atomically.
    ///
    /// However many administrators leave at once, one stays. Of what is told
    /// to the audit log, neither this nor what was told before says any more
    /// who they were. What is only counted stays, as nobody's.
    async fn erase(&self, departure: AccountErasure) -> Result<Erasure, Unavailable>;

    /// Forgets, each as if they left, accounts whose addresses nobody has shown
    /// to be theirs and that nobody ever signed in to; never one with a role
    /// beyond a user's, nor one that an operator has deactivated. Answers how
    /// many they were.
    ///
    /// Whoever shows it or signs in meanwhile stays, or comes too late.
    async fn erase_unclaimed(&self, unclaimed: UnverifiedAccounts) -> Result<u64, Unavailable>;

    /// Takes what was deleted out of the database's files too, where somebody
    /// who was reading stood in the way of that. Answers whether all is done.
    async fn settle(&self) -> Result<bool, Unavailable>;
}
