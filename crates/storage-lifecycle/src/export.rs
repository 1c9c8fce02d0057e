//! All that is kept of a person, in SQL.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    AuditLog, AuditPerson, AuditRecord, AuditSide, Cursor, ExportPage, Inventory, LeftOut,
    PageRequest, PersonalData, SideEffects, Unavailable, UserId,
};
use pia_sealing::Sealer;
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbUid, WriteEffects, in_tx};
use serde_json::{Value, json};

use crate::account::{account_of, second_factor_of};
use crate::audit_log::SqlAuditLog;
use crate::chats::chats_of;
use crate::inventory;
use crate::sections::{
    ExportedRow, PAGE, ai_usage_of, api_keys_of, app_passwords_of, devices_of, invitations_of,
    login_history_of, mails_of, passkeys_of, provider_identities_of, sessions_of, sync_events_of,
};
use crate::synced::{items_of, ledger_of};

/// The kinds of data, in the order in which they are told.
const SECTIONS: &[&str] = &[
    "account",
    "secondFactor",
    "passkeys",
    "appPasswords",
    "apiKeys",
    "devices",
    "providerIdentities",
    "sessions",
    "loginHistory",
    "invitations",
    "mails",
    "aiUsage",
    "sync",
    "syncItems",
    "syncEvents",
    "chats",
    "audit",
];

/// All that is kept of a person, in SQL.
#[derive(Debug, Clone)]
pub struct SqlPersonalData {
    db: Database,
    sealer: Sealer,
    audit: SqlAuditLog,
}

impl SqlPersonalData {
    /// Reads the data in `db`, some of it sealed.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { audit: SqlAuditLog::new(db.clone()), db, sealer }
    }

    async fn rows(
        &self,
        user: UserId,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, DbError> {
        let (db, place) = (&self.db, after.unwrap_or_else(Cursor::top));
        Ok(match section {
            "account" => single_page(account_of(db, user).await?),
            "secondFactor" => single_page(second_factor_of(db, user).await?),
            "passkeys" => cursor_page(passkeys_of(db, user, place).await?),
            "appPasswords" => cursor_page(app_passwords_of(db, user, place).await?),
            "apiKeys" => cursor_page(api_keys_of(db, user, place).await?),
            "devices" => cursor_page(devices_of(db, user, place).await?),
            "providerIdentities" => single_page(provider_identities_of(db, user).await?),
            "sessions" => cursor_page(sessions_of(db, user, place).await?),
            "loginHistory" => cursor_page(login_history_of(db, user, place).await?),
            "invitations" => cursor_page(invitations_of(db, user, place).await?),
            "mails" => cursor_page(mails_of(db, user, place).await?),
            "sync" => single_page(ledger_of(db, user).await?),
            "syncEvents" => cursor_page(sync_events_of(db, user, place).await?),
            "aiUsage" => cursor_page(ai_usage_of(db, user, place).await?),
            _ => return Err(DbError::Unreadable("a section")),
        })
    }

    /// The entries that a user is in, in which nobody else is named.
    async fn audit(&self, user: UserId, after: Option<Cursor>) -> Result<ExportPage, Unavailable> {
        let page = PageRequest { after, limit: u16::try_from(PAGE).unwrap_or(u16::MAX) };
        let entries = self.audit.page(Some(user), page).await?;
        Ok(cursor_page(entries.into_iter().map(|it| entry(user, it)).collect()))
    }
}

#[async_trait]
impl PersonalData for SqlPersonalData {
    fn inventory(&self) -> Inventory {
        let left_out = inventory::left_out().map(|(what, why)| LeftOut { what, why });
        Inventory { sections: SECTIONS.to_vec(), left_out: left_out.collect() }
    }

    async fn begin_export(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable> {
        let account = accounts::table.find(DbUid(user.0));
        Ok(in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            if !diesel::select(exists(account)).get_result::<bool>(conn).await? {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })?)
    }

    async fn page(
        &self,
        user: UserId,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable> {
        match section {
            "audit" => self.audit(user, after).await,
            "syncItems" => items_of(&self.db, &self.sealer, user, after).await,
            "chats" => chats_of(&self.db, &self.sealer, user, after).await,
            _ => Ok(self.rows(user, section, after).await?),
        }
    }
}

fn entry(user: UserId, record: AuditRecord) -> ExportedRow {
    let place = Cursor { at: record.at, id: record.id };
    let told = json!({
        "id": record.id,
        "at": record.at,
        "action": record.action,
        "object": record.object,
        "requestId": record.request,
        "actor": side(user, record.actor),
        "subject": side(user, record.subject),
    });
    (place, told)
}

/// Exports one side of an entry, unless that is somebody else.
fn side(user: UserId, side: AuditSide) -> Value {
    match side {
        AuditSide::Known(AuditPerson { user: known, address, agent })
            if known.is_none_or(|it| it == user) =>
        {
            json!({ "id": known, "address": address, "agent": agent })
        }
        AuditSide::Known(_) | AuditSide::Forgotten | AuditSide::Nobody => Value::Null,
    }
}

fn single_page(rows: Vec<Value>) -> ExportPage {
    ExportPage { rows: rows.into_iter().map(to_line).collect(), next: None }
}

/// A page that is full is followed by another, which may be empty.
fn cursor_page(rows: Vec<ExportedRow>) -> ExportPage {
    let full = i64::try_from(rows.len()).is_ok_and(|it| it >= PAGE);
    let next = rows.last().filter(|_| full).map(|it| it.0);
    ExportPage { rows: rows.into_iter().map(|it| to_line(it.1)).collect(), next }
}

/// A row as text. What is not there is not told as `null`.
fn to_line(mut row: Value) -> String {
    strip(&mut row);
    row.to_string()
}

fn strip(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, it| !it.is_null());
        fields.values_mut().for_each(strip);
    }
}
