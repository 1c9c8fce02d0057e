//! Lists of chats: three statements a page, and one if nothing has changed.

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
        part: ChatListRequest,
        unless: &IfNoneMatch,
    ) -> Result<ChatListOutcome, Unavailable> {
        let head = head(&self.db, user).await?;
        let version = head.version;
        if unless.contains(&version) {
            return Ok(ChatListOutcome::Unchanged(version));
        }

        let chats = Vec::new();
        let deleted = Vec::new();
        let next = None;
        let mut page = ChatPage { version, chats, deleted, next };
        // Without a salt nothing was ever sealed for the account.
        let Some(salt) = head.salt else { return Ok(ChatListOutcome::Page(page)) };

        let seal = self.sealer.with_salt(user, &salt)?;
        let places = places(&self.db, user, part).await?;
        let fitting_rows = cut(&places, part.limit);
        if fitting_rows.len() < places.len() {
            page.next = fitting_rows.last().map(|it| Cursor { at: it.updated_at.0, id: it.id.0 });
        }

        let live = fitting_rows.iter().filter(|it| it.deleted_at.is_none());
        let mut rows = bodies(&self.db, user, live.map(|it| it.id).collect()).await?;
        for place in fitting_rows {
            if place.deleted_at.is_some() {
                page.deleted.push(ChatId(place.id.0));
            } else if let Some(row) = rows.remove(&place.id) {
                // A chat deleted just now has moved behind this page.
                page.chats.extend(opened(row, &seal));
            }
        }

        Ok(ChatListOutcome::Page(page))
    }
}

/// Opens a chat; `None` if it was sealed under an abandoned master key: it must
/// not make the whole list fail.
fn opened(row: ListRow, seal: &PersonSeal) -> Option<StoredChat> {
    let id = row.id.0;
    let opened = row.open(seal);
    if let Err(err) = &opened {
        let error = err as &dyn std::error::Error;
        tracing::error!(error, chat.id = %id, "chat could not be decrypted; omitted");
    }
    opened.ok()
}

/// Returns the positions that fit on a page, at least one.
fn cut(places: &[PositionRow], limit: u16) -> &[PositionRow] {
    let mut bytes = 0;
    let mut fitting = 0_usize;

    for place in places.iter().take(limit.into()) {
        bytes += i64::from(place.size);
        if bytes > MAX_PAGE_BYTES {
            break;
        }
        fitting += 1;
    }

    let length = fitting.max(1).min(places.len());
    places.get(..length).unwrap_or_default()
}

async fn head(db: &Database, user: UserId) -> Result<Head, DbError> {
    let salted = person_salts::table.on(person_salts::user_id.eq(ledgers::user_id));
    let row = ledgers::table.left_join(salted).filter(ledgers::user_id.eq(DbUid(user.0))).select((
        ledgers::epoch,
        ledgers::version,
        ledgers::last_stamp,
        person_salts::salt.nullable(),
    ));
    let row: Option<HeadRow> = on_conn!(db.reader(), |conn| row.first(conn).await.optional()?)?;
    let Some((epoch, version, DbInstant(last_stamp), salt)) = row else {
        let last_stamp = Timestamp::UNIX_EPOCH;
        let version = ChatsVersion { epoch: None, version: 0, last_stamp };
        return Ok(Head { version, salt: None });
    };

    let epoch = epoch.try_into().map_err(|_length| DbError::Unreadable("ledgers.epoch"))?;
    let salt = salt.map(|it| it.try_into().map(Salt));
    let salt = salt.transpose().map_err(|_length| DbError::Unreadable("person_salts.salt"))?;

    Ok(Head { version: ChatsVersion { epoch: Some(epoch), version, last_stamp }, salt })
}

/// Period before `since` for which deletions are repeated: devices ask by the latest
/// change that they know, which may be their own, later than a deletion that they
/// have not received.
const DELETIONS_REPEATED: Duration = Duration::from_hours(30 * 24);

/// Reads one position more than the page takes, which shows whether there is a next one.
async fn places(
    db: &Database,
    user: UserId,
    part: ChatListRequest,
) -> Result<Vec<PositionRow>, DbError> {
    let owned = chats::user_id.eq(DbUid(user.0));
    let limit = i64::from(part.limit) + 1;
    Ok(on_conn!(db.reader(), |conn| {
        let mut rows = chats::table.filter(owned).into_boxed();
        if let Some(after) = part.after {
            let at = DbInstant(after.at);
            let id = DbUid(after.id);
            let behind = chats::updated_at.gt(at).or(chats::id.gt(id));
            rows = rows.filter(chats::updated_at.ge(at).and(behind));
        }

        if let Some(since) = part.since {
            let lately = chats::deleted_at.is_not_null();
            let lately = lately.and(chats::stamp.ge(DbInstant(since - DELETIONS_REPEATED)));
            let since: DbInstant = Timestamp::into(since);
            let changed = chats::updated_at.ge(since).or(chats::stamp.ge(since));
            rows = rows.filter(changed.or(lately));
        }

        if !part.deleted {
            rows = rows.filter(chats::deleted_at.is_null());
        }

        let rows = rows.order((chats::updated_at, chats::id)).limit(limit);

        rows.select(PositionRow::as_select()).load(conn).await?
    })?)
}

async fn bodies(
    db: &Database,
    user: UserId,
    ids: Vec<DbUid>,
) -> Result<HashMap<DbUid, ListRow>, DbError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let these = chats::user_id.eq(DbUid(user.0)).and(chats::id.eq_any(ids));
    let live = chats::table.filter(these.and(chats::deleted_at.is_null()));
    let rows: Vec<ListRow> =
        on_conn!(db.reader(), |conn| live.select(ListRow::as_select()).load(conn).await?)?;
    Ok(rows.into_iter().map(|it| (it.id, it)).collect())
}
