//! First administrator, in SQL.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel_async::RunQueryDsl;
use pia_identity::{FirstAdminOutcome, FirstAdminStore, NewAccount, SeatLimits};
use pia_kernel::{SideEffects, Unavailable, UserId};
use pia_storage::schema::accounts;
use pia_storage::{Database, WriteEffects, in_tx, on_conn};

use crate::accounts::AccountRow;
use crate::admins::{Admins, active_admins};

/// Adapter of `FirstAdminStore` over the table `accounts`.
#[derive(Debug, Clone)]
pub struct SqlFirstAdmin {
    db: Database,
}

impl SqlFirstAdmin {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl FirstAdminStore for SqlFirstAdmin {
    async fn exists(&self) -> Result<bool, Unavailable> {
        let query = diesel::select(exists(active_admins()));
        Ok(on_conn!(self.db.reader(), |conn| query.get_result::<bool>(conn).await?)?)
    }

    async fn create_first_admin(
        &self,
        new: NewAccount,
        limits: SeatLimits,
        effects: SideEffects,
    ) -> Result<FirstAdminOutcome, Unavailable> {
        let user = UserId(new.account.user.0);
        let row = AccountRow::from(new);
        in_tx!(self.db, async |conn| {
            // This takes the turn, so that of concurrent calls one stores its account.
            if conn.another_admin(user).await? {
                return Ok(FirstAdminOutcome::AlreadySetUp);
            }

            let has_room = conn.room_for_account(limits.accounts).await?
                && conn.room_for_admin(limits.admins).await?;
            if !has_room {
                return Ok(FirstAdminOutcome::SeatsTaken);
            }

            let inserted_rows = diesel::insert_into(accounts::table)
                .values(&row)
                .on_conflict(accounts::email_folded)
                .do_nothing()
                .execute(conn)
                .await?;
            if inserted_rows == 0 {
                return Ok(FirstAdminOutcome::EmailTaken);
            }

            conn.write_effects(&self.db, &effects).await?;

            Ok(FirstAdminOutcome::Stored)
        })
    }
}
