//! Query of the state of an account's data: one statement, from which a pull
//! decides whether anything changed. A macro, since both databases need their own
//! query type; `head_of` fills in the state of an account that has no ledger yet.

use diesel::Queryable;
use pia_kernel::Timestamp;
use pia_storage::{DbInstant, DbUid, Instant};
use pia_sync::Head;

/// Status of a device that waits for approval.
pub(crate) const WAITING: i16 = 0;

/// Columns of an account's ledger.
#[derive(Queryable)]
pub(crate) struct LedgerHead {
    epoch: Vec<u8>,
    version: i64,
    last_stamp: DbInstant,
}

/// Row of the query.
#[derive(Queryable)]
pub(crate) struct HeadRow {
    group: DbUid,
    created_at: DbInstant,
    ledger: Option<LedgerHead>,
    catalogue: Option<i64>,
    preferences: Option<DbInstant>,
    has_pending_devices: bool,
}

diesel::define_sql_function! {
    /// Latest stamp. As SQL text, it would prevent the query from being prepared
    /// once.
    #[aggregate]
    #[sql_name = "MAX"]
    fn latest(stamp: Instant) -> Nullable<Instant>;
}

/// Builds the query, for either database.
macro_rules! head_query {
    ($user:expr) => {{
        use diesel::dsl::exists;
        use pia_storage::schema::{accounts, catalogue, devices, ledgers, sync_items};
        use pia_sync::Channel;
        let user = pia_storage::DbUid($user.0);
        // Not the latest by the order of stamps: SQLite would search all items of
        // the account.
        let preferences = sync_items::table
            .filter(sync_items::user_id.eq(user))
            .filter(sync_items::channel.eq(Channel::PluginPreferences.code()))
            .group_by(sync_items::channel)
            .select(crate::head_query::latest(sync_items::stamp))
            .single_value();
        let awaited = devices::user_id.eq(user).and(devices::status.eq(crate::head_query::WAITING));
        let version = catalogue::table.select(catalogue::version).limit(1).single_value();
        let ledger = (ledgers::epoch, ledgers::version, ledgers::last_stamp);
        accounts::table
            .find(user)
            .left_join(ledgers::table.on(ledgers::user_id.eq(accounts::id)))
            .select((
                accounts::group_id,
                accounts::created_at,
                ledger.nullable(),
                version,
                preferences,
                exists(devices::table.filter(awaited)),
            ))
    }};
}
pub(crate) use head_query;

pub(crate) fn head_of(row: HeadRow) -> Head {
    let ledger = row.ledger.unwrap_or_else(|| LedgerHead {
        epoch: Vec::new(),
        version: 0,
        last_stamp: DbInstant(Timestamp::UNIX_EPOCH),
    });
    Head {
        epoch: ledger.epoch,
        version: ledger.version,
        last_stamp: ledger.last_stamp.0.max(row.created_at.0),
        group: row.group.0,
        catalogue: row.catalogue.unwrap_or_default(),
        preferences: row.preferences.map(|it| it.0),
        has_pending_devices: row.has_pending_devices,
    }
}
