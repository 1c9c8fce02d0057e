//! Export of an account's data, in SQL.
//!
//! `begin_export` writes the audit entry, then `page` is called for each section of
//! `inventory`, from the first page on, until a page has no cursor. A section without
//! sealed data is declared by `section!` in `sections.rs`; others have a file each.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    AuditFilter, AuditLog, AuditPerson, AuditRecord, AuditSide, Cursor, ExportPage, Inventory,
    LeftOut, PageRequest, PersonalData, SideEffects, Unavailable, UserId,
};
use pia_sealing::Sealer;
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbUid, WriteEffects, in_tx};
use serde_json::{Value, json};

use crate::account::{ACCOUNT, PROVISIONING, SECOND_FACTOR};
use crate::assignments::ASSIGNMENTS;
use crate::audit_log::SqlAuditLog;
use crate::chats::CHATS;
use crate::export_section::{ExportSection, cursor_page};
use crate::feedback::AI_FEEDBACK;
use crate::inventory;
use crate::schedules::SCHEDULES;
use crate::sections::{
    AI_USAGE, API_KEYS, APP_PASSWORDS, DEVICES, ExportedRow, INVITATIONS, LOGIN_HISTORY, MAILS,
    PAGE, PASSKEYS, PROVIDER_IDENTITIES, SESSIONS, SYNC_EVENTS,
};
use crate::synced::{LEDGER, SYNC_ITEMS};

/// Sections, in the order of the export.
const SECTIONS: [ExportSection; 21] = [
    ACCOUNT,
    SECOND_FACTOR,
    PASSKEYS,
    APP_PASSWORDS,
    API_KEYS,
    DEVICES,
    PROVIDER_IDENTITIES,
    PROVISIONING,
    SESSIONS,
    LOGIN_HISTORY,
    INVITATIONS,
    MAILS,
    AI_USAGE,
    AI_FEEDBACK,
    LEDGER,
    SYNC_ITEMS,
    SYNC_EVENTS,
    CHATS,
    ASSIGNMENTS,
    SCHEDULES,
    AUDIT_ENTRIES,
];

pub(crate) const AUDIT_ENTRIES: ExportSection = ExportSection {
    name: "audit",
    columns: &["id", "at", "action", "object", "request", "changes"],
    read: |data, user, after| Box::pin(data.audit(user, after)),
};

/// Sides of the entries, which are exported with them.
pub(crate) const AUDIT_IDENTITIES: ExportSection =
    ExportSection { columns: &["part", "sealed"], ..AUDIT_ENTRIES };

/// Export of an account's data, in SQL.
#[derive(Debug, Clone)]
pub struct SqlPersonalData {
    pub(crate) db: Database,
    pub(crate) sealer: Sealer,
    audit: SqlAuditLog,
}

impl SqlPersonalData {
    /// Creates an export of the data in `db`, some of it sealed.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { audit: SqlAuditLog::new(db.clone()), db, sealer }
    }

    /// Exports the entries of a user, without the identities of others.
    async fn audit(&self, user: UserId, after: Option<Cursor>) -> Result<ExportPage, Unavailable> {
        let page = PageRequest { after, limit: u16::try_from(PAGE).unwrap_or(u16::MAX) };
        let entries = self.audit.page(&AuditFilter::of_user(user), page).await?;
        Ok(cursor_page(entries.into_iter().map(|it| entry(user, it)).collect()))
    }
}

#[async_trait]
impl PersonalData for SqlPersonalData {
    fn inventory(&self) -> Inventory {
        Inventory {
            sections: SECTIONS.iter().map(|it| it.name).collect(),
            left_out: inventory::left_out().map(|(what, why)| LeftOut { what, why }).collect(),
        }
    }

    async fn begin_export(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable> {
        let account = accounts::table.find(DbUid(user.0));
        in_tx!(self.db, async |conn| {
            if !diesel::select(exists(account)).get_result::<bool>(conn).await? {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })
    }

    async fn page(
        &self,
        user: UserId,
        section: &'static str,
        after: Option<Cursor>,
    ) -> Result<ExportPage, Unavailable> {
        let section = SECTIONS
            .iter()
            .find(|it| it.name == section)
            .ok_or(DbError::Unreadable("a section"))?;
        (section.read)(self, user, after).await
    }
}

fn entry(user: UserId, record: AuditRecord) -> ExportedRow {
    let cursor = Cursor { at: record.at, id: record.id };
    let changes = record.changes.and_then(|it| serde_json::from_str::<Value>(&it).ok());
    let exported = json!({
        "id": record.id,
        "at": record.at,
        "action": record.action,
        "object": record.object,
        "requestId": record.request,
        "changes": changes,
        "actor": side(user, record.actor),
        "subject": side(user, record.subject),
    });

    (cursor, exported)
}

/// Exports one side of an entry; `null` if it is another user.
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
