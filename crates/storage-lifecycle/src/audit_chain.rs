//! Chain over the audit log: each entry has a position, and a hash over itself
//! and the entry before it.
//!
//! Entries are written without a position, by any instance at once. `extend`, called by
//! `server/src/audit_sequencer.rs`, chains them afterwards: it numbers them, links each
//! (`link.rs`) and signs the end (`checkpoint.rs`). `verify` recomputes everything
//! (`verification.rs`), and `cut` deletes old entries from the beginning.

mod checkpoint;
mod link;
mod verification;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{ChainFault, ChainReport, Timestamp, Unavailable};
use pia_sealing::ServerSigner;
use pia_storage::schema::{audit_checkpoints, audit_entries, locks};
use pia_storage::{Database, DbError, DbInstant, DbUid, in_tx, on_conn};

pub use checkpoint::AuditCheckpoint;
use checkpoint::CheckpointRow;
use link::{ChainRow, ORIGIN};
use verification::{Verification, VerifiedChain};

/// Name of the row that one sequencer at a time locks.
const LOCK: &str = "audit-chain";
/// Purpose of the key that signs checkpoints.
const PURPOSE: &str = "audit-checkpoint";
/// Number of entries that one transaction chains.
const BATCH: i64 = 500;
/// Number of entries that are verified at once.
const PAGE: i64 = 1000;
/// Bound of a query for all later positions, or for any number of rows.
const UNBOUNDED: i64 = i64::MAX;

/// Chain over the audit log in SQL.
#[derive(Debug, Clone)]
pub struct SqlAuditChain {
    db: Database,
}

impl SqlAuditChain {
    /// Creates the chain over the audit log in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Chains the next entries that were written, and signs the chain's end.
    /// Returns their number: 0 if all are chained.
    ///
    /// Safe on several instances at once: each entry gets one position.
    pub async fn extend(&self) -> Result<usize, Unavailable> {
        if !self.has_unchained().await? {
            return Ok(0);
        }
        Ok(self.chain_batch(&self.signer()?).await?)
    }

    async fn has_unchained(&self) -> Result<bool, DbError> {
        let unchained_query = audit_entries::table
            .filter(audit_entries::position.is_null())
            .select(audit_entries::id)
            .limit(1);
        let unchained_entry: Option<DbUid> =
            on_conn!(self.db.reader(), |conn| unchained_query.first(conn).await.optional()?)?;
        Ok(unchained_entry.is_some())
    }

    async fn chain_batch(&self, signer: &ServerSigner) -> Result<usize, DbError> {
        let unchained_entries = audit_entries::table
            .filter(audit_entries::position.is_null())
            .order(audit_entries::id)
            .limit(BATCH);

        in_tx!(self.db, async |conn| -> Result<usize, DbError> {
            // Held until the commit: sequencers chain one after the other.
            diesel::update(locks::table.find(LOCK))
                .set(locks::turn.eq(locks::turn + 1))
                .execute(conn)
                .await?;
            let last_checkpoint: Option<CheckpointRow> = audit_checkpoints::table
                .order(audit_checkpoints::position.desc())
                .select(CheckpointRow::as_select())
                .first(conn)
                .await
                .optional()?;
            let mut end = last_checkpoint.map_or_else(ChainEnd::origin, ChainEnd::from);

            let rows: Vec<ChainRow> =
                unchained_entries.select(ChainRow::as_select()).load(conn).await?;
            for row in &rows {
                end.append(row);
                diesel::update(audit_entries::table.find(row.id))
                    .set((
                        audit_entries::position.eq(end.position),
                        audit_entries::link.eq(end.link.clone()),
                    ))
                    .execute(conn)
                    .await?;
            }

            if !rows.is_empty() {
                let checkpoint = CheckpointRow::sign(signer, end.position, end.link, end.at);
                diesel::insert_into(audit_checkpoints::table)
                    .values(checkpoint)
                    .execute(conn)
                    .await?;
            }

            Ok(rows.len())
        })
    }

    /// Returns the signed end of the chain; `None` if no entry is chained.
    pub async fn checkpoint(&self) -> Result<Option<AuditCheckpoint>, Unavailable> {
        let end = audit_checkpoints::table.order(audit_checkpoints::position.desc());
        let row: Result<Option<CheckpointRow>, DbError> = on_conn!(self.db.reader(), |conn| {
            end.select(CheckpointRow::as_select()).first(conn).await.optional()?
        });
        Ok(row?.map(Into::into))
    }

    /// Verifies every entry, its position and the checkpoints, with an
    /// `exported` one from elsewhere. No entry may have been deleted that is
    /// younger than `retained_since`.
    pub async fn verify(
        &self,
        exported: Option<&AuditCheckpoint>,
        retained_since: Timestamp,
    ) -> Result<ChainReport, Unavailable> {
        let signer = self.signer()?;
        let exported_row = exported.and_then(AuditCheckpoint::row);
        let anchor = self.anchor().await?;

        let mut verification = Verification::new(&signer, exported_row.as_ref(), anchor.as_ref());
        if let (Some(unreadable), None) = (exported, &exported_row) {
            verification.report(ChainFault::Forged { position: unreadable.position });
        }
        if let Some(row) = anchor.as_ref().filter(|it| it.at.0 >= retained_since) {
            verification.report(ChainFault::DeletedEarly { position: row.position, at: row.at.0 });
        }

        loop {
            let verified_position = verification.position();
            let rows = self.entries(verified_position, PAGE).await?;
            let Some(last_position) = rows.last().and_then(|it| it.position) else { break };
            let checkpoints = self.checkpoints(verified_position, last_position, UNBOUNDED).await?;
            verification.check(&rows, &checkpoints);
        }

        let later_checkpoints =
            self.checkpoints(verification.position(), UNBOUNDED, UNBOUNDED).await?;
        let VerifiedChain { entries, last, faults } = verification.finish(&later_checkpoints);
        let deleted_until = anchor.map(|it| (it.position, it.at.0));

        let waiting = self.count_unchained().await?;
        Ok(ChainReport { entries, waiting, deleted_until, last, faults })
    }

    /// Deletes entries from before `time`, whole batches of them from the
    /// beginning on. The last checkpoint of the deleted entries stays: the
    /// chain continues from it. Returns the number of deleted entries.
    pub(crate) async fn cut(&self, time: Timestamp) -> Result<u64, DbError> {
        let position_query = audit_checkpoints::table
            .filter(audit_checkpoints::at.lt(DbInstant(time)))
            .order(audit_checkpoints::at.desc())
            .select(audit_checkpoints::position);

        let end: Option<i64> =
            on_conn!(self.db.reader(), |conn| position_query.first(conn).await.optional()?)?;
        let Some(end) = end else { return Ok(0) };

        // The checkpoint at `end` stays as the anchor of the remaining chain.
        let deletion =
            diesel::delete(audit_checkpoints::table.filter(audit_checkpoints::position.lt(end)));
        on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)?;
        let mut total = 0;
        loop {
            let ids = self.entries_until(end).await?;
            if ids.is_empty() {
                return Ok(total);
            }
            let entries = audit_entries::table.filter(audit_entries::id.eq_any(ids));
            let deleted_rows: usize =
                on_conn!(self.db.writer(), |conn| diesel::delete(entries).execute(conn).await?)?;
            total += deleted_rows as u64;
        }
    }

    /// Loads the ids of the first entries up to a position, as many as one
    /// statement deletes.
    async fn entries_until(&self, end: i64) -> Result<Vec<DbUid>, DbError> {
        let ids_query = audit_entries::table
            .filter(audit_entries::position.le(end))
            .order(audit_entries::position)
            .select(audit_entries::id)
            .limit(BATCH);
        on_conn!(self.db.writer(), |conn| ids_query.load(conn).await?)
    }

    fn signer(&self) -> Result<ServerSigner, Unavailable> {
        self.db.seal()?.signer(PURPOSE)
    }

    /// Loads the checkpoint behind which the chain continues; `None` if it still has its
    /// first entry.
    async fn anchor(&self) -> Result<Option<CheckpointRow>, DbError> {
        let first_entry = self.entries(0, 1).await?.into_iter().next();
        if first_entry.and_then(|it| it.position) == Some(1) {
            return Ok(None);
        }
        Ok(self.checkpoints(0, UNBOUNDED, 1).await?.into_iter().next())
    }

    /// Loads checkpoints behind a position, up to another one.
    async fn checkpoints(
        &self,
        behind: i64,
        until: i64,
        limit: i64,
    ) -> Result<Vec<CheckpointRow>, DbError> {
        let checkpoints = audit_checkpoints::table
            .filter(audit_checkpoints::position.gt(behind))
            .filter(audit_checkpoints::position.le(until))
            .order(audit_checkpoints::position)
            .limit(limit);
        on_conn!(self.db.reader(), |conn| {
            checkpoints.select(CheckpointRow::as_select()).load(conn).await?
        })
    }

    /// Loads entries behind a position.
    async fn entries(&self, behind: i64, limit: i64) -> Result<Vec<ChainRow>, DbError> {
        let entries = audit_entries::table
            .filter(audit_entries::position.gt(behind))
            .order(audit_entries::position)
            .limit(limit);
        on_conn!(self.db.reader(), |conn| entries.select(ChainRow::as_select()).load(conn).await?)
    }

    async fn count_unchained(&self) -> Result<u64, DbError> {
        let unchained = audit_entries::table.filter(audit_entries::position.is_null()).count();
        let count: i64 = on_conn!(self.db.reader(), |conn| unchained.get_result(conn).await?)?;
        Ok(count.unsigned_abs())
    }
}

/// End of the chain while entries are appended to it.
struct ChainEnd {
    position: i64,
    link: Vec<u8>,
    /// Time of the newest entry.
    at: Timestamp,
}

impl ChainEnd {
    fn origin() -> Self {
        Self { position: 0, link: ORIGIN.to_vec(), at: Timestamp::UNIX_EPOCH }
    }

    fn append(&mut self, row: &ChainRow) {
        self.position += 1;
        self.link = row.link(&self.link, self.position);
        self.at = self.at.max(row.at.0);
    }
}

impl From<CheckpointRow> for ChainEnd {
    fn from(row: CheckpointRow) -> Self {
        Self { position: row.position, link: row.link, at: row.at.0 }
    }
}
