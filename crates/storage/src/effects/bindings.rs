//! Ids that are bound to an entry, in the audit log.

use pia_kernel::SideEffects;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::DbUid;

/// Maximum number of ids that an entry lists.
const MAX_IDS: usize = 100;

/// Returns the effects with the ids that were bound and are bound now. Of more
/// than a hundred, their number is recorded.
pub fn with_ids(
    effects: &SideEffects,
    name: &str,
    before: &[DbUid],
    after: &[DbUid],
) -> SideEffects {
    effects.with_changes(Some(&ids_or_count(name, before)), Some(&ids_or_count(name, after)))
}

fn ids_or_count(name: &str, ids: &[DbUid]) -> Value {
    let mut sorted: Vec<Uuid> = ids.iter().map(|it| it.0).collect();
    sorted.sort();
    if sorted.len() > MAX_IDS {
        return json!({ name: { "count": sorted.len() } });
    }
    json!({ name: sorted })
}
