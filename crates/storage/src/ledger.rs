//! Ledger of an account: the row that all its devices share.
//!
//! A change of an account's data locks the ledger first (`lock_ledger`), takes stamps
//! from it (`stamps`), and counts itself with the last stamp and the growth
//! (`count_change`). `take_ledger` locks and counts at once; `put_stamp` then adds
//! the stamp and the growth.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{StorageUse, Timestamp, UserId, random_bytes};

use crate::error::DbError;
use crate::lock_row;
use crate::schema::{accounts, group_settings, ledgers};
use crate::sql_types::{DbInstant, DbUid};

/// Ledger of an account in a transaction that holds its lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Number of changes to the account's data.
    pub version: i64,
    /// Highest stamp so far.
    pub last_stamp: Timestamp,
    /// True if only encrypted data may be stored.
    pub encrypted: bool,
    /// Version of the account's key in use; 0 before the first.
    pub umk_version: i32,
    /// True if all data was reset at some time.
    pub was_reset: bool,
    /// Bytes of all stored data.
    pub stored_bytes: i64,
    /// Bytes that the account may store by its group; `None` for the default.
    pub group_limit: Option<i64>,
    /// Time when the account was created, which counts as its first stamp.
    pub created_at: Timestamp,
}

impl Ledger {
    /// Returns the next stamps, one microsecond apart: each is higher than every
    /// stamp before, even if the clock was set back.
    pub fn stamps(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> + use<> {
        let next_stamp = now.max(self.last_stamp + Duration::from_micros(1));
        (0..).map(move |it| next_stamp + Duration::from_micros(it))
    }

    /// Rejects `growth` more bytes above the group's limit, or the default one.
    /// A change that frees bytes is never rejected.
    pub fn check_storage(&self, growth: i64, default_limit: u64) -> Result<(), StorageUse> {
        let storage = storage_use(self.stored_bytes, self.group_limit, default_limit);
        let stored_after = self.stored_bytes.saturating_add(growth);
        let fits = growth <= 0 || u64::try_from(stored_after).is_ok_and(|it| it <= storage.limit);
        if fits { Ok(()) } else { Err(storage) }
    }
}

/// Returns the bytes that an account stores, and may store.
pub fn storage_use(stored: i64, group_limit: Option<i64>, default_limit: u64) -> StorageUse {
    let limit = group_limit.and_then(|it| u64::try_from(it).ok()).unwrap_or(default_limit);
    StorageUse { current: u64::try_from(stored).unwrap_or_default(), limit }
}

/// Returns sixteen random bytes that identify a new epoch of an account's data.
pub fn fresh_epoch() -> Result<Vec<u8>, DbError> {
    Ok(random_bytes::<16>()?.to_vec())
}

#[derive(Queryable)]
struct LedgerRow {
    version: i64,
    last_stamp: DbInstant,
    encrypted_at: Option<DbInstant>,
    umk_version: i32,
    reset_at: Option<DbInstant>,
    stored_bytes: i64,
    group_limit: Option<i64>,
    created_at: Option<DbInstant>,
}

/// Columns of a [`LedgerRow`].
macro_rules! row_columns {
    ($user:expr) => {
        (
            ledgers::version,
            ledgers::last_stamp,
            ledgers::encrypted_at,
            ledgers::umk_version,
            ledgers::reset_at,
            ledgers::stored_bytes,
            // No join: SQLite gets the names of columns alone here.
            group_settings::table
                .filter(
                    group_settings::group_id
                        .eq_any(accounts::table.find(DbUid($user.0)).select(accounts::group_id)),
                )
                .select(group_settings::user_storage_bytes)
                .single_value(),
            accounts::table.find(DbUid($user.0)).select(accounts::created_at).single_value(),
        )
    };
}

crate::connection_trait! {
    /// Connection that can lock ledgers.
    pub trait TakeLedger {
        /// Locks an account's ledger until the transaction ends; `None` if there is
        /// no such account. Call it first inside [`in_tx!`](crate::in_tx): what
        /// follows is serialised for the account. Changes must be counted by the
        /// caller.
        async fn lock_ledger(&mut self, user: UserId) -> Result<Option<Ledger>, DbError> {
            let ledger = ledgers::table.find(DbUid(user.0));
            let existing_row: Option<LedgerRow> =
                lock_row!(self, ledger, ledgers::umk_version, row_columns!(user));
            if let Some(row) = existing_row {
                return Ok(Some(row.into()));
            }

            // Locked, so that a deletion of the account comes before the
            // ledger or after it.
            if !lock_row!(self, accounts::table.find(DbUid(user.0)), accounts::provider) {
                return Ok(None);
            }

            // Of two that create it at once, the second finds the first's.
            let row = diesel::insert_into(ledgers::table)
                .values((
                    ledgers::user_id.eq(DbUid(user.0)),
                    ledgers::epoch.eq(fresh_epoch()?),
                    ledgers::version.eq(0_i64),
                    ledgers::last_stamp.eq(DbInstant(Timestamp::UNIX_EPOCH)),
                    ledgers::umk_version.eq(0),
                    ledgers::stored_bytes.eq(0),
                ))
                .on_conflict(ledgers::user_id)
                .do_update()
                .set(ledgers::umk_version.eq(ledgers::umk_version))
                .returning(row_columns!(user))
                .get_result::<LedgerRow>(self)
                .await?;
            Ok(Some(row.into()))
        }

        /// Locks the ledger and counts a change in any case.
        async fn take_ledger(&mut self, user: UserId) -> Result<Option<Ledger>, DbError> {
            let ledger = self.lock_ledger(user).await?;
            if let Some(ledger) = &ledger {
                self.count_change(user, ledger.last_stamp, 0).await?;
            }
            Ok(ledger)
        }

        /// Counts a change and the bytes it added, and stores the highest stamp
        /// that it used.
        async fn count_change(
            &mut self,
            user: UserId,
            last: Timestamp,
            growth: i64,
        ) -> Result<(), DbError> {
            diesel::update(ledgers::table.find(DbUid(user.0)))
                .set((
                    ledgers::version.eq(ledgers::version + 1),
                    ledgers::last_stamp.eq(DbInstant(last)),
                    ledgers::stored_bytes.eq(ledgers::stored_bytes + growth),
                ))
                .execute(self)
                .await?;
            Ok(())
        }

        /// Stores the highest stamp used, and adds the bytes of the change it was
        /// used for.
        async fn put_stamp(
            &mut self,
            user: UserId,
            last: Timestamp,
            growth: i64,
        ) -> Result<(), DbError> {
            diesel::update(ledgers::table.find(DbUid(user.0)))
                .set((
                    ledgers::last_stamp.eq(DbInstant(last)),
                    ledgers::stored_bytes.eq(ledgers::stored_bytes + growth),
                ))
                .execute(self)
                .await?;
            Ok(())
        }
    }
}

impl From<LedgerRow> for Ledger {
    fn from(row: LedgerRow) -> Self {
        Self {
            version: row.version,
            last_stamp: row.last_stamp.0,
            encrypted: row.encrypted_at.is_some(),
            umk_version: row.umk_version,
            was_reset: row.reset_at.is_some(),
            stored_bytes: row.stored_bytes,
            group_limit: row.group_limit,
            created_at: row.created_at.map_or(Timestamp::UNIX_EPOCH, |it| it.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(last_stamp: i64) -> Ledger {
        let last_stamp = Timestamp::from_micros(last_stamp);
        Ledger {
            version: 1,
            last_stamp,
            encrypted: false,
            umk_version: 0,
            was_reset: false,
            stored_bytes: 90,
            group_limit: None,
            created_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn stamps_continue_from_now_or_the_highest_stamp_whichever_is_later() {
        let micros = |last, now| -> Vec<i64> {
            let stamps = ledger(last).stamps(Timestamp::from_micros(now));
            stamps.take(3).map(Timestamp::micros).collect()
        };

        assert_eq!(micros(5, 100), [100, 101, 102]);
        assert_eq!(micros(100, 100), [101, 102, 103]);
        assert_eq!(micros(900, 100), [901, 902, 903]);
    }

    #[test]
    fn storage_grows_to_the_limit_and_shrinks_above_it() {
        let default_ledger = ledger(0);
        let limited_ledger = Ledger { group_limit: Some(50), ..ledger(0) };
        let full = Err(StorageUse { current: 90, limit: 100 });

        assert_eq!(default_ledger.check_storage(10, 100), Ok(()));
        assert_eq!(default_ledger.check_storage(11, 100), full);
        assert_eq!(default_ledger.check_storage(i64::MAX, 100), full);
        assert_eq!(
            limited_ledger.check_storage(1, 100),
            Err(StorageUse { current: 90, limit: 50 })
        );
        assert_eq!(limited_ledger.check_storage(0, 100), Ok(()));
        assert_eq!(limited_ledger.check_storage(-1, 100), Ok(()));
    }
}
