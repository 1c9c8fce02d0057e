//! Audit log in SQL.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    AuditFilter, AuditLog, AuditPerson, AuditRecord, AuditSide, ChainReport, Cursor, PageRequest,
    Timestamp, Unavailable, UserId,
};
use pia_storage::schema::{audit_entries, audit_identities};
use pia_storage::{AuditIdentity, AuditPart, Database, DbError, DbInstant, DbUid, on_conn};
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

        // One upper bound, as SQLite uses an index for one alone.
        let end = upper_bound(filter, page);
        let time = DbInstant(end.at);
        let key = DbUid(end.id);
        let entries = audit_entries::table
            .filter(at.ge(DbInstant(filter.since.unwrap_or(Timestamp::UNIX_EPOCH))))
            .filter(at.le(time).and(at.lt(time).or(id.lt(key))))
            .order((at.desc(), id.desc()))
            .limit(page.limit.into());

        Ok(on_conn!(self.db.reader(), |conn| {
            match &filter.action {
                // An index has the entries by action. The literal keeps the statement
                // from being cached: PostgreSQL's generic plan expects every action to
                // be frequent, and searches the index by time.
                Some(name) => {
                    entries
                        .filter(action.eq(name))
                        .filter(sql::<Bool>("TRUE"))
                        .select(EntryRow::as_select())
                        .load(conn)
                        .await?
                }
                None => entries.select(EntryRow::as_select()).load(conn).await?,
            }
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

        let after = page.after.unwrap_or_else(Cursor::top);
        let name = filter.action.as_deref();
        let entry_ids = audit_identities::table
            .inner_join(audit_entries::table)
            .filter(at.ge(DbInstant(filter.since.unwrap_or(Timestamp::UNIX_EPOCH))))
            .filter(at.lt(DbInstant(filter.until.unwrap_or(Cursor::top().at))))
            .filter(action.eq(name.unwrap_or_default()).or(name.is_none().into_sql::<Bool>()))
            .filter(user_id.eq(DbUid(user.0)).and(entry_id.lt(DbUid(after.id))))
            .select(entry_id)
            .distinct()
            .order(entry_id.desc())
            .limit(page.limit.into());

        Ok(on_conn!(self.db.reader(), |conn| {
            let ids: Vec<DbUid> = entry_ids.load(conn).await?;
            audit_entries::table
                .filter(audit_entries::id.eq_any(ids))
                .order(audit_entries::id.desc())
                .select(EntryRow::as_select())
                .load(conn)
                .await?
        })?)
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

/// Returns the cursor that all entries of a page are behind: that of the page, or
/// the end of the filter's time.
fn upper_bound(filter: &AuditFilter, page: PageRequest) -> Cursor {
    let after = page.after.unwrap_or_else(Cursor::top);
    match filter.until {
        Some(until) if until <= after.at => Cursor { at: until, id: Uuid::nil() },
        _ => after,
    }
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

        Ok(rows.into_iter().map(|it| self.open(it, &sides)).collect::<Result<_, _>>()?)
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
