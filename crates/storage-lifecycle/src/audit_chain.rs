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
        let unchained_query = audit_entries::table
            .filter(audit_entries::position.is_null())
            .select(audit_entries::id)
            .limit(1);
        let unchained_entry: Result<Option<DbUid>, DbError> =
            on_conn!(self.db.reader(), |conn| unchained_query.first(conn).await.optional()?);
        if unchained_entry?.is_none() {
            return Ok(0);
        }
        Ok(self.chain(&self.signer()?).await?)
    }

    async fn chain(&self, signer: &ServerSigner) -> Result<usize, DbError> {
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
            let (mut position, mut link, mut at) = match last_checkpoint {
                Some(it) => (it.position, it.link, it.at.0),
                None => (0, ORIGIN.to_vec(), Timestamp::UNIX_EPOCH),
            };

            let rows: Vec<ChainRow> =
                unchained_entries.select(ChainRow::as_select()).load(conn).await?;
            for row in &rows {
                position += 1;
                link = row.link(&link, position);
                at = at.max(row.at.0);
                let new_values =
                    (audit_entries::position.eq(position), audit_entries::link.eq(link.clone()));
                diesel::update(audit_entries::table.find(row.id))
                    .set(new_values)
                    .execute(conn)
                    .await?;
            }
            if !rows.is_empty() {
                let end = CheckpointRow::sign(signer, position, link, at);
                diesel::insert_into(audit_checkpoints::table).values(end).execute(conn).await?;
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
        let first = self.entries(0, 1).await?.into_iter().next().and_then(|it| it.position);
        let oldest = self.checkpoints(0, i64::MAX, 1).await?.into_iter().next();
        let anchor = if first == Some(1) { None } else { oldest };
        let mut verification = Verification::new(&signer, exported_row.as_ref(), anchor.as_ref());
        if let (Some(unreadable), None) = (exported, &exported_row) {
            verification.report(ChainFault::Forged { position: unreadable.position });
        }

        if let Some(row) = anchor.as_ref().filter(|it| it.at.0 >= retained_since) {
            verification.report(ChainFault::DeletedEarly { position: row.position, at: row.at.0 });
        }

        loop {
            let before = verification.position();
            let rows = self.entries(before, PAGE).await?;
            let Some(last) = rows.last().and_then(|it| it.position) else { break };
            let checkpoints = self.checkpoints(before, last, i64::MAX).await?;
            verification.check(&rows, &checkpoints);
        }

        let later_checkpoints =
            self.checkpoints(verification.position(), i64::MAX, i64::MAX).await?;
        let VerifiedChain { entries, last, faults } = verification.finish(&later_checkpoints);
        let deleted_until = anchor.map(|it| (it.position, it.at.0));

        Ok(ChainReport { entries, waiting: self.waiting().await?, deleted_until, last, faults })
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

    async fn waiting(&self) -> Result<u64, DbError> {
        let unchained = audit_entries::table.filter(audit_entries::position.is_null()).count();
        let count: i64 = on_conn!(self.db.reader(), |conn| unchained.get_result(conn).await?)?;
        Ok(count.unsigned_abs())
    }
}
