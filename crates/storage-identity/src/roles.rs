//! Roles and active accounts, in SQL.
//!
//! `ActiveAccounts` is apart from the port, since `scim_users.rs` deactivates
//! and reactivates accounts within transactions of its own.

use std::collections::BTreeMap;

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    DeactivationOutcome, LOCAL, Member, ReactivationOutcome, Role, RoleChangeOutcome, RoleStore,
    SeatLimits,
};
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{
    accounts, factor_challenges, mailed_tokens, passkey_challenges, passkeys, sessions,
    sign_in_codes, totp_factors,
};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, WriteEffects, connection_trait, in_tx, lock_row, on_conn,
};

use crate::accounts::role;
use crate::addresses::with_address;
use crate::admins::{Admins, active_admins};
use crate::factor_writes::FactorWrites;

/// Adapter of `RoleStore` over the table `accounts`.
#[derive(Debug, Clone)]
pub struct SqlRoles {
    db: Database,
}

impl SqlRoles {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl RoleStore for SqlRoles {
    async fn member(&self, email: &str) -> Result<Option<Member>, Unavailable> {
        let account = with_address(email);
        let row: Option<MemberRow> = on_conn!(self.db.reader(), |conn| {
            account.select(MemberRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Member::try_from).transpose()?)
    }

    async fn admins(&self) -> Result<Vec<Member>, Unavailable> {
        let admins = accounts::table
            .filter(accounts::role.eq(Role::Admin.name()))
            .order((accounts::created_at, accounts::id));
        let rows: Vec<MemberRow> = on_conn!(self.db.reader(), |conn| {
            admins.select(MemberRow::as_select()).load(conn).await?
        })?;
        Ok(rows.into_iter().map(Member::try_from).collect::<Result<_, _>>()?)
    }

    async fn count_admins_without_factor(&self) -> Result<u64, Unavailable> {
        let factor_on = totp_factors::table
            .filter(totp_factors::user_id.eq(accounts::id))
            .filter(totp_factors::enabled_at.is_not_null());
        let passkey = passkeys::table.filter(passkeys::user_id.eq(accounts::id));
        let admins = active_admins()
            .filter(accounts::provider.eq(LOCAL))
            .filter(not(exists(factor_on)))
            .filter(not(exists(passkey)))
            .count();
        let count: i64 = on_conn!(self.db.reader(), |conn| admins.get_result(conn).await?)?;
        Ok(count.unsigned_abs())
    }

    async fn set_role(
        &self,
        user: UserId,
        role: Role,
        max_admins: Option<u32>,
        effects: SideEffects,
    ) -> Result<RoleChangeOutcome, Unavailable> {
        let account = accounts::table.find(DbUid(user.0));
        in_tx!(self.db, async |conn| {
            conn.take_turn().await?;
            let row: Option<MemberRow> =
                account.select(MemberRow::as_select()).first(conn).await.optional()?;
            let Some(before) = row.map(Member::try_from).transpose()? else {
                return Ok(RoleChangeOutcome::Unknown);
            };
            if before.role == role {
                return Ok(RoleChangeOutcome::Done);
            }
            if before.is_active_admin() && !conn.another_admin(user).await? {
                return Ok(RoleChangeOutcome::LastAdmin);
            }

            let one_more = role == Role::Admin && before.deactivated_at.is_none();
            if one_more && !conn.room_for_admin(max_admins).await? {
                return Ok(RoleChangeOutcome::AdminsTaken);
            }

            let updated_rows =
                diesel::update(account).set(accounts::role.eq(role.name())).execute(conn).await?;
            if updated_rows == 0 {
                return Ok(RoleChangeOutcome::Unknown);
            }

            let old_role = BTreeMap::from([("role", before.role.name())]);
            let new_role = BTreeMap::from([("role", role.name())]);
            let effects = effects.with_changes(Some(&old_role), Some(&new_role));
            conn.write_effects(&self.db, &effects).await?;

            Ok(RoleChangeOutcome::Done)
        })
    }

    async fn deactivate(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<DeactivationOutcome, Unavailable> {
        let db = &self.db;
        in_tx!(db, async |conn| { conn.deactivate_account(db, user, at, &effects).await })
    }

    async fn reactivate(
        &self,
        user: UserId,
        limits: SeatLimits,
        effects: SideEffects,
    ) -> Result<ReactivationOutcome, Unavailable> {
        let db = &self.db;
        in_tx!(db, async |conn| { conn.reactivate_account(db, user, limits, &effects).await })
    }

    async fn end_sessions(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            if !conn.outdate_sign_ins(user).await? {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn reset_factor(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            // The account first, as every change of a factor locks it.
            lock_row!(conn, accounts::table.find(DbUid(user.0)), accounts::provider);
            let is_on = totp_factors::enabled_at.is_not_null();
            let factor = totp_factors::table.find(DbUid(user.0)).filter(is_on);
            if diesel::delete(factor).execute(conn).await? == 0 {
                return Ok(false);
            }

            conn.replace_recovery_codes(user, &[]).await?;
            conn.outdate_sign_ins(user).await?;
            conn.write_effects(&self.db, &effects).await?;

            Ok(true)
        })
    }
}

connection_trait! {
    /// Connection that changes whether an account is active. Call each method inside
    /// a transaction that has taken the turn before it locked any account.
    pub(crate) trait ActiveAccounts {
        /// Deactivates an account, and ends its sessions and pending sign-ins.
        async fn deactivate_account(
            &mut self,
            db: &Database,
            user: UserId,
            at: Timestamp,
            effects: &SideEffects,
        ) -> Result<DeactivationOutcome, DbError> {
            self.take_turn().await?;
            let id = DbUid(user.0);
            let account = accounts::table.find(id);
            let row: Option<MemberRow> =
                account.select(MemberRow::as_select()).first(self).await.optional()?;
            let Some(before) = row.map(Member::try_from).transpose()? else {
                return Ok(DeactivationOutcome::Unknown);
            };
            if before.deactivated_at.is_some() {
                return Ok(DeactivationOutcome::Done);
            }
            if before.is_active_admin() && !self.another_admin(user).await? {
                return Ok(DeactivationOutcome::LastAdmin);
            }

            // The account first: a concurrent start of a session either locks it
            // before, and is ended here, or does so after, and is refused.
            let updated_rows = diesel::update(account)
                .set(accounts::deactivated_at.eq(DbInstant(at)))
                .execute(self)
                .await?;
            if updated_rows == 0 {
                return Ok(DeactivationOutcome::Unknown);
            }

            self.end_sign_ins(user).await?;

            let links = mailed_tokens::table.filter(mailed_tokens::user_id.eq(id));
            diesel::delete(links).execute(self).await?;
            self.write_effects(db, effects).await?;

            Ok(DeactivationOutcome::Done)
        }

        /// Ends the sessions of an account, and the sign-ins that are waiting for a
        /// further step.
        async fn end_sign_ins(&mut self, user: UserId) -> Result<(), DbError> {
            let id = DbUid(user.0);
            let own_sessions = sessions::table.filter(sessions::user_id.eq(id));
            diesel::delete(own_sessions).execute(self).await?;

            let open_challenges =
                factor_challenges::table.filter(factor_challenges::user_id.eq(id));
            diesel::delete(open_challenges).execute(self).await?;

            let passkey_requests =
                passkey_challenges::table.filter(passkey_challenges::user_id.eq(id));
            diesel::delete(passkey_requests).execute(self).await?;

            let codes = sign_in_codes::table.filter(sign_in_codes::user_id.eq(id));
            diesel::delete(codes).execute(self).await?;

            Ok(())
        }

        /// Ends the sessions and sign-ins of an account, those that are about to
        /// start included. Returns whether the account exists.
        async fn outdate_sign_ins(&mut self, user: UserId) -> Result<bool, DbError> {
            let epoch = accounts::credentials_epoch;
            let updated_rows = diesel::update(accounts::table.find(DbUid(user.0)))
                .set(epoch.eq(epoch + 1))
                .execute(self)
                .await?;
            if updated_rows == 0 {
                return Ok(false);
            }
            self.end_sign_ins(user).await?;
            Ok(true)
        }

        /// Reactivates an account within the licensed numbers.
        async fn reactivate_account(
            &mut self,
            db: &Database,
            user: UserId,
            limits: SeatLimits,
            effects: &SideEffects,
        ) -> Result<ReactivationOutcome, DbError> {
            self.take_turn().await?;
            let account = accounts::table.find(DbUid(user.0));
            let row: Option<MemberRow> =
                account.select(MemberRow::as_select()).first(self).await.optional()?;
            let Some(before) = row.map(Member::try_from).transpose()? else {
                return Ok(ReactivationOutcome::Unknown);
            };
            if before.deactivated_at.is_none() {
                return Ok(ReactivationOutcome::Done);
            }
            if !self.room_for_account(limits.accounts).await? {
                return Ok(ReactivationOutcome::SeatsTaken);
            }
            if before.role == Role::Admin && !self.room_for_admin(limits.admins).await? {
                return Ok(ReactivationOutcome::AdminsTaken);
            }

            let reactivation = accounts::deactivated_at.eq(None::<DbInstant>);
            if diesel::update(account).set(reactivation).execute(self).await? == 0 {
                return Ok(ReactivationOutcome::Unknown);
            }

            self.write_effects(db, effects).await?;

            Ok(ReactivationOutcome::Done)
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = accounts)]
struct MemberRow {
    id: DbUid,
    email: String,
    role: String,
    deactivated_at: Option<DbInstant>,
    email_verified_at: Option<DbInstant>,
}

impl TryFrom<MemberRow> for Member {
    type Error = DbError;

    fn try_from(row: MemberRow) -> Result<Self, DbError> {
        Ok(Self {
            user: UserId(row.id.0),
            email: row.email,
            role: role(&row.role)?,
            deactivated_at: row.deactivated_at.map(|it| it.0),
            email_verified_at: row.email_verified_at.map(|it| it.0),
        })
    }
}
