//! Accounts in SQL.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    Account, AccountStore, Credentials, CustomerType, NewAccount, Registered, Standing, fold_email,
};
use pia_kernel::{Effects, Secret, SessionId, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, locks, sessions};
use pia_storage::{Database, DbError, DbInstant, DbUid, WriteEffects, in_tx, on_conn};

/// The row of `locks` that whoever registers an account holds.
const REGISTERING: &str = "accounts";

/// Accounts in SQL.
#[derive(Debug, Clone)]
pub struct SqlAccounts {
    db: Database,
}

impl SqlAccounts {
    /// The accounts kept in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn add(
        &self,
        new: NewAccount,
        seats: Option<u32>,
        effects: Effects,
    ) -> Result<Registered, DbError> {
        let row = AccountRow::from(new);
        in_tx!(self.db, async |conn| -> Result<Registered, DbError> {
            // Seats are a limit over many rows, so they are counted by one at
            // a time, which this row's lock sees to until the commit.
            let turn = diesel::update(locks::table.find(REGISTERING));
            if turn.set(locks::turn.eq(locks::turn + 1)).execute(conn).await? != 1 {
                return Err(DbError::Unreadable("locks"));
            }

            if let Some(seats) = seats {
                let active = accounts::table.filter(accounts::deactivated_at.is_null()).count();
                if active.get_result::<i64>(conn).await? >= i64::from(seats) {
                    return Ok(Registered::SeatsTaken);
                }
            }

            let insert = diesel::insert_into(accounts::table).values(&row);
            let insert = insert.on_conflict(accounts::email_folded).do_nothing();
            if insert.execute(conn).await? == 0 {
                return Ok(Registered::EmailTaken);
            }
            conn.write_effects(&effects).await?;
            Ok(Registered::Stored)
        })
    }

    async fn with_address(&self, email: &str) -> Result<Option<Credentials>, DbError> {
        let same = accounts::email_folded.eq(fold_email(email));
        let account = accounts::table.filter(same.and(accounts::deactivated_at.is_null()));
        let row: Option<AccountRow> = on_conn!(self.db.reader(), |conn| {
            account.select(AccountRow::as_select()).first(conn).await.optional()?
        });
        row.map(Credentials::try_from).transpose()
    }

    async fn of_user(&self, user: UserId) -> Result<Option<Account>, DbError> {
        let account = accounts::table.find(DbUid(user.0));
        let row: Option<AccountRow> = on_conn!(self.db.reader(), |conn| {
            account.select(AccountRow::as_select()).first(conn).await.optional()?
        });
        row.map(|row| Ok(Credentials::try_from(row)?.account)).transpose()
    }

    async fn standing_of(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<Standing>, DbError> {
        let in_force = sessions::user_id
            .eq(DbUid(user.0))
            .and(sessions::expires_at.gt(DbInstant(now)))
            .and(accounts::deactivated_at.is_null());
        let customer = sessions::table
            .find(DbUid(session.0))
            .inner_join(accounts::table)
            .filter(in_force)
            .select(accounts::customer_type);
        let number: Option<i32> =
            on_conn!(self.db.reader(), |conn| customer.first(conn).await.optional()?);
        number.map(|it| Ok(Standing { user, session, customer: customer_type(it)? })).transpose()
    }

    async fn replace_hash(&self, user: UserId, old: &str, new: &str) -> Result<(), DbError> {
        // Compared and set in one statement, so that a password changed
        // meanwhile is not undone.
        let kept = accounts::table.find(DbUid(user.0)).filter(accounts::password_hash.eq(old));
        let update = diesel::update(kept).set(accounts::password_hash.eq(new));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?);
        Ok(())
    }

    async fn set_customer(
        &self,
        user: UserId,
        customer: CustomerType,
        company: &str,
        effects: Effects,
    ) -> Result<bool, DbError> {
        in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            let declared =
                (accounts::customer_type.eq(customer.number()), accounts::company_name.eq(company));
            let account = diesel::update(accounts::table.find(DbUid(user.0)));
            if account.set(declared).execute(conn).await? == 0 {
                return Ok(false);
            }
            conn.write_effects(&effects).await?;
            Ok(true)
        })
    }
}

#[async_trait]
impl AccountStore for SqlAccounts {
    async fn register(
        &self,
        new: NewAccount,
        seats: Option<u32>,
        effects: Effects,
    ) -> Result<Registered, Unavailable> {
        Ok(self.add(new, seats, effects).await?)
    }

    /// Does not find a deactivated account: nobody signs in to one.
    async fn by_email(&self, email: &str) -> Result<Option<Credentials>, Unavailable> {
        Ok(self.with_address(email).await?)
    }

    async fn find(&self, user: UserId) -> Result<Option<Account>, Unavailable> {
        Ok(self.of_user(user).await?)
    }

    async fn standing(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<Standing>, Unavailable> {
        Ok(self.standing_of(user, session, now).await?)
    }

    async fn rehash(
        &self,
        user: UserId,
        old: &Secret<String>,
        new: &Secret<String>,
    ) -> Result<(), Unavailable> {
        Ok(self.replace_hash(user, old.expose(), new.expose()).await?)
    }

    async fn declare(
        &self,
        user: UserId,
        customer: CustomerType,
        company: &str,
        effects: Effects,
    ) -> Result<bool, Unavailable> {
        Ok(self.set_customer(user, customer, company, effects).await?)
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = accounts)]
struct AccountRow {
    id: DbUid,
    email: String,
    email_folded: String,
    display_name: Option<String>,
    provider: String,
    password_hash: Option<String>,
    customer_type: i32,
    company_name: Option<String>,
    created_at: DbInstant,
}

impl From<NewAccount> for AccountRow {
    fn from(NewAccount { account, password_hash }: NewAccount) -> Self {
        Self {
            id: DbUid(account.user.0),
            email_folded: fold_email(&account.email),
            email: account.email,
            display_name: account.display_name,
            provider: account.provider,
            password_hash: Some(password_hash.expose().clone()),
            customer_type: account.customer.number(),
            company_name: account.company_name,
            created_at: DbInstant(account.created_at),
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
        };
        Ok(Self { account, password_hash: row.password_hash.map(Secret::new) })
    }
}

fn customer_type(number: i32) -> Result<CustomerType, DbError> {
    CustomerType::from_number(number.into()).ok_or(DbError::Unreadable("accounts.customer_type"))
}
