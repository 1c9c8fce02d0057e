//! Counts over all accounts: seats, and administrators.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::Role;
use pia_kernel::UserId;
use pia_storage::schema::{accounts, locks};
use pia_storage::{DbError, DbUid, connection_trait};

/// Row of `locks` that serialises changes to the numbers of active accounts and
/// administrators.
const ACCOUNTS: &str = "accounts";

connection_trait! {
    /// Connection that can count. Call each method inside a transaction, and before
    /// it locks any account: the holder of the turn waits for accounts, so
    /// a holder of an account must not wait for the turn.
    pub(crate) trait Admins {
        /// Waits for the turn to change how many accounts are active, and which
        /// are administrators; it is held until the commit. A limit over many rows
        /// holds only if counting is serialised.
        async fn take_turn(&mut self) -> Result<(), DbError> {
            let updated_rows = diesel::update(locks::table.find(ACCOUNTS))
                .set(locks::turn.eq(locks::turn + 1))
                .execute(self)
                .await?;
            match updated_rows {
                1 => Ok(()),
                _ => Err(DbError::Unreadable("locks")),
            }
        }

        /// Returns whether there is an active administrator besides this user. Takes
        /// the turn, so that two who leave at once do not each count on the other.
        async fn another_admin(&mut self, user: UserId) -> Result<bool, DbError> {
            self.take_turn().await?;
            let other_admins = active_admins().filter(accounts::id.ne(DbUid(user.0))).count();
            Ok(other_admins.get_result::<i64>(self).await? > 0)
        }

        /// Returns whether one more may become an active administrator. Requires the
        /// turn.
        async fn room_for_admin(&mut self, max: Option<u32>) -> Result<bool, DbError> {
            let Some(max) = max else { return Ok(true) };
            let admins = active_admins().count().get_result::<i64>(self).await?;
            Ok(admins < i64::from(max))
        }

        /// Returns whether one more account may be active. Requires the turn.
        async fn room_for_account(&mut self, max: Option<u32>) -> Result<bool, DbError> {
            let Some(max) = max else { return Ok(true) };
            let is_active = accounts::deactivated_at.is_null();
            let active_accounts = accounts::table.filter(is_active).count();
            Ok(active_accounts.get_result::<i64>(self).await? < i64::from(max))
        }
    }
}

/// Returns the accounts of active administrators.
#[diesel::dsl::auto_type(no_type_alias)]
pub(crate) fn active_admins() -> _ {
    let name: &'static str = Role::Admin.name();
    accounts::table.filter(accounts::role.eq(name)).filter(accounts::deactivated_at.is_null())
}
