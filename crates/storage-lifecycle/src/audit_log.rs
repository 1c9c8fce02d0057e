//! Audit log in SQL.
//!
//! Two queries serve a page: `entries` by time, `entries_of` by the user on either side.
//! Identities are stored apart and sealed; one that was deleted with its account, or
//! does not match the commitment in the entry, is `Forgotten`.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    AuditFilter, AuditLog, AuditPerson, AuditRecord, AuditSide, ChainReport, Cursor, PageRequest,
    TimeOrder, Timestamp, Unavailable, UserId,
};
use pia_storage::schema::{audit_entries, audit_identities};
use pia_storage::{
    AuditIdentity, AuditPart, Database, DbError, DbInstant, DbUid, in_time_order, on_conn,
};
use uuid::Uuid;

use crate::audit_chain::SqlAuditChain;

/// Audit log in SQL.
#[derive(Debug, Clone)]
pub struct SqlAuditLog {
    db: Database,
}

impl SqlAuditLog {
    /// Creates a reader of the audit log in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    async fn entries(
        &self,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Vec<EntryRow>, DbError> {
        use audit_entries::{action, at, id};

        let after = Some(start(filter, page));
        let entries = audit_entries::table.limit(page.limit.into());

        Ok(on_conn!(self.db.reader(), |conn| {
            let mut query = in_time_order!(entries.into_boxed(), filter.order, after, (at, id));
            query = match filter.order {
                TimeOrder::Newest => query.filter(at.ge(since(filter))),
                TimeOrder::Oldest => query.filter(at.lt(until(filter))),
            };
            // An index has the entries by action. The literal keeps the statement from
            // being cached: PostgreSQL's generic plan expects every action to be
            // frequent, and searches the index by time.
            if let Some(name) = &filter.action {
                query = query.filter(action.eq(name)).filter(sql::<Bool>("TRUE"));
            }
            if let Some(name) = &filter.object {
                query = query.filter(audit_entries::object.eq(name));
            }
            query.select(EntryRow::as_select()).load(conn).await?
        })?)
    }

    /// Loads a user's entries: their ids sort by time, and an index has them by user.
    async fn entries_of(
        &self,
        user: UserId,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Vec<EntryRow>, DbError> {
        use audit_entries::{action, at};
        use audit_identities::{entry_id, user_id};

        let name = filter.action.as_deref();
        let entry_ids = audit_identities::table
            .inner_join(audit_entries::table)
            .filter(at.ge(since(filter)))
            .filter(at.lt(until(filter)))
            .filter(action.eq(name.unwrap_or_default()).or(name.is_none().into_sql::<Bool>()))
            .filter(user_id.eq(DbUid(user.0)))
            .select(entry_id)
            .distinct()
            .limit(page.limit.into());

        let mut rows: Vec<EntryRow> = on_conn!(self.db.reader(), |conn| {
            let mut query = entry_ids.into_boxed();
            if let Some(name) = &filter.object {
                query = query.filter(audit_entries::object.eq(name));
            }
            let ids: Vec<DbUid> =
                in_time_order!(query, filter.order, page.after, entry_id).load(conn).await?;
            audit_entries::table
                .filter(audit_entries::id.eq_any(ids))
                .order(audit_entries::id.desc())
                .select(EntryRow::as_select())
                .load(conn)
                .await?
        })?;
        if filter.order.is_oldest_first() {
            rows.reverse();
        }

        Ok(rows)
    }

    /// Adds the actors and subjects to entries.
    async fn with_sides(&self, rows: Vec<EntryRow>) -> Result<Vec<AuditRecord>, DbError> {
        let ids: Vec<DbUid> = rows.iter().map(|it| it.id).collect();
        let identities =
            audit_identities::table.filter(audit_identities::entry_id.eq_any(ids)).select((
                audit_identities::entry_id,
                audit_identities::part,
                audit_identities::user_id,
                audit_identities::sealed,
            ));

        let identity_rows: Vec<IdentityRow> =
            on_conn!(self.db.reader(), |conn| identities.load(conn).await?)?;
        let mut sides: HashMap<DbUid, Vec<IdentityRow>> = HashMap::new();
        for row in identity_rows {
            sides.entry(row.entry_id).or_default().push(row);
        }

        rows.into_iter().map(|it| self.open(it, &sides)).collect()
    }

    fn open(
        &self,
        row: EntryRow,
        sides: &HashMap<DbUid, Vec<IdentityRow>>,
    ) -> Result<AuditRecord, DbError> {
        let identities = sides.get(&row.id).map(Vec::as_slice).unwrap_or_default();
        Ok(AuditRecord {
            actor: self.side(&row, AuditPart::Actor, identities)?,
            subject: self.side(&row, AuditPart::Subject, identities)?,
            id: row.id.0,
            at: row.at.0,
            action: row.action,
            object: row.object,
            request: row.request,
            changes: row.changes,
        })
    }

    fn side(
        &self,
        entry: &EntryRow,
        part: AuditPart,
        identities: &[IdentityRow],
    ) -> Result<AuditSide, DbError> {
        let commitment = match part {
            AuditPart::Actor => &entry.actor_commitment,
            AuditPart::Subject => &entry.subject_commitment,
        };

        let identity = identities.iter().find(|it| it.part == part.name());
        Ok(match (commitment, identity) {
            (Some(commitment), Some(IdentityRow { sealed: Some(sealed), .. })) => {
                match AuditIdentity::open(self.db.seal()?, entry.id.0, part, sealed, commitment) {
                    Some(AuditIdentity { user, address, agent }) => {
                        AuditSide::Known(AuditPerson { user, address, agent })
                    }
                    None => AuditSide::Forgotten,
                }
            }
            (Some(_), _) => AuditSide::Forgotten,
            // Entries from before commitments were introduced name only the user.
            (None, Some(IdentityRow { user_id: Some(user), .. })) => {
                let user = Some(UserId(user.0));
                AuditSide::Known(AuditPerson { user, ..AuditPerson::default() })
            }
            (None, _) => AuditSide::Nobody,
        })
    }
}

/// Returns the cursor that a page begins after: its own, or the end of the filter's
/// time at which the list begins.
fn start(filter: &AuditFilter, page: PageRequest) -> Cursor {
    let after = page.after.unwrap_or_else(|| filter.order.start());
    let limit = match filter.order {
        TimeOrder::Newest => filter.until.filter(|it| *it <= after.at),
        TimeOrder::Oldest => filter.since.filter(|it| *it > after.at),
    };
    limit.map_or(after, |at| Cursor { at, id: Uuid::nil() })
}

/// Returns the time of the first selected entries.
fn since(filter: &AuditFilter) -> DbInstant {
    DbInstant(filter.since.unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Returns the time that the selected entries end before.
fn until(filter: &AuditFilter) -> DbInstant {
    DbInstant(filter.until.unwrap_or(Cursor::top().at))
}

#[async_trait]
impl AuditLog for SqlAuditLog {
    async fn page(
        &self,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Vec<AuditRecord>, Unavailable> {
        let rows = match filter.user {
            Some(user) => self.entries_of(user, filter, page).await?,
            None => self.entries(filter, page).await?,
        };
        Ok(self.with_sides(rows).await?)
    }

    async fn find(&self, id: Uuid) -> Result<Option<AuditRecord>, Unavailable> {
        let entry = audit_entries::table.find(DbUid(id));
        let rows: Vec<EntryRow> = on_conn!(self.db.reader(), |conn| {
            entry.select(EntryRow::as_select()).load(conn).await?
        })?;
        Ok(self.with_sides(rows).await?.pop())
    }

    async fn verify(&self, retained_since: Timestamp) -> Result<ChainReport, Unavailable> {
        SqlAuditChain::new(self.db.clone()).verify(None, retained_since).await
    }

    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable> {
        Ok(SqlAuditChain::new(self.db.clone()).cut(time).await?)
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = audit_entries)]
struct EntryRow {
    id: DbUid,
    at: DbInstant,
    action: String,
    object: Option<String>,
    request: Option<String>,
    changes: Option<String>,
    actor_commitment: Option<Vec<u8>>,
    subject_commitment: Option<Vec<u8>>,
}

#[derive(Queryable)]
struct IdentityRow {
    entry_id: DbUid,
    part: String,
    user_id: Option<DbUid>,
    sealed: Option<Vec<u8>>,
}
