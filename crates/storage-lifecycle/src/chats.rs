//! Export of chats, as far as the server can read them.
//!
//! A page ends after a number of chats or of bytes, but has one chat at least. Rows are
//! loaded without their documents first, and documents only of those that fit.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, ExportPage, Unavailable, UserId};
use pia_sealing::{PersonSeal, SealContext, Sealer};
use pia_storage::schema::chats;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use serde::Serialize;

use crate::export_section::ExportSection;

pub(crate) const CHATS: ExportSection = ExportSection {
    name: "chats",
    columns: &[
        "id",
        "created_at",
        "updated_at",
        "accessed_at",
        "deleted_at",
        "encrypted",
        "size",
        "body",
    ],
    read: |data, user, after| Box::pin(chats_of(&data.db, &data.sealer, user, after)),
};

/// Maximum number of chats per page of the export, and of their bytes.
const PAGE: usize = 50;
const MAX_CHUNK_BYTES: i64 = 4 << 20;

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = chats)]
#[serde(rename_all = "camelCase")]
struct ChatRow {
    id: DbUid,
    created_at: DbInstant,
    updated_at: DbInstant,
    #[serde(skip_serializing_if = "Option::is_none")]
    accessed_at: Option<DbInstant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<DbInstant>,
    encrypted: bool,
    size: i32,
}

type Bodies = HashMap<DbUid, Vec<u8>>;

/// Exports chats with their documents, newest first, and tombstones of deleted ones.
async fn chats_of(
    db: &Database,
    sealer: &Sealer,
    user: UserId,
    after: Option<Cursor>,
) -> Result<ExportPage, Unavailable> {
    let mut rows = load_rows(db, user, after.unwrap_or_else(Cursor::top)).await?;
    let loaded_count = rows.len();
    let mut bytes = 0;
    let mut fitting = 0_usize;

    for row in &rows {
        bytes += i64::from(row.size);
        if bytes > MAX_CHUNK_BYTES {
            break;
        }
        fitting += 1;
    }

    rows.truncate(fitting.max(1));
    let has_more = loaded_count > rows.len() || loaded_count == PAGE;
    let last_row = if has_more { rows.last() } else { None };
    let next = last_row.map(|it| Cursor { at: it.updated_at.0, id: it.id.0 });
    if rows.is_empty() {
        return Ok(ExportPage { rows: Vec::new(), next: None });
    }
    let Some(seal) = sealer.seal_for(user).await? else { return Ok(ExportPage::default()) };

    let mut bodies = load_bodies(db, user, rows.iter().map(|it| it.id).collect()).await?;
    let exported = rows.iter().map(|row| export_chat(row, bodies.remove(&row.id), &seal));

    Ok(ExportPage { rows: exported.collect::<Result<_, _>>()?, next })
}

async fn load_rows(db: &Database, user: UserId, after: Cursor) -> Result<Vec<ChatRow>, DbError> {
    let at = DbInstant(after.at);
    let id = DbUid(after.id);
    let is_after_cursor =
        chats::updated_at.le(at).and(chats::updated_at.lt(at).or(chats::id.lt(id)));
    let page = chats::table
        .filter(chats::user_id.eq(DbUid(user.0)).and(is_after_cursor))
        .order((chats::updated_at.desc(), chats::id.desc()))
        .limit(i64::try_from(PAGE).unwrap_or(i64::MAX));
    Ok(on_conn!(db.reader(), |conn| page.select(ChatRow::as_select()).load(conn).await?)?)
}

async fn load_bodies(db: &Database, user: UserId, ids: Vec<DbUid>) -> Result<Bodies, DbError> {
    let page = chats::table
        .filter(chats::user_id.eq(DbUid(user.0)).and(chats::id.eq_any(ids)))
        .select((chats::id, chats::body));
    let rows: Vec<(DbUid, Option<Vec<u8>>)> =
        on_conn!(db.reader(), |conn| page.load(conn).await?)?;
    Ok(rows.into_iter().filter_map(|(id, body)| Some((id, body?))).collect())
}

/// Formats a row as JSON, with the document inserted unparsed: it may be long.
fn export_chat(
    row: &ChatRow,
    body: Option<Vec<u8>>,
    seal: &PersonSeal,
) -> Result<String, Unavailable> {
    let mut text = serde_json::to_string(row).map_err(|err| Unavailable::new("a chat", err))?;
    let context = SealContext { purpose: "chat", row: row.id.0.as_bytes() };
    // A document sealed under an abandoned key cannot be read any more.
    let document = body.and_then(|it| seal.open_long(context, it).ok());
    if let Some(document) = document.and_then(|it| String::from_utf8(it.reveal()).ok()) {
        text.pop();
        text.reserve(document.len() + 16);
        text.push_str(",\"body\":");
        text.push_str(&document);
        text.push('}');
    }

    Ok(text)
}
