//! Writing what goes with a change, in the change's transaction.

mod identity;
mod letter;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{AuditEntry, Effects, MailId, Origin, Recipient};
use uuid::Uuid;

use crate::db::{AsyncPostgres, AsyncSqlite, Database, DbError};
use crate::schema::{accounts, audit_entries, audit_identities, mails};
use crate::sql_types::{DbInstant, DbUid};

pub use identity::{AuditIdentity, AuditPart};
pub use letter::StoredLetter;

/// A connection that can write what goes with a change.
pub trait WriteEffects {
    /// Writes all of it. Call it inside [`in_tx!`](crate::in_tx), with the
    /// database that the connection is to: it knows what to seal with, and
    /// whether there is anyone to send mail.
    fn write_effects(
        &mut self,
        db: &Database,
        effects: &Effects,
    ) -> impl Future<Output = Result<(), DbError>> + Send;
}

/// A function generic over connections would have to name the type of every
/// query in its bounds, so the one body is compiled twice, as in `on_conn!`.
macro_rules! write_effects {
    ($($conn:ty),*) => {$(
        impl WriteEffects for $conn {
            async fn write_effects(
                &mut self,
                db: &Database,
                effects: &Effects,
            ) -> Result<(), DbError> {
                let origin = Origin::current();
                for entry in &effects.audit {
                    let (row, identities) = audit_rows(db, entry, &origin)?;
                    diesel::insert_into(audit_entries::table).values(row).execute(self).await?;
                    for row in identities {
                        let row = diesel::insert_into(audit_identities::table).values(row);
                        row.execute(self).await?;
                    }
                }
                if !db.sends_mail() {
                    return Ok(());
                }
                for mail in &effects.mail {
                    let (user, address) = match &mail.to {
                        Recipient::Address(address) => (None, Some(address.clone())),
                        Recipient::User(user) => {
                            let address = accounts::table.find(DbUid(user.0));
                            let address = address.select(accounts::email).first::<String>(self);
                            (Some(DbUid(user.0)), address.await.optional()?)
                        }
                    };
                    // Whose account is gone by now is not written to.
                    let Some(address) = address else { continue };
                    let letter = StoredLetter::new(address, mail, &origin);
                    let row = mail_row(db, user, mail.letter.name, &letter)?;
                    diesel::insert_into(mails::table).values(row).execute(self).await?;
                }
                Ok(())
            }
        }
    )*};
}

write_effects!(AsyncSqlite, AsyncPostgres);

#[derive(Insertable)]
#[diesel(table_name = audit_entries)]
struct EntryRow {
    id: DbUid,
    at: DbInstant,
    action: &'static str,
    object: Option<String>,
    request: Option<String>,
    actor_commitment: Option<Vec<u8>>,
    subject_commitment: Option<Vec<u8>>,
}

#[derive(Insertable)]
#[diesel(table_name = audit_identities)]
struct IdentityRow {
    entry_id: DbUid,
    part: &'static str,
    user_id: Option<DbUid>,
    sealed: Vec<u8>,
}

#[derive(Insertable)]
#[diesel(table_name = mails)]
struct MailRow {
    id: DbUid,
    user_id: Option<DbUid>,
    letter: &'static str,
    sealed: Vec<u8>,
    queued_at: DbInstant,
    due_at: DbInstant,
    tries: i32,
}

fn audit_rows(
    db: &Database,
    entry: &AuditEntry,
    origin: &Origin,
) -> Result<(EntryRow, Vec<IdentityRow>), DbError> {
    let id = Uuid::now_v7();
    let mut row = EntryRow {
        id: DbUid(id),
        at: DbInstant(entry.at),
        action: entry.action,
        object: entry.object.clone(),
        request: origin.request.as_deref().map(str::to_owned),
        actor_commitment: None,
        subject_commitment: None,
    };
    let mut identities = Vec::new();
    for (part, identity) in AuditIdentity::of(entry, origin) {
        let kept = identity.seal(db.seal()?, id, part)?;
        match part {
            AuditPart::Actor => row.actor_commitment = Some(kept.commitment),
            AuditPart::Subject => row.subject_commitment = Some(kept.commitment),
        }
        // What is known of a stranger is about whom they were a stranger to.
        let user = identity.user.or(entry.subject);
        identities.push(IdentityRow {
            entry_id: DbUid(id),
            part: part.name(),
            user_id: user.map(|it| DbUid(it.0)),
            sealed: kept.sealed,
        });
    }
    Ok((row, identities))
}

fn mail_row(
    db: &Database,
    user_id: Option<DbUid>,
    name: &'static str,
    letter: &StoredLetter,
) -> Result<MailRow, DbError> {
    let id = MailId::generate();
    let at = DbInstant(letter.at);
    let sealed = letter.seal(db.seal()?, id)?;
    Ok(MailRow {
        id: DbUid(id.0),
        user_id,
        letter: name,
        sealed,
        queued_at: at,
        due_at: at,
        tries: 0,
    })
}
