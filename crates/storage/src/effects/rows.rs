//! Rows of a change's side effects.
//!
//! `new_rows` builds and seals them. They are written by `join` on PostgreSQL, as arrays in
//! one statement, and by `insert` on SQLite.

use std::collections::HashMap;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Binary, Integer, Nullable, Text};
use pia_kernel::{AuditEntry, Mail, MailId, Recipient, RequestContext, SideEffects, UserId};
use uuid::Uuid;

use super::identity::{AuditIdentity, AuditPart};
use super::stored_email::StoredEmail;
use crate::columns;
use crate::cte_batch::CteBatch;
use crate::db::Database;
use crate::error::DbError;
use crate::schema::{audit_entries, audit_identities, mails};
use crate::sql_types::{DbInstant, DbUid, Instant, Uid};

/// Rows of a change's side effects, sealed and ready to be written in its
/// transaction.
#[derive(Debug, Default)]
pub struct EffectRows {
    entries: Vec<EntryRow>,
    identities: Vec<IdentityRow>,
    mails: Vec<MailRow>,
}

#[derive(Debug, Insertable)]
#[diesel(table_name = audit_entries)]
pub(super) struct EntryRow {
    id: DbUid,
    at: DbInstant,
    action: &'static str,
    object: Option<String>,
    request: Option<String>,
    changes: Option<String>,
    actor_commitment: Option<Vec<u8>>,
    subject_commitment: Option<Vec<u8>>,
}

#[derive(Debug, Insertable)]
#[diesel(table_name = audit_identities)]
pub(super) struct IdentityRow {
    entry_id: DbUid,
    part: &'static str,
    user_id: Option<DbUid>,
    sealed: Vec<u8>,
}

#[derive(Debug, Insertable)]
#[diesel(table_name = mails)]
pub(super) struct MailRow {
    id: DbUid,
    user_id: Option<DbUid>,
    letter: &'static str,
    sealed: Vec<u8>,
    queued_at: DbInstant,
    due_at: DbInstant,
    tries: i32,
}

columns! {
    /// Entries of the audit log.
    Entries of EntryRow {
        id: Uid = DbUid,
        at: Instant = DbInstant,
        action: Text = &'static str,
        object: Nullable<Text> = Option<String>,
        request: Nullable<Text> = Option<String>,
        changes: Nullable<Text> = Option<String>,
        actor_commitment: Nullable<Binary> = Option<Vec<u8>>,
        subject_commitment: Nullable<Binary> = Option<Vec<u8>>,
    }
}

columns! {
    /// Identities of the entries.
    Identities of IdentityRow {
        entry_id: Uid = DbUid,
        part: Text = &'static str,
        user_id: Nullable<Uid> = Option<DbUid>,
        sealed: Binary = Vec<u8>,
    }
}

columns! {
    /// Emails that wait for the relay.
    Mails of MailRow {
        id: Uid = DbUid,
        user_id: Nullable<Uid> = Option<DbUid>,
        letter: Text = &'static str,
        sealed: Binary = Vec<u8>,
        queued_at: Instant = DbInstant,
        due_at: Instant = DbInstant,
        tries: Integer = i32,
    }
}

const INSERT_ENTRIES: &str = "
    INSERT INTO audit_entries
        (id, at, action, object, request, changes, actor_commitment, subject_commitment)
    SELECT id, at, action, object, request, changes, actor_commitment, subject_commitment FROM ";

const INSERT_IDENTITIES: &str = "
    INSERT INTO audit_identities (entry_id, part, user_id, sealed)
    SELECT entry_id, part, user_id, sealed FROM ";

const INSERT_MAILS: &str = "
    INSERT INTO mails (id, user_id, letter, sealed, queued_at, due_at, tries)
    SELECT id, user_id, letter, sealed, queued_at, due_at, tries FROM ";

/// Implements an insert of each kind of rows for PostgreSQL, whose text does not
/// depend on the number of rows.
macro_rules! inserts {
    ($($rows:ident by $insert:ident),*) => {$(
        impl QueryFragment<Pg> for $rows<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
                out.push_sql($insert);
                self.unnest("v", &mut out)
            }
        }
    )*};
}

inserts!(Entries by INSERT_ENTRIES, Identities by INSERT_IDENTITIES, Mails by INSERT_MAILS);

impl EffectRows {
    /// Builds the rows of side effects; `addresses` are those of the recipients.
    /// Accounts that no longer exist get no email.
    pub(super) fn new_rows(
        db: &Database,
        effects: &SideEffects,
        addresses: &HashMap<UserId, String>,
    ) -> Result<Self, DbError> {
        let origin = RequestContext::current();
        let mut rows = Self::default();
        for entry in &effects.audit {
            rows.add_entry(db, entry, &origin)?;
        }

        if !db.sends_mail() {
            return Ok(rows);
        }

        for mail in &effects.mail {
            let (user, address) = match &mail.to {
                Recipient::Address(address) => (None, Some(address)),
                Recipient::User(user) => (Some(DbUid(user.0)), addresses.get(user)),
            };
            if let Some(address) = address {
                rows.mails.push(mail_row(db, user, address, mail, &origin)?);
            }
        }

        Ok(rows)
    }

    /// Adds the inserts to a batch, on PostgreSQL.
    pub fn join<'a>(&'a self, writes: &mut CteBatch<'a>) {
        if !self.entries.is_empty() {
            writes.add(Entries::of(&self.entries));
        }
        if !self.identities.is_empty() {
            writes.add(Identities::of(&self.identities));
        }
        if !self.mails.is_empty() {
            writes.add(Mails::of(&self.mails));
        }
    }

    /// Inserts the rows into SQLite, one after the other.
    pub(super) fn insert(self, conn: &mut SqliteConnection) -> QueryResult<()> {
        for row in self.entries {
            diesel::insert_into(audit_entries::table).values(row).execute(conn)?;
        }
        for row in self.identities {
            diesel::insert_into(audit_identities::table).values(row).execute(conn)?;
        }
        for row in self.mails {
            diesel::insert_into(mails::table).values(row).execute(conn)?;
        }
        Ok(())
    }

    fn add_entry(
        &mut self,
        db: &Database,
        entry: &AuditEntry,
        origin: &RequestContext,
    ) -> Result<(), DbError> {
        let id = Uuid::now_v7();
        let mut row = EntryRow {
            id: DbUid(id),
            at: DbInstant(entry.at),
            action: entry.action,
            object: entry.object.clone(),
            request: origin.request.as_deref().map(str::to_owned),
            changes: entry.changes.as_ref().map(|it| it.as_str().to_owned()),
            actor_commitment: None,
            subject_commitment: None,
        };

        for (part, identity) in AuditIdentity::from_entry(entry, origin) {
            let sealed_identity = identity.seal(db.seal()?, id, part)?;

            match part {
                AuditPart::Actor => row.actor_commitment = Some(sealed_identity.commitment),
                AuditPart::Subject => row.subject_commitment = Some(sealed_identity.commitment),
            }

            // The data of an anonymous actor belongs to the account they acted on.
            let user = identity.user.or(entry.subject);
            self.identities.push(IdentityRow {
                entry_id: DbUid(id),
                part: part.name(),
                user_id: user.map(|it| DbUid(it.0)),
                sealed: sealed_identity.sealed,
            });
        }

        self.entries.push(row);

        Ok(())
    }
}

fn mail_row(
    db: &Database,
    user_id: Option<DbUid>,
    address: &str,
    mail: &Mail,
    origin: &RequestContext,
) -> Result<MailRow, DbError> {
    let email = StoredEmail::new(address.to_owned(), mail, origin);
    let id = MailId::generate();
    let at = DbInstant(email.at);
    Ok(MailRow {
        id: DbUid(id.0),
        user_id,
        letter: mail.email.name,
        sealed: email.seal(db.seal()?, id)?,
        queued_at: at,
        due_at: at,
        tries: 0,
    })
}
