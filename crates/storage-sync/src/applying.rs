//! Writing of pushed changes, in SQL: one transaction, in which the account's
//! ledger is locked first.
//!
//! `PushPlanner` decides, this file writes. Nothing of the push is written before
//! the quotas and the storage are checked, so that a refusal needs no rollback.
//!
//! Stamps come from the ledger in the order of the plan. The highest of them is
//! stored by `count_change` in the same transaction, so that a pull sees all of a
//! push or nothing.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::{PersonSeal, Sealer};
use pia_storage::schema::sync_events;
use pia_storage::{Database, DbError, DbInstant, DbUid, Ledger, TakeLedger, in_tx};
use pia_sync::{
    ApplyOutcome, Changes, Conflict, Item, ItemGrowth, ItemKey, ItemWrite, PushPlan, PushPlanner,
    PushSettings, ReadOnly, StoredItem, SyncStore, WriteRestrictions,
};

use crate::event_row::EventRow;
use crate::item_row::{ItemRow, PutItems};
use crate::sealed_bodies;
use crate::statements::{PushKeys, PushStatements, Restamped};

/// Store that writes pushed changes, in SQL.
#[derive(Debug, Clone)]
pub struct SqlSyncStore {
    db: Database,
    sealer: Sealer,
}

/// Push within its transaction.
struct PushTransaction<'a> {
    user: UserId,
    changes: &'a Changes,
    digests: Vec<Vec<u8>>,
    settings: &'a PushSettings,
    seal: &'a PersonSeal,
}

/// Rows to write, each with its stamp.
struct StampedWrites {
    rows: Vec<ItemRow>,
    restamped: Vec<Restamped>,
}

impl SqlSyncStore {
    /// Creates a store in `db`, sealed by `sealer`.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { db, sealer }
    }

    async fn write(&self, push: &PushTransaction<'_>) -> Result<ApplyOutcome, DbError> {
        let user = push.user;
        let changes = push.changes;
        let keys = push_keys(push.changes);
        in_tx!(self.db, async |conn| -> Result<ApplyOutcome, DbError> {
            let Some(ledger) = conn.lock_ledger(user).await? else { return Ok(ApplyOutcome::Gone) };
            if ledger.encrypted && !changes.encrypted {
                return Ok(ApplyOutcome::EncryptedOnly);
            }

            let stored_items = conn.stored_rows(user, &keys).await?;
            let restrictions = conn.write_restrictions(&keys).await?;
            let mut plan = push.plan(&stored_items, &restrictions, &ledger);
            let growth = ItemGrowth::of_plan(&plan, &stored_items);
            let live_counts = conn.live_counts(user, &growth.channels()).await?;
            let surpluses = match growth.check(&live_counts, &push.settings.limits) {
                Ok(surpluses) => surpluses,
                Err(exceeded) => return Ok(ApplyOutcome::OverQuota(exceeded)),
            };

            let mut byte_growth = plan.byte_growth(&stored_items);
            if let Err(storage) = ledger.check_storage(byte_growth, push.settings.max_storage) {
                return Ok(ApplyOutcome::OutOfStorage(storage));
            }
            if !plan.conflicts.is_empty() {
                let conflict_keys: Vec<ItemKey> = plan.conflicts.iter().map(|it| it.key).collect();
                let bodies = conn.bodies(user, &conflict_keys).await?;
                push.fill_server_versions(&mut plan.conflicts, &bodies, &stored_items);
            }

            let event = EventRow::push(user, changes, &plan);
            let at = last_stamp(&ledger, &plan, changes.now);
            let StampedWrites { rows, restamped } = push.assign_stamps(&ledger, plan.writes)?;
            let has_writes = !rows.is_empty() || !restamped.is_empty();
            conn.put_items(rows).await?;
            for item in restamped {
                conn.restamp(user, item).await?;
            }
            // Items beyond a channel's limit make room, oldest first, without tombstones.
            for (channel, surplus) in surpluses {
                byte_growth -= conn.delete_oldest(user, channel, surplus).await?;
            }
            if has_writes {
                conn.count_change(user, at, byte_growth).await?;
            }
            if event.is_significant() {
                diesel::insert_into(sync_events::table).values(event).execute(conn).await?;
            }
            let conflicts = changes.refused.iter().cloned().chain(plan.conflicts).collect();
            Ok(ApplyOutcome::Done { at, conflicts })
        })
    }
}

#[async_trait]
impl SyncStore for SqlSyncStore {
    async fn apply(
        &self,
        user: UserId,
        changes: Changes,
        settings: &PushSettings,
    ) -> Result<ApplyOutcome, Unavailable> {
        let Some(seal) = &self.sealer.seal_for(user).await? else { return Ok(ApplyOutcome::Gone) };
        let digests = changes.items.iter().map(|it| seal.digest(it.body.as_bytes())).collect();
        let push = PushTransaction { user, changes: &changes, digests, settings, seal };
        Ok(self.write(&push).await?)
    }
}

impl PushTransaction<'_> {
    fn plan(
        &self,
        stored: &HashMap<ItemKey, StoredItem>,
        restrictions: &WriteRestrictions,
        ledger: &Ledger,
    ) -> PushPlan {
        let Changes { items, deletes, seen_up_to, deleted_at, device, .. } = self.changes;
        let planner = PushPlanner {
            stored,
            seen_up_to: *seen_up_to,
            device: device.as_deref(),
            deleted_at: *deleted_at,
            strategy: self.settings.strategy,
            restrictions,
            encryption_was_reset: !ledger.encrypted && ledger.was_reset,
        };

        let items_with_digests = items.iter().cloned().zip(self.digests.iter().cloned()).collect();
        planner.plan(items_with_digests, deletes.clone())
    }

    /// Adds the stored bodies to the conflicts.
    fn fill_server_versions(
        &self,
        conflicts: &mut [Conflict],
        bodies: &HashMap<ItemKey, Vec<u8>>,
        stored: &HashMap<ItemKey, StoredItem>,
    ) {
        for conflict in conflicts.iter_mut().filter(|it| it.refusal.is_none()) {
            let key = conflict.key;
            conflict.server_version = match bodies.get(&key) {
                Some(sealed) => sealed_bodies::open(self.seal, key, sealed),
                None => stored.get(&key).and_then(|it| it.tombstone(key)),
            };
        }
    }

    fn assign_stamps(
        &self,
        ledger: &Ledger,
        writes: Vec<ItemWrite>,
    ) -> Result<StampedWrites, DbError> {
        let mut stamped =
            StampedWrites { rows: Vec::with_capacity(writes.len()), restamped: Vec::new() };
        for (write, stamp) in writes.into_iter().zip(ledger.stamps(self.changes.now)) {
            match write {
                ItemWrite::Put { item, digest } => {
                    stamped.rows.push(self.put(item, digest, stamp)?);
                }
                ItemWrite::Tombstone { key, changed_at, at } => {
                    let row = ItemRow::new_tombstone(self.user, key, stamp, changed_at, at);
                    stamped.rows.push(row);
                }
                ItemWrite::Restamp { key, rejected_digest } => {
                    stamped.restamped.push(Restamped { key, stamp, rejected_digest });
                }
            }
        }

        Ok(stamped)
    }

    fn put(&self, item: Item, digest: Vec<u8>, stamp: Timestamp) -> Result<ItemRow, DbError> {
        let Item { key, changed_at, encrypted, body } = item;
        Ok(ItemRow {
            user_id: DbUid(self.user.0),
            channel: key.channel.code(),
            id: DbUid(key.id),
            stamp: DbInstant(stamp),
            changed_at: DbInstant(changed_at),
            deleted_at: None,
            encrypted,
            device_id: self.changes.device.clone(),
            size: i32::try_from(body.len()).unwrap_or(i32::MAX),
            digest,
            body: Some(sealed_bodies::seal(self.seal, key, &body)?),
            last_rejected_digest: None,
        })
    }
}

/// Returns the keys by which the push is planned. Channels and ids are separate lists:
/// their product may load rows that the push does not name, which the plan ignores.
fn push_keys(changes: &Changes) -> PushKeys {
    let keys: HashSet<ItemKey> =
        changes.items.iter().map(|it| it.key).chain(changes.deletes.iter().copied()).collect();
    let channels: HashSet<i16> = keys.iter().map(|it| it.channel.code()).collect();
    let ids: HashSet<_> = keys.iter().map(|it| it.id).collect();

    let read_only_by = |rule| {
        changes
            .items
            .iter()
            .filter(|it| it.key.channel.rules().read_only == rule)
            .map(|it| DbUid(it.key.id))
            .collect()
    };

    PushKeys {
        channels: channels.into_iter().collect(),
        ids: ids.into_iter().map(DbUid).collect(),
        personas: read_only_by(ReadOnly::ManagedPersonas),
        plugins: read_only_by(ReadOnly::UnknownPlugins),
    }
}

/// Returns the stamp of the last write; the highest so far if there is none, as a pull
/// does. It counts as `PushTransaction::assign_stamps` does: one stamp for each write, in order.
fn last_stamp(ledger: &Ledger, plan: &PushPlan, now: Timestamp) -> Timestamp {
    ledger
        .stamps(now)
        .take(plan.writes.len())
        .last()
        .unwrap_or_else(|| ledger.last_stamp.max(ledger.created_at))
}
