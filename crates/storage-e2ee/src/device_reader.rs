//! Devices of all accounts in SQL, without their keys. An optional filter is a
//! condition `column = value OR no filter`, so that the text of the query is
//! always the same.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_e2ee::{
    DeviceColumn, DeviceEntry, DeviceFilter, DeviceReader, DeviceRow as RowId, DeviceStatus,
};
use pia_kernel::{Cursor, PageRequest, SortCursor, TimeOrder, Timestamp, Unavailable, UserId};
use pia_storage::schema::{accounts, devices};
use pia_storage::text_search::{like_containing, lower};
use pia_storage::{Database, DbError, DbInstant, DbUid, in_column_order, in_time_order, on_conn};

use crate::device_row::{ACTIVE, PENDING, REVOKED};

/// Reader of the devices of all accounts in SQL.
#[derive(Debug, Clone)]
pub struct SqlDeviceReader {
    db: Database,
}

/// Device with the address of its account. Nothing encrypted is read.
#[derive(Queryable)]
struct EntryRow {
    id: DbUid,
    user: DbUid,
    email: String,
    name: String,
    status: i16,
    onboarding_ends_at: Option<DbInstant>,
    os_version: Option<String>,
    app_version: Option<String>,
    created_at: DbInstant,
    seen_at: DbInstant,
}

/// Sorts a boxed query of devices by the column of an order, and lets it begin after the
/// cursor of a page. The ids sort by the time of registration.
macro_rules! sorted {
    ($query:expr, $order:expr, $page:expr) => {{
        let query = $query;
        let is_descending = !$order.is_ascending;
        match $order.column {
            DeviceColumn::Created => {
                let order = if is_descending { TimeOrder::Newest } else { TimeOrder::Oldest };
                let after = $page.after.as_ref();
                let cursor = after.map(|it| Cursor { at: it.value.time(), id: it.id });
                in_time_order!(query, order, cursor, devices::id)
            }
            DeviceColumn::Name => in_column_order!(
                query, is_descending, $page.after, (lower(devices::name.nullable()), devices::id),
                it => lower(Some(it.text().to_owned()))
            ),
            DeviceColumn::Used => in_column_order!(
                query, is_descending, $page.after, (devices::seen_at, devices::id),
                it => DbInstant(it.time())
            ),
        }
    }};
}

impl SqlDeviceReader {
    /// Creates a reader of the devices in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Loads a page of the selected devices.
    async fn load(
        &self,
        filter: &DeviceFilter,
        now: DbInstant,
        page: PageRequest<SortCursor>,
    ) -> Result<Vec<EntryRow>, DbError> {
        let pattern = like_containing(&filter.search);
        let matches_search = lower(devices::name.nullable())
            .like(&pattern)
            .escape('\\')
            .or(accounts::email_folded.like(&pattern).escape('\\'))
            // Addresses of internationalised domains have two spellings.
            .or(lower(accounts::email.nullable()).like(&pattern).escape('\\'));

        let waits = devices::onboarding_ends_at.gt(now).assume_not_null();

        let (status, is_waiting) = match filter.status {
            None => (None, None),
            Some(DeviceStatus::Waiting) => (Some(PENDING), Some(true)),
            Some(DeviceStatus::Expired) => (Some(PENDING), Some(false)),
            Some(DeviceStatus::Active) => (Some(ACTIVE), None),
            Some(DeviceStatus::Revoked) => (Some(REVOKED), None),
        };

        let any = |is_any: bool| is_any.into_sql::<Bool>();
        let owner = DbUid(filter.user.map(|it| it.0).unwrap_or_default());
        let entries = devices::table
            .inner_join(accounts::table.on(accounts::id.eq(devices::user_id)))
            .filter(matches_search)
            .filter(devices::user_id.eq(owner).or(any(filter.user.is_none())))
            .filter(devices::status.eq(status.unwrap_or_default()).or(any(status.is_none())))
            .filter(waits.eq(is_waiting.unwrap_or_default()).or(any(is_waiting.is_none())))
            .limit(page.limit.into())
            .select((
                devices::id,
                devices::user_id,
                accounts::email,
                devices::name,
                devices::status,
                devices::onboarding_ends_at,
                devices::os_version,
                devices::app_version,
                devices::created_at,
                devices::seen_at,
            ));

        on_conn!(self.db.reader(), |conn| {
            sorted!(entries.into_boxed(), filter.order, page).load(conn).await?
        })
    }
}

#[async_trait]
impl DeviceReader for SqlDeviceReader {
    async fn page(
        &self,
        filter: &DeviceFilter,
        now: Timestamp,
        page: PageRequest<SortCursor>,
    ) -> Result<Vec<DeviceEntry>, Unavailable> {
        let rows = self.load(filter, DbInstant(now), page).await?;
        Ok(rows.into_iter().map(|it| it.into_entry(now)).collect::<Result<_, DbError>>()?)
    }
}

impl EntryRow {
    fn into_entry(self, now: Timestamp) -> Result<DeviceEntry, DbError> {
        let status = match (self.status, self.onboarding_ends_at) {
            (PENDING, Some(end)) if now < end.0 => DeviceStatus::Waiting,
            (PENDING, _) => DeviceStatus::Expired,
            (ACTIVE, _) => DeviceStatus::Active,
            (REVOKED, _) => DeviceStatus::Revoked,
            _ => return Err(DbError::Unreadable("devices.status")),
        };

        Ok(DeviceEntry {
            row: RowId(self.id.0),
            user: UserId(self.user.0),
            email: self.email,
            name: self.name,
            status,
            os_version: self.os_version,
            app_version: self.app_version,
            created_at: self.created_at.0,
            seen_at: self.seen_at.0,
        })
    }
}
