//! Events of an account's data: a push that did something, or a reset.
//! `applying.rs` and `item_info.rs` write them in the transaction of the change,
//! `item_info.rs` lists and sweeps them.

use diesel::prelude::*;
use pia_kernel::{Timestamp, UserId};
use pia_storage::schema::sync_events;
use pia_storage::{DbInstant, DbUid};
use pia_sync::{Changes, ItemWrite, PushPlan, SyncEvent};
use uuid::Uuid;

/// Maximum length of a stored device name.
const MAX_DEVICE_CHARS: usize = 64;

#[derive(Debug, Clone, Insertable, Queryable, Selectable)]
#[diesel(table_name = sync_events)]
pub(crate) struct EventRow {
    pub(crate) id: DbUid,
    pub(crate) user_id: DbUid,
    pub(crate) at: DbInstant,
    kind: String,
    device_id: Option<String>,
    stored: i32,
    deleted: i32,
    conflicts: i32,
    refused: i32,
}

impl EventRow {
    pub(crate) fn push(user: UserId, changes: &Changes, plan: &PushPlan) -> Self {
        let writes =
            |wanted: fn(&ItemWrite) -> bool| count(plan.writes.iter().filter(|it| wanted(it)));
        let refused_by_plan = plan.conflicts.iter().filter(|it| it.refusal.is_some()).count();
        let refused = refused_by_plan + changes.refused.len();
        let device = changes.device.as_deref();
        Self {
            device_id: device.map(|it| it.chars().take(MAX_DEVICE_CHARS).collect()),
            stored: writes(|it| matches!(it, ItemWrite::Put { .. })),
            deleted: writes(|it| matches!(it, ItemWrite::Tombstone { .. })),
            conflicts: count(plan.conflicts.iter().filter(|it| it.refusal.is_none())),
            refused: i32::try_from(refused).unwrap_or(i32::MAX),
            ..Self::plain(user, changes.now, "push")
        }
    }

    pub(crate) fn reset(user: UserId, at: Timestamp) -> Self {
        Self::plain(user, at, "reset")
    }

    fn plain(user: UserId, at: Timestamp, kind: &str) -> Self {
        Self {
            id: DbUid(Uuid::now_v7()),
            user_id: DbUid(user.0),
            at: DbInstant(at),
            kind: kind.to_owned(),
            device_id: None,
            stored: 0,
            deleted: 0,
            conflicts: 0,
            refused: 0,
        }
    }

    /// Returns whether the event is worth storing: a push without changes,
    /// conflicts and refusals is not.
    pub(crate) fn is_significant(&self) -> bool {
        self.stored + self.deleted + self.conflicts + self.refused > 0
    }
}

impl From<EventRow> for SyncEvent {
    fn from(row: EventRow) -> Self {
        let count = |it| u32::try_from(it).unwrap_or_default();
        Self {
            id: row.id.0,
            at: row.at.0,
            kind: row.kind,
            device: row.device_id,
            stored: count(row.stored),
            deleted: count(row.deleted),
            conflicts: count(row.conflicts),
            refused: count(row.refused),
        }
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> i32 {
    i32::try_from(items.count()).unwrap_or(i32::MAX)
}
