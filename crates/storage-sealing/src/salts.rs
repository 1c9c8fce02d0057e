//! Salts of users in SQL.
//!
//! A salt is first read without a transaction, as nearly every user has one. Only a
//! missing one is inserted, under the lock of its account.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Unavailable, UserId};
use pia_sealing::{Salt, SaltStore};
use pia_storage::schema::{accounts, person_salts};
use pia_storage::{Database, DbError, DbUid, in_tx, on_conn};

/// Salts of users in SQL. A salt is deleted with its account.
#[derive(Debug, Clone)]
pub struct SqlSalts {
    db: Database,
}

impl SqlSalts {
    /// Creates the store of the salts in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn load_salt(&self, person: UserId) -> Result<Option<Salt>, DbError> {
        let salt = person_salts::table.find(DbUid(person.0)).select(person_salts::salt);
        let salt: Option<Vec<u8>> =
            on_conn!(self.db.reader(), |conn| salt.first(conn).await.optional()?)?;
        salt.map(parse_salt).transpose()
    }

    async fn insert_or_load(&self, person: UserId, fresh: &Salt) -> Result<Option<Salt>, DbError> {
        let user_id = DbUid(person.0);
        let row = (person_salts::user_id.eq(user_id), person_salts::salt.eq(&fresh.0[..]));
        in_tx!(self.db, async |conn| -> Result<Option<Salt>, DbError> {
            // Locked, so that the account is not deleted meanwhile.
            let locked_rows = diesel::update(accounts::table.find(user_id))
                .set(accounts::provider.eq(accounts::provider))
                .execute(conn)
                .await?;
            if locked_rows == 0 {
                return Ok(None);
            }

            diesel::insert_into(person_salts::table)
                .values(row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            let salt: Vec<u8> =
                person_salts::table.find(user_id).select(person_salts::salt).first(conn).await?;
            Ok(Some(parse_salt(salt)?))
        })
    }
}

#[async_trait]
impl SaltStore for SqlSalts {
    async fn salt(&self, person: UserId, fresh: Salt) -> Result<Option<Salt>, Unavailable> {
        match self.load_salt(person).await? {
            Some(stored) => Ok(Some(stored)),
            None => Ok(self.insert_or_load(person, &fresh).await?),
        }
    }

    async fn find(&self, person: UserId) -> Result<Option<Salt>, Unavailable> {
        Ok(self.load_salt(person).await?)
    }
}

fn parse_salt(bytes: Vec<u8>) -> Result<Salt, DbError> {
    let salt =
        bytes.try_into().map_err(|_other_length| DbError::Unreadable("person_salts.salt"))?;
    Ok(Salt(salt))
}
