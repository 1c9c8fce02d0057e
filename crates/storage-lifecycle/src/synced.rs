//! Export of synchronised items.
//!
//! A page ends after a number of items or of bytes. The section `sync` is the summary
//! in the ledger, `syncItems` are the items with their bodies.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, ExportPage, Unavailable, UserId};
use pia_sealing::{PersonSeal, SealContext, Sealer};
use pia_storage::schema::{ledgers, sync_items};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use serde::Serialize;
use serde_json::{Value, json};

use crate::export_section::{ExportSection, single_page};
use crate::sections::to_json;

pub(crate) const LEDGER: ExportSection = ExportSection {
    name: "sync",
    columns: &["version", "last_stamp", "encrypted_at", "umk_version", "reset_at", "stored_bytes"],
    read: |data, user, _| {
        Box::pin(async move { Ok(single_page(ledger_of(&data.db, user).await?)) })
    },
};

pub(crate) const SYNC_ITEMS: ExportSection = ExportSection {
    name: "syncItems",
    columns: &[
        "channel",
        "id",
        "stamp",
        "changed_at",
        "deleted_at",
        "encrypted",
        "device_id",
        "size",
        "body",
    ],
    read: |data, user, after| Box::pin(items_of(&data.db, &data.sealer, user, after)),
};

/// Number of items per page of the export, and their approximate bytes.
const PAGE: usize = 20;
const MAX_CHUNK_BYTES: usize = 4 << 20;

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = ledgers)]
#[serde(rename_all = "camelCase")]
struct LedgerRow {
    version: i64,
    last_stamp: DbInstant,
    encrypted_at: Option<DbInstant>,
    umk_version: i32,
    reset_at: Option<DbInstant>,
    stored_bytes: i64,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sync_items)]
struct ItemRow {
    channel: i16,
    id: DbUid,
    stamp: DbInstant,
    changed_at: DbInstant,
    deleted_at: Option<DbInstant>,
    encrypted: bool,
    device_id: Option<String>,
    size: i32,
    body: Option<Vec<u8>>,
}

/// Exports the summary of an account's data; nothing if none was ever pushed.
async fn ledger_of(db: &Database, user: UserId) -> Result<Vec<Value>, DbError> {
    let ledger = ledgers::table.find(DbUid(user.0));
    let row: Option<LedgerRow> = on_conn!(db.reader(), |conn| {
        ledger.select(LedgerRow::as_select()).first(conn).await.optional()?
    })?;
    Ok(row.into_iter().map(to_json).collect())
}

/// Exports items with their bodies, as far as the server can read them, newest first:
/// stamps are unique within an account.
async fn items_of(
    db: &Database,
    sealer: &Sealer,
    user: UserId,
    after: Option<Cursor>,
) -> Result<ExportPage, Unavailable> {
    let rows = load_rows(db, user, after.unwrap_or_else(Cursor::top)).await?;
    if rows.is_empty() {
        return Ok(ExportPage::default());
    }
    let Some(seal) = sealer.seal_for(user).await? else { return Ok(ExportPage::default()) };

    let loaded_count = rows.len();
    let mut page = ExportPage::default();
    let mut bytes = 0;
    for (number, row) in rows.into_iter().enumerate() {
        let cursor = Cursor { at: row.stamp.0, id: row.id.0 };
        let text = export_item(&row, &seal).to_string();
        bytes += text.len();
        page.rows.push(text);
        let is_last = number + 1 == loaded_count;
        if bytes >= MAX_CHUNK_BYTES || is_last {
            page.next = (!is_last || loaded_count == PAGE).then_some(cursor);
            break;
        }
    }

    Ok(page)
}

async fn load_rows(db: &Database, user: UserId, after: Cursor) -> Result<Vec<ItemRow>, DbError> {
    let page = sync_items::table
        .filter(sync_items::user_id.eq(DbUid(user.0)))
        .filter(sync_items::stamp.lt(DbInstant(after.at)))
        .order(sync_items::stamp.desc())
        .limit(i64::try_from(PAGE).unwrap_or(i64::MAX));
    Ok(on_conn!(db.reader(), |conn| page.select(ItemRow::as_select()).load(conn).await?)?)
}

fn export_item(row: &ItemRow, seal: &PersonSeal) -> Value {
    let key = [&row.channel.to_be_bytes()[..], row.id.0.as_bytes()].concat();
    let context = SealContext { purpose: "sync-item", row: &key };
    // A body sealed under an abandoned key cannot be read any more.
    let body: Option<Value> = row
        .body
        .as_deref()
        .and_then(|it| seal.open(context, it).ok())
        .and_then(|it| serde_json::from_slice(it.expose()).ok());

    let mut item = json!({
        "channel": row.channel,
        "id": row.id,
        "stamp": row.stamp,
        "changedAt": row.changed_at,
        "encrypted": row.encrypted,
        "size": row.size,
    });

    if let Some(fields) = item.as_object_mut() {
        fields.extend(row.deleted_at.map(|it| ("deletedAt".to_owned(), json!(it))));
        fields.extend(row.device_id.as_ref().map(|it| ("deviceId".to_owned(), json!(it))));
        fields.extend(body.map(|it| ("body".to_owned(), it)));
    }

    item
}
