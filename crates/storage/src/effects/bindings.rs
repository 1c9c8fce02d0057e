//! Ids that are bound to an entry, in the audit log.

use pia_kernel::SideEffects;
use serde_json::json;
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
    let side = |ids: &[DbUid]| {
        let mut sorted: Vec<Uuid> = ids.iter().map(|it| it.0).collect();
        sorted.sort();
        if sorted.len() > MAX_IDS {
            json!({ name: { "count": sorted.len() } })
        } else {
            json!({ name: sorted })
        }
    };
    effects.with_changes(Some(&side(before)), Some(&side(after)))
}
