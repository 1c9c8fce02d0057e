//! Accounts in SQL: look-ups for sign-in, and the states that the gates load.
//!
//! `caller_state` and `key_state` decide in one joined row each if a session
//! or a key is in force. New accounts are stored in `registering.rs`.
//! `AccountRow` is shared with the files that insert accounts or find them by
//! other keys.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    Account, AccountCreationOutcome, AccountStore, ApiKeyRef, CallerState, Candidate, Credentials,
    CredentialsEpoch, CustomerType, KeyScope, KeyUse, Network, NewAccount, Role, SessionRef,
    SessionScope, SignInOutcome, fold_email,
};
use pia_kernel::{GroupId, Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, api_keys, sessions, sign_ins, totp_factors};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

use crate::addresses::with_address;
use crate::api_keys::scopes_of;
use crate::registering::register;

/// Adapter of `AccountStore` over the table `accounts`.
#[derive(Debug, Clone)]
pub struct SqlAccounts {
    db: Database,
}

impl SqlAccounts {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl AccountStore for SqlAccounts {
    async fn register(
        &self,
        new: NewAccount,
        seats: Option<u32>,
        effects: SideEffects,
    ) -> Result<AccountCreationOutcome, Unavailable> {
        Ok(register(&self.db, new, seats, effects).await?)
    }

    /// Does not find a deactivated account: signing in to one is impossible.
    async fn by_email(&self, email: &str) -> Result<Option<Credentials>, Unavailable> {
        let account = with_address(email).filter(accounts::deactivated_at.is_null());
        let row: Option<AccountRow> = on_conn!(self.db.reader(), |conn| {
            account.select(AccountRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Credentials::try_from).transpose()?)
    }

    async fn candidate(
        &self,
        email: &str,
        from: Option<Network>,
        since: Timestamp,
    ) -> Result<Option<Candidate>, Unavailable> {
        let account = with_address(email).filter(accounts::deactivated_at.is_null());

        let known_device = sign_ins::table
            .filter(sign_ins::user_id.eq(accounts::id))
            .filter(sign_ins::network.eq(from.map(|it| it.to_string())))
            .filter(sign_ins::outcome.eq(SignInOutcome::SignedIn.name()))
            .filter(sign_ins::at.gt(DbInstant(since)));

        let factor_on = totp_factors::table
            .filter(totp_factors::user_id.eq(accounts::id))
            .filter(totp_factors::enabled_at.is_not_null());

        let row: Option<(AccountRow, bool, bool)> = on_conn!(self.db.reader(), |conn| {
            let columns = (AccountRow::as_select(), exists(known_device), exists(factor_on));
            account.select(columns).first(conn).await.optional()?
        })?;
        let Some((account_row, was_there_before, has_factor)) = row else { return Ok(None) };

        Ok(Some(Candidate { credentials: account_row.try_into()?, was_there_before, has_factor }))
    }

    async fn find(&self, user: UserId) -> Result<Option<Account>, Unavailable> {
        let account = accounts::table.find(DbUid(user.0));
        let row: Option<AccountRow> = on_conn!(self.db.reader(), |conn| {
            account.select(AccountRow::as_select()).first(conn).await.optional()?
        })?;
        Ok(row.map(Credentials::try_from).transpose()?.map(|it| it.account))
    }

    async fn active_group(&self, user: UserId) -> Result<Option<GroupId>, Unavailable> {
        let group = accounts::table
            .find(DbUid(user.0))
            .filter(accounts::deactivated_at.is_null())
            .select(accounts::group_id);
        let group_id: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| group.first(conn).await.optional()?)?;
        Ok(group_id.map(|it| GroupId(it.0)))
    }

    async fn caller_state(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable> {
        let is_in_force = sessions::user_id
            .eq(DbUid(user.0))
            .and(sessions::expires_at.gt(DbInstant(now)))
            .and(accounts::deactivated_at.is_null());

        let session_row = sessions::table
            .find(DbUid(session.0))
            .inner_join(accounts::table)
            .filter(is_in_force)
            .select((
                accounts::customer_type,
                accounts::role,
                accounts::group_id,
                accounts::email_verified_at.is_not_null(),
                sessions::app_password_id.is_not_null(),
                (sessions::console, sessions::account_only),
            ));

        let row: Option<(i32, String, DbUid, bool, bool, (bool, bool))> =
            on_conn!(self.db.reader(), |conn| session_row.first(conn).await.optional()?)?;
        let Some((customer, role, group, email_verified, by_app_password, browser)) = row else {
            return Ok(None);
        };

        let (in_browser, account_only) = browser;
        let scope = match (in_browser, account_only, by_app_password) {
            (true, true, _) => SessionScope::Account,
            (true, false, _) => SessionScope::Console,
            (false, _, true) => SessionScope::Data,
            (false, _, false) => SessionScope::Full,
        };

        Ok(Some(CallerState {
            user,
            credential: SessionRef { user, session }.into(),
            customer: customer_type(customer)?,
            role: self::role(&role)?,
            group: GroupId(group.0),
            scope,
            email_verified,
            key_expires_at: None,
        }))
    }

    async fn key_state(
        &self,
        key_ref: ApiKeyRef,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable> {
        let ApiKeyRef { user, key } = key_ref;

        let ends_later = api_keys::expires_at.is_null().or(api_keys::expires_at.gt(DbInstant(now)));
        let is_in_force = api_keys::user_id
            .eq(DbUid(user.0))
            .and(ends_later.assume_not_null())
            .and(accounts::deactivated_at.is_null());
        let columns = (
            accounts::customer_type,
            accounts::role,
            accounts::group_id,
            accounts::email_verified_at.is_not_null(),
            api_keys::weekly_credits,
            api_keys::scopes,
            api_keys::expires_at,
        );
        let key_row = api_keys::table
            .find(DbUid(key.0))
            .inner_join(accounts::table)
            .filter(is_in_force)
            .select(columns);

        let row: Option<(i32, String, DbUid, bool, i64, String, Option<DbInstant>)> =
            on_conn!(self.db.reader(), |conn| key_row.first(conn).await.optional()?)?;
        let Some((customer, role, group, email_verified, weekly_credits, scopes, expires_at)) = row
        else {
            return Ok(None);
        };
        if !scopes_of(&scopes).is_some_and(|it| it.contains(&KeyScope::Ai)) {
            return Ok(None);
        }

        Ok(Some(CallerState {
            user,
            credential: key_ref.into(),
            customer: customer_type(customer)?,
            role: self::role(&role)?,
            group: GroupId(group.0),
            scope: SessionScope::Key(KeyUse { key, weekly_credits }),
            email_verified,
            key_expires_at: expires_at.map(|it| it.0),
        }))
    }

    async fn rehash(
        &self,
        user: UserId,
        old: &Secret<String>,
        new: &Secret<String>,
    ) -> Result<(), Unavailable> {
        let old = old.expose();
        let new = new.expose();

        // Compared and set in one statement, so that a password changed
        // meanwhile is not undone.
        let unchanged_account =
            accounts::table.find(DbUid(user.0)).filter(accounts::password_hash.eq(old));
        let update = diesel::update(unchanged_account).set(accounts::password_hash.eq(new));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn rename(
        &self,
        user: UserId,
        name: Option<String>,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            let renamed_rows = diesel::update(accounts::table.find(DbUid(user.0)))
                .set(accounts::display_name.eq(&name))
                .execute(conn)
                .await?;
            if renamed_rows == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn declare(
        &self,
        user: UserId,
        customer: CustomerType,
        company: &str,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        in_tx!(self.db, async |conn| {
            let customer_columns =
                (accounts::customer_type.eq(customer.number()), accounts::company_name.eq(company));
            let updated_rows = diesel::update(accounts::table.find(DbUid(user.0)))
                .set(customer_columns)
                .execute(conn)
                .await?;
            if updated_rows == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = accounts)]
pub(crate) struct AccountRow {
    pub(crate) id: DbUid,
    email: String,
    pub(crate) email_folded: String,
    display_name: Option<String>,
    provider: String,
    password_hash: Option<String>,
    customer_type: i32,
    company_name: Option<String>,
    pub(crate) created_at: DbInstant,
    role: String,
    pub(crate) group_id: DbUid,
    email_verified_at: Option<DbInstant>,
    credentials_epoch: i64,
}

impl From<NewAccount> for AccountRow {
    fn from(NewAccount { account, password_hash, .. }: NewAccount) -> Self {
        Self {
            id: DbUid(account.user.0),
            email_folded: fold_email(&account.email),
            email: account.email,
            display_name: account.display_name,
            provider: account.provider,
            password_hash: password_hash.map(|it| it.expose().clone()),
            customer_type: account.customer.number(),
            company_name: account.company_name,
            created_at: DbInstant(account.created_at),
            role: account.role.name().to_owned(),
            group_id: DbUid(account.group.0),
            email_verified_at: account.email_verified_at.map(DbInstant),
            credentials_epoch: account.epoch.0,
        }
    }
}

impl TryFrom<AccountRow> for Credentials {
    type Error = DbError;

    fn try_from(row: AccountRow) -> Result<Self, DbError> {
        let account = Account {
            user: UserId(row.id.0),
            email: row.email,
            display_name: row.display_name,
            provider: row.provider,
            customer: customer_type(row.customer_type)?,
            company_name: row.company_name,
            created_at: row.created_at.0,
            role: role(&row.role)?,
            group: GroupId(row.group_id.0),
            email_verified_at: row.email_verified_at.map(|it| it.0),
            epoch: CredentialsEpoch(row.credentials_epoch),
        };

        Ok(Self { account, password_hash: row.password_hash.map(Secret::new) })
    }
}

fn customer_type(number: i32) -> Result<CustomerType, DbError> {
    CustomerType::from_number(number.into()).ok_or(DbError::Unreadable("accounts.customer_type"))
}

pub(crate) fn role(name: &str) -> Result<Role, DbError> {
    Role::of_name(name).ok_or(DbError::Unreadable("accounts.role"))
}
