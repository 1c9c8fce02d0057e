//! Lists of chats: three statements a page, and one if nothing has changed.
//!
//! `load_head` reads the version first, so that a concurrent change leads to
//! another request and is never missed. `load_positions` reads the order and the
//! sizes of one chat more than the page takes, and `load_bodies` only the
//! documents that fit. A cursor is the time and the id of the last position; a
//! tombstone has one too, at the time of its deletion.

use std::collections::HashMap;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, Timestamp, Unavailable, UserId};
use pia_sealing::{PersonSeal, Salt};
use pia_storage::schema::{chats, ledgers, person_salts};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_sync::{
    ChatId, ChatListOutcome, ChatListRequest, ChatPage, ChatsVersion, IfNoneMatch, StoredChat,
};

use crate::SqlChats;
use crate::rows::ListRow;

/// Maximum size of the documents in a page in bytes, unless a single one
/// exceeds it.
const MAX_PAGE_BYTES: i64 = 4 << 20;

type HeadRow = (Vec<u8>, i64, DbInstant, Option<Vec<u8>>);

/// State of an account's data, and the salt that its chats are opened with.
struct Head {
    version: ChatsVersion,
    salt: Option<Salt>,
}

/// Position of a chat in the listing, without its document.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = chats)]
struct PositionRow {
    id: DbUid,
    updated_at: DbInstant,
    deleted_at: Option<DbInstant>,
    size: i32,
}

impl SqlChats {
    pub(crate) async fn load_page(
        &self,
        user: UserId,
        request: ChatListRequest,
        unless: &IfNoneMatch,
    ) -> Result<ChatListOutcome, Unavailable> {
        let head = load_head(&self.db, user).await?;
        let version = head.version;
        if unless.contains(&version) {
            return Ok(ChatListOutcome::Unchanged(version));
        }

        let mut page = ChatPage { version, chats: Vec::new(), deleted: Vec::new(), next: None };
        // Without a salt nothing was ever sealed for the account.
        let Some(salt) = head.salt else { return Ok(ChatListOutcome::Page(page)) };

        let seal = self.sealer.with_salt(user, &salt)?;
        let positions = load_positions(&self.db, user, request).await?;
        let fitting = fitting_positions(&positions, request.limit);
        if fitting.len() < positions.len() {
            page.next = fitting.last().map(|it| Cursor { at: it.updated_at.0, id: it.id.0 });
        }

        let live_ids = fitting.iter().filter(|it| it.deleted_at.is_none()).map(|it| it.id);
        let mut rows = load_bodies(&self.db, user, live_ids.collect()).await?;
        for position in fitting {
            if position.deleted_at.is_some() {
                page.deleted.push(ChatId(position.id.0));
                continue;
            }
            // Without a body, the chat was deleted just now: it is on a later page.
            let Some(row) = rows.remove(&position.id) else { continue };
            page.chats.extend(open(row, &seal));
        }

        Ok(ChatListOutcome::Page(page))
    }
}

/// Opens a chat; `None` if it was sealed under an abandoned master key: it must
/// not make the whole list fail.
fn open(row: ListRow, seal: &PersonSeal) -> Option<StoredChat> {
    let id = row.id.0;
    let chat = row.open(seal);
    if let Err(err) = &chat {
        let error = err as &dyn std::error::Error;
        tracing::error!(error, chat.id = %id, "chat could not be decrypted; omitted");
    }
    chat.ok()
}

/// Returns the positions that fit on a page, at least one.
fn fitting_positions(positions: &[PositionRow], limit: u16) -> &[PositionRow] {
    let mut bytes = 0;
    let mut fitting = 0_usize;

    for position in positions.iter().take(limit.into()) {
        bytes += i64::from(position.size);
        if bytes > MAX_PAGE_BYTES {
            break;
        }
        fitting += 1;
    }

    let length = fitting.max(1).min(positions.len());
    positions.get(..length).unwrap_or_default()
}

async fn load_head(db: &Database, user: UserId) -> Result<Head, DbError> {
    let ledger = ledgers::table
        .left_join(person_salts::table.on(person_salts::user_id.eq(ledgers::user_id)))
        .filter(ledgers::user_id.eq(DbUid(user.0)))
        .select((
            ledgers::epoch,
            ledgers::version,
            ledgers::last_stamp,
            person_salts::salt.nullable(),
        ));
    let row: Option<HeadRow> =
        on_conn!(db.reader(), |conn| ledger.first(conn).await.optional()?)?;
    let Some((epoch_bytes, version, DbInstant(last_stamp), salt_bytes)) = row else {
        let last_stamp = Timestamp::UNIX_EPOCH;
        let version = ChatsVersion { epoch: None, version: 0, last_stamp };
        return Ok(Head { version, salt: None });
    };

    let epoch = epoch_bytes.try_into().map_err(|_length| DbError::Unreadable("ledgers.epoch"))?;
    let salt = salt_bytes
        .map(|it| it.try_into().map(Salt))
        .transpose()
        .map_err(|_length| DbError::Unreadable("person_salts.salt"))?;

    Ok(Head { version: ChatsVersion { epoch: Some(epoch), version, last_stamp }, salt })
}

/// Period before `since` for which deletions are repeated: devices ask by the latest
/// change that they know, which may be their own, later than a deletion that they
/// have not received.
const DELETIONS_REPEATED: Duration = Duration::from_hours(30 * 24);

/// Loads one position more than the page takes, which shows whether there is a next one.
async fn load_positions(
    db: &Database,
    user: UserId,
    request: ChatListRequest,
) -> Result<Vec<PositionRow>, DbError> {
    let is_own = chats::user_id.eq(DbUid(user.0));
    let limit = i64::from(request.limit) + 1;
    Ok(on_conn!(db.reader(), |conn| {
        let mut query = chats::table.filter(is_own).into_boxed();
        if let Some(after) = request.after {
            let at = DbInstant(after.at);
            let id = DbUid(after.id);
            let is_after_cursor = chats::updated_at.gt(at).or(chats::id.gt(id));
            query = query.filter(chats::updated_at.ge(at).and(is_after_cursor));
        }

        if let Some(since) = request.since {
            let deleted_lately = chats::deleted_at
                .is_not_null()
                .and(chats::stamp.ge(DbInstant(since - DELETIONS_REPEATED)));
            let since_instant = DbInstant(since);
            let is_changed = chats::updated_at.ge(since_instant).or(chats::stamp.ge(since_instant));
            query = query.filter(is_changed.or(deleted_lately));
        }

        if !request.deleted {
            query = query.filter(chats::deleted_at.is_null());
        }

        query
            .order((chats::updated_at, chats::id))
            .limit(limit)
            .select(PositionRow::as_select())
            .load(conn)
            .await?
    })?)
}

async fn load_bodies(
    db: &Database,
    user: UserId,
    ids: Vec<DbUid>,
) -> Result<HashMap<DbUid, ListRow>, DbError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let undeleted = chats::table
        .filter(chats::user_id.eq(DbUid(user.0)))
        .filter(chats::id.eq_any(ids))
        .filter(chats::deleted_at.is_null());
    let rows: Vec<ListRow> =
        on_conn!(db.reader(), |conn| undeleted.select(ListRow::as_select()).load(conn).await?)?;
    Ok(rows.into_iter().map(|it| (it.id, it)).collect())
}
