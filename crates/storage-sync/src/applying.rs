//! Writing what devices pushed, in SQL.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use diesel_async::RunQueryDsl;
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::{PersonSeal, Sealer};
use pia_storage::schema::sync_events;
use pia_storage::{Database, DbError, DbInstant, DbUid, Ledger, TakeLedger, in_tx};
use pia_sync::{
    Applied, Changes, Channel, Conflict, Item, ItemKey, ItemRejection, ItemWrite,
    MAX_CHANGES_PER_PUSH, PushPlan, PushPlanner, PushSettings, StoredItem, SyncStore,
};

use crate::event_row::EventRow;
use crate::item_row::{ItemRow, PutItems};
use crate::sealed_bodies;
use crate::statements::{PushKeys, ReadOnlyIds, Restamped, Statements};

/// Writes what devices push, in SQL.
#[derive(Debug, Clone)]
pub struct SqlSyncStore {
    db: Database,
    sealer: Sealer,
}

/// A push on its way to the rows.
struct PushTransaction<'a> {
    user: UserId,
    changes: &'a Changes,
    digests: Vec<Vec<u8>>,
    settings: &'a PushSettings,
    seal: &'a PersonSeal,
}

/// By how many the items of each channel become more, where they do.
type Growth = HashMap<Channel, i64>;

impl SqlSyncStore {
    /// Writes to `db`, sealed by `sealer`.
    pub fn new(db: Database, sealer: Sealer) -> Self {
        Self { db, sealer }
    }

    async fn write(&self, push: &PushTransaction<'_>) -> Result<Applied, DbError> {
        let (user, changes, named) = (push.user, push.changes, push_keys(push.changes));
        in_tx!(self.db, async |conn| -> Result<Applied, DbError> {
            let Some(ledger) = conn.hold_ledger(user).await? else { return Ok(Applied::Gone) };
            if ledger.encrypted && !changes.encrypted {
                return Ok(Applied::EncryptedOnly);
            }
            let kept = conn.stored_rows(user, &named).await?;
            let mut plan = push.plan(&kept, &conn.read_only_ids(&named).await?, &ledger);
            let growth = growth(&plan, &kept);
            let mut living = HashMap::new();
            if !growth.is_empty() {
                let channels: Vec<Channel> = growth.keys().copied().collect();
                living = conn.living(user, &channels).await?;
            }
            if let Some(over) = push.over_quota(&growth, &living) {
                return Ok(over);
            }
            let mut bytes = plan.byte_growth(&kept);
            if let Err(storage) = ledger.check_storage(bytes, push.settings.max_storage) {
                return Ok(Applied::OutOfStorage(storage));
            }
            if !plan.conflicts.is_empty() {
                let told: Vec<ItemKey> = plan.conflicts.iter().map(|it| it.key).collect();
                let bodies = conn.bodies(user, &told).await?;
                push.fill_server_versions(&mut plan.conflicts, &bodies, &kept);
            }

            let event = EventRow::push(user, changes, &plan);
            let at = last_stamp(&ledger, &plan, changes.now);
            let StampedWrites { rows, restamped } = push.assign_stamps(&ledger, plan.writes)?;
            let changed = !rows.is_empty() || !restamped.is_empty();
            conn.put_items(rows).await?;
            for moved in restamped {
                conn.restamp(user, moved).await?;
            }
            if let Some(surplus) = push.surplus(&growth, &living) {
                bytes -= conn.drop_oldest_sessions(user, surplus).await?;
            }
            if changed {
                conn.count_change(user, at, bytes).await?;
            }
            if event.tells_something() {
                diesel::insert_into(sync_events::table).values(event).execute(conn).await?;
            }
            let conflicts = changes.refused.iter().cloned().chain(plan.conflicts).collect();
            Ok(Applied::Done { at, conflicts })
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
    ) -> Result<Applied, Unavailable> {
        let Some(seal) = &self.sealer.seal_for(user).await? else { return Ok(Applied::Gone) };
        let digests = changes.items.iter().map(|it| seal.digest(it.body.as_bytes())).collect();
        let push = PushTransaction { user, changes: &changes, digests, settings, seal };
        Ok(self.write(&push).await?)
    }
}

/// Rows to write, each with its stamp.
struct StampedWrites {
    rows: Vec<ItemRow>,
    restamped: Vec<Restamped>,
}

impl PushTransaction<'_> {
    fn plan(
        &self,
        kept: &HashMap<ItemKey, StoredItem>,
        fenced: &ReadOnlyIds,
        ledger: &Ledger,
    ) -> PushPlan {
        let Changes { items, deletes, seen_up_to: seen, deleted_at, device, .. } = self.changes;
        let mut refused = Vec::new();
        let mut free = Vec::with_capacity(items.len());
        for (item, digest) in items.iter().zip(&self.digests) {
            let ItemKey { channel, id } = item.key;
            match channel {
                // Of a device that has not heard of a reset: nobody has the key.
                _ if item.encrypted && !ledger.encrypted && ledger.was_reset => {
                    refused.push(Conflict::refused(item.key, ItemRejection::AccountPlain));
                }
                Channel::Personas if fenced.personas.contains(&id) => {
                    refused.push(Conflict::refused(item.key, ItemRejection::Managed));
                }
                // An older server may not know what a device has.
                Channel::PluginPreferences if !fenced.plugins.contains(&id) => {}
                _ => free.push((item.clone(), digest.clone())),
            }
        }
        let (seen, deleted_at) = (*seen, *deleted_at);
        let (device, strategy) = (device.as_deref(), self.settings.strategy);
        let planner = PushPlanner { kept, seen_up_to: seen, device, deleted_at, strategy };
        let mut plan = planner.plan(free, deletes.clone());
        plan.conflicts.extend(refused);
        plan
    }

    fn over_quota(&self, growth: &Growth, living: &HashMap<Channel, i64>) -> Option<Applied> {
        let mut channels: Vec<Channel> = growth.keys().copied().collect();
        channels.sort_unstable();
        channels.into_iter().filter(|it| *it != Channel::Sessions).find_map(|channel| {
            let limit = self.settings.limits.limit(channel);
            let current = living.get(&channel).copied().unwrap_or_default();
            let after = current + growth.get(&channel)?;
            let current = u32::try_from(current).unwrap_or(u32::MAX);
            (after > i64::from(limit)).then_some(Applied::OverQuota { channel, limit, current })
        })
    }

    /// Returns the number of sessions there are too many.
    fn surplus(&self, growth: &Growth, living: &HashMap<Channel, i64>) -> Option<i64> {
        let more = growth.get(&Channel::Sessions)?;
        let before = living.get(&Channel::Sessions).copied().unwrap_or_default();
        let surplus = before + more - i64::from(self.settings.limits.limit(Channel::Sessions));
        // As many as one statement finds; the rest leaves with the next push.
        let most = i64::try_from(MAX_CHANGES_PER_PUSH).unwrap_or(i64::MAX);
        (surplus > 0).then_some(surplus.min(most))
    }

    /// Adds what was kept to what is told.
    fn fill_server_versions(
        &self,
        conflicts: &mut [Conflict],
        bodies: &HashMap<ItemKey, Vec<u8>>,
        kept: &HashMap<ItemKey, StoredItem>,
    ) {
        for conflict in conflicts.iter_mut().filter(|it| it.refusal.is_none()) {
            let key = conflict.key;
            conflict.server_version = match bodies.get(&key) {
                Some(sealed) => sealed_bodies::open(self.seal, key, sealed),
                None => kept.get(&key).and_then(|it| it.tombstone(key)),
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
                    stamped.rows.push(ItemRow::new_tombstone(
                        self.user,
                        key,
                        stamp,
                        (changed_at, at),
                    ));
                }
                ItemWrite::Restamp { key, rejected_digest: loser } => {
                    stamped.restamped.push(Restamped { key, stamp, rejected_digest: loser });
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
            beaten: None,
        })
    }
}

fn push_keys(changes: &Changes) -> PushKeys {
    let keys = changes.items.iter().map(|it| it.key).chain(changes.deletes.iter().copied());
    let keys: HashSet<ItemKey> = keys.collect();
    let channels: HashSet<i16> = keys.iter().map(|it| it.channel.code()).collect();
    let ids: HashSet<_> = keys.iter().map(|it| it.id).collect();
    let of = |channel| {
        let sent = changes.items.iter().filter(move |it| it.key.channel == channel);
        sent.map(|it| DbUid(it.key.id)).collect()
    };
    PushKeys {
        channels: channels.into_iter().collect(),
        ids: ids.into_iter().map(DbUid).collect(),
        personas: of(Channel::Personas),
        plugins: of(Channel::PluginPreferences),
    }
}

fn growth(plan: &PushPlan, kept: &HashMap<ItemKey, StoredItem>) -> Growth {
    let growth = Channel::ALL.into_iter().map(|it| (it, plan.growth(it, kept)));
    growth.filter(|(_, more)| *more > 0).collect()
}

/// The stamp of the last write; the highest so far where there is none.
fn last_stamp(ledger: &Ledger, plan: &PushPlan, now: Timestamp) -> Timestamp {
    ledger.stamps(now).take(plan.writes.len()).last().unwrap_or(ledger.last_stamp)
}
