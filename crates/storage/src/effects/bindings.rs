//! Ids that are bound to an entry, in the audit log.

use std::collections::HashSet;

use pia_kernel::{GroupId, GroupSelection, SideEffects};
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

/// Returns the ids of the groups after a selection, each once. `before` are those that the
/// transaction read after it had locked what is granted.
pub fn selected_ids(selection: &GroupSelection, before: &[DbUid]) -> Vec<DbUid> {
    let before: Vec<_> = before.iter().map(|it| GroupId(it.0)).collect();
    selection.applied_to(&before).into_iter().map(|it| DbUid(it.0)).collect()
}

/// Returns those of the ids that the others do not contain, in order.
pub fn ids_without(ids: &[DbUid], others: &[DbUid]) -> Vec<DbUid> {
    let others: HashSet<_> = others.iter().collect();
    ids.iter().copied().filter(|it| !others.contains(it)).collect()
}

fn ids_or_count(name: &str, ids: &[DbUid]) -> Value {
    let mut sorted: Vec<Uuid> = ids.iter().map(|it| it.0).collect();
    sorted.sort();
    if sorted.len() > MAX_IDS {
        return json!({ name: { "count": sorted.len() } });
    }
    json!({ name: sorted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_others_contain_are_left_out() {
        let ids = [3, 1, 2].map(|it| DbUid(Uuid::from_u128(it)));
        let others = [1, 4].map(|it| DbUid(Uuid::from_u128(it)));

        assert_eq!(ids_without(&ids, &others), [ids[0], ids[2]]);
    }
}
