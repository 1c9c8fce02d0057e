//! Writes a change's side effects in the change's transaction.
//!
//! `write_effects` belongs at the end of a change: audit entries, and sealed beside
//! them identities and emails. Rows are built in `effects/rows.rs`; a caller who batches its
//! own statements takes them from `effect_rows`.

mod bindings;
mod identity;
mod rows;
mod stored_email;

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Recipient, SideEffects};

use crate::cte_batch::CteBatch;
use crate::db::Database;
use crate::error::DbError;
use crate::pools::{AsyncPostgres, AsyncSqlite};
use crate::schema::accounts;
use crate::sql_types::DbUid;

pub use bindings::{ids_without, selected_ids, with_ids};
pub use identity::{AuditIdentity, AuditPart};
pub use rows::EffectRows;
pub use stored_email::StoredEmail;

crate::connection_trait! {
    /// Connection that can write side effects.
    pub trait WriteEffects {
        /// Writes all side effects: on PostgreSQL in one statement, after one for
        /// each user who gets an email. Call it inside [`in_tx!`](crate::in_tx),
        /// with the connection's database: it has the key to seal with, and knows
        /// whether emails are sent.
        async fn write_effects(
            &mut self,
            db: &Database,
            effects: &SideEffects,
        ) -> Result<(), DbError> {
            let rows = self.effect_rows(db, effects).await?;
            Ok(self.write_rows(rows).await?)
        }

        /// Returns the rows of side effects, to be written with other statements.
        async fn effect_rows(
            &mut self,
            db: &Database,
            effects: &SideEffects,
        ) -> Result<EffectRows, DbError> {
            let mut addresses = HashMap::new();
            let mails = if db.sends_mail() { effects.mail.as_slice() } else { &[] };
            for mail in mails {
                let Recipient::User(user) = mail.to else { continue };
                let address = accounts::table
                    .find(DbUid(user.0))
                    .select(accounts::email)
                    .first::<String>(self)
                    .await
                    .optional()?;
                addresses.extend(address.map(|it| (user, it)));
            }
            EffectRows::new_rows(db, effects, &addresses)
        }
    }
}

/// Connection that can write rows of side effects.
trait WriteRows {
    async fn write_rows(&mut self, rows: EffectRows) -> QueryResult<()>;
}

impl WriteRows for AsyncSqlite {
    async fn write_rows(&mut self, rows: EffectRows) -> QueryResult<()> {
        self.spawn_blocking(move |conn| rows.insert(conn)).await
    }
}

impl WriteRows for AsyncPostgres {
    async fn write_rows(&mut self, rows: EffectRows) -> QueryResult<()> {
        let mut writes = CteBatch::new();
        rows.join(&mut writes);
        writes.write(self).await
    }
}
