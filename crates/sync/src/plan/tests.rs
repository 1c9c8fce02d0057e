//! Tests of the plan of a push.

use uuid::Uuid;

use super::*;
use crate::conflict::Resolution::{ClientWins, ServerWins};

const KEY: ItemKey = key(Channel::Todos);
const ONE: &[u8] = b"one";
const OTHER: &[u8] = b"other";

const fn key(channel: Channel) -> ItemKey {
    ItemKey { channel, id: Uuid::from_u128(7) }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn item(key: ItemKey, second: i64, encrypted: bool) -> Item {
    Item { key, changed_at: at(second), encrypted, body: "{}".to_owned() }
}

/// Returns an item with stamp 100, changed at second 10.
fn stored_item() -> StoredItem {
    StoredItem {
        stamp: at(100),
        changed_at: at(10),
        deleted_at: None,
        encrypted: false,
        digest: ONE.to_vec(),
        device: Some("lap".to_owned()),
        last_rejected_digest: None,
        size: 2,
    }
}

struct Case {
    stored: Option<StoredItem>,
    watermark: Option<Timestamp>,
    strategy: ConflictStrategy,
    device: Option<&'static str>,
    key: ItemKey,
}

impl Case {
    fn with_stored(stored: Option<StoredItem>) -> Self {
        Self {
            stored,
            watermark: Some(at(200)),
            strategy: ConflictStrategy::LastWriteWins,
            device: None,
            key: KEY,
        }
    }

    fn plan(self, items: Vec<(Item, Vec<u8>)>, deletes: Vec<ItemKey>) -> PushPlan {
        let stored_items = self.stored.into_iter().map(|it| (self.key, it)).collect();
        let Self { watermark, strategy, device, .. } = self;
        let restrictions = WriteRestrictions::default();
        let planner = PushPlanner {
            stored: &stored_items,
            seen_up_to: watermark,
            device,
            deleted_at: at(50),
            strategy,
            restrictions: &restrictions,
            encryption_was_reset: false,
        };
        planner.plan(items, deletes)
    }

    /// Plans the push of one item that was changed at this second.
    fn push(self, second: i64, encrypted: bool, digest: &[u8]) -> (&'static str, Vec<Resolution>) {
        let pushed_item = item(self.key, second, encrypted);
        let plan = self.plan(vec![(pushed_item, digest.to_vec())], vec![]);
        let written = match plan.writes.as_slice() {
            [] => "nothing",
            [ItemWrite::Put { .. }] => "put",
            [ItemWrite::Tombstone { .. }] => "bury",
            [ItemWrite::Restamp { .. }] => "restamp",
            _ => "more",
        };
        (written, plan.conflicts.iter().map(|it| it.resolution).collect())
    }
}

#[test]
fn an_unknown_item_is_stored() {
    assert_eq!(Case::with_stored(None).push(1, false, OTHER), ("put", vec![]));
}

#[test]
fn the_later_change_wins_and_a_lost_one_restamps_the_item() {
    assert_eq!(Case::with_stored(Some(stored_item())).push(11, false, OTHER), ("put", vec![]));
    assert_eq!(
        Case::with_stored(Some(stored_item())).push(9, false, OTHER),
        ("restamp", vec![ServerWins])
    );
    assert_eq!(
        Case::with_stored(Some(stored_item())).push(10, false, OTHER),
        ("restamp", vec![ServerWins])
    );
}

#[test]
fn a_repeated_loss_is_reported_without_restamping() {
    let rejected =
        |by: &[u8]| Some(StoredItem { last_rejected_digest: Some(by.to_vec()), ..stored_item() });

    assert_eq!(
        Case::with_stored(rejected(OTHER)).push(10, false, OTHER),
        ("nothing", vec![ServerWins])
    );
    assert_eq!(
        Case::with_stored(rejected(b"else")).push(10, false, OTHER),
        ("restamp", vec![ServerWins])
    );
    let gone = StoredItem { deleted_at: Some(at(50)), ..rejected(OTHER).unwrap() };
    assert_eq!(Case::with_stored(Some(gone)).push(50, false, OTHER), ("nothing", vec![ServerWins]));
    let plan = Case::with_stored(Some(StoredItem { encrypted: true, ..stored_item() }))
        .plan(vec![(item(KEY, 9, true), OTHER.to_vec())], vec![]);
    let [ItemWrite::Restamp { rejected_digest: loser, .. }] = plan.writes.as_slice() else {
        panic!("{plan:?}")
    };
    let restamped =
        StoredItem { encrypted: true, last_rejected_digest: Some(loser.clone()), ..stored_item() };
    // Its ciphertext differs each time.
    assert_eq!(
        Case::with_stored(Some(restamped)).push(9, true, b"third"),
        ("nothing", vec![ServerWins])
    );
}

#[test]
fn a_tombstone_has_id_and_time_of_the_deletion() {
    let gone = StoredItem { deleted_at: Some(at(50)), ..stored_item() };

    let tombstone = gone.tombstone(KEY).unwrap();

    assert_eq!(tombstone, format!(r#"{{"id":"{}","deletedAt":"1970-01-01T00:00:50Z"}}"#, KEY.id));
    assert_eq!(stored_item().tombstone(KEY), None);
}

#[test]
fn overwriting_an_unseen_version_is_reported() {
    let unseen = Case { watermark: Some(at(99)), ..Case::with_stored(Some(stored_item())) };
    let unspecified = Case { watermark: None, ..Case::with_stored(Some(stored_item())) };

    assert_eq!(unseen.push(11, false, OTHER), ("put", vec![ClientWins]));
    let encrypts = Case { watermark: Some(at(99)), ..Case::with_stored(Some(stored_item())) };
    assert_eq!(encrypts.push(10, true, OTHER), ("put", vec![]));
    let own = Case {
        watermark: Some(at(99)),
        device: Some("lap"),
        ..Case::with_stored(Some(stored_item()))
    };
    assert_eq!(own.push(11, false, OTHER), ("put", vec![]));
    assert_eq!(unspecified.push(11, false, OTHER), ("put", vec![]));
}

#[test]
fn a_replay_does_nothing() {
    for second in [9, 10, 11] {
        assert_eq!(
            Case::with_stored(Some(stored_item())).push(second, false, ONE),
            ("nothing", vec![])
        );
    }
    let encrypted = || StoredItem { encrypted: true, ..stored_item() };
    // Its ciphertext differs each time.
    assert_eq!(Case::with_stored(Some(encrypted())).push(10, true, OTHER), ("nothing", vec![]));
    assert_eq!(Case::with_stored(Some(encrypted())).push(11, true, OTHER), ("put", vec![]));
    assert_eq!(
        Case::with_stored(Some(encrypted())).push(9, true, OTHER),
        ("restamp", vec![ServerWins])
    );
}

#[test]
fn an_encrypted_copy_replaces_the_plain_one_of_the_same_time_and_not_the_other_way() {
    assert_eq!(Case::with_stored(Some(stored_item())).push(10, true, OTHER), ("put", vec![]));
    let encrypted = StoredItem { encrypted: true, ..stored_item() };
    assert_eq!(
        Case::with_stored(Some(encrypted)).push(10, false, OTHER),
        ("restamp", vec![ServerWins])
    );
}

#[test]
fn sessions_are_only_added_but_for_the_encrypted_copy() {
    let session = |stored| Case { key: key(Channel::Sessions), ..Case::with_stored(stored) };

    assert_eq!(session(None).push(10, false, OTHER), ("put", vec![]));
    assert_eq!(session(Some(stored_item())).push(99, false, OTHER), ("nothing", vec![]));
    assert_eq!(session(Some(stored_item())).push(10, true, OTHER), ("put", vec![]));
    let encrypted = StoredItem { encrypted: true, ..stored_item() };
    assert_eq!(session(Some(encrypted)).push(99, true, OTHER), ("nothing", vec![]));
}

#[test]
fn a_deleted_item_is_revived_by_a_later_change_only() {
    let gone = || Some(StoredItem { deleted_at: Some(at(50)), ..stored_item() });

    assert_eq!(Case::with_stored(gone()).push(50, false, OTHER), ("restamp", vec![ServerWins]));
    assert_eq!(Case::with_stored(gone()).push(51, false, OTHER), ("put", vec![]));
    let session = Case { key: key(Channel::Sessions), ..Case::with_stored(gone()) };
    assert_eq!(session.push(50, true, OTHER), ("restamp", vec![ServerWins]));
}

#[test]
fn if_the_server_wins_only_seen_versions_may_be_changed() {
    let unseen = Case {
        watermark: Some(at(99)),
        strategy: ConflictStrategy::ServerWins,
        ..Case::with_stored(Some(stored_item()))
    };
    let seen =
        Case { strategy: ConflictStrategy::ServerWins, ..Case::with_stored(Some(stored_item())) };

    assert_eq!(unseen.push(11, false, OTHER), ("restamp", vec![ServerWins]));
    assert_eq!(seen.push(11, false, OTHER), ("put", vec![]));
}

#[test]
fn a_deletion_wins_over_every_version_accepted_before() {
    let tombstone_of = |changed, at_second| {
        vec![ItemWrite::Tombstone { key: KEY, changed_at: at(changed), at: at(at_second) }]
    };

    assert_eq!(
        Case::with_stored(Some(stored_item())).plan(vec![], vec![KEY]).writes,
        tombstone_of(10, 50)
    );
    let of_the_future = StoredItem { changed_at: at(1000), ..stored_item() };
    assert_eq!(
        Case::with_stored(Some(of_the_future)).plan(vec![], vec![KEY]).writes,
        tombstone_of(1000, 1000)
    );
}

#[test]
fn an_unknown_or_deleted_item_is_not_deleted_again() {
    let gone = StoredItem { deleted_at: Some(at(50)), ..stored_item() };

    assert_eq!(Case::with_stored(None).plan(vec![], vec![KEY, KEY]), PushPlan::default());
    assert_eq!(Case::with_stored(Some(gone)).plan(vec![], vec![KEY, KEY]), PushPlan::default());
}

#[test]
fn a_push_that_changes_and_deletes_an_item_deletes_it() {
    let put = (item(KEY, 60, false), OTHER.to_vec());

    let plan = Case::with_stored(Some(stored_item())).plan(vec![put], vec![KEY, KEY]);

    assert_eq!(plan.writes, [ItemWrite::Tombstone { key: KEY, changed_at: at(60), at: at(60) }]);
}

#[test]
fn of_an_item_sent_twice_the_later_change_counts() {
    let [early, late] = [11, 12].map(|it| (item(KEY, it, false), OTHER.to_vec()));

    let in_order = Case::with_stored(None).plan(vec![early.clone(), late.clone()], vec![]);
    let reversed = Case::with_stored(None).plan(vec![late.clone(), early], vec![]);

    assert_eq!(in_order.writes, [ItemWrite::Put { item: late.0, digest: late.1 }]);
    assert_eq!(reversed, in_order);
}

#[test]
fn growth_counts_live_items() {
    let fresh = ItemKey { id: Uuid::from_u128(8), ..KEY };
    let plan = |stored, items: Vec<Item>, deletes| {
        let items_with_digests = items.into_iter().map(|it| (it, OTHER.to_vec())).collect();
        Case::with_stored(stored).plan(items_with_digests, deletes)
    };
    let growth = |plan: PushPlan, stored: Option<StoredItem>| {
        plan.growth(Channel::Todos, &stored.into_iter().map(|it| (KEY, it)).collect())
    };
    let gone = || Some(StoredItem { deleted_at: Some(at(50)), ..stored_item() });

    let added =
        plan(Some(stored_item()), vec![item(KEY, 99, false), item(fresh, 99, false)], vec![]);
    assert_eq!(growth(added, Some(stored_item())), 1);
    assert_eq!(growth(plan(Some(stored_item()), vec![], vec![KEY]), Some(stored_item())), -1);
    assert_eq!(growth(plan(gone(), vec![item(KEY, 99, false)], vec![]), gone()), 1);
    assert_eq!(growth(plan(None, vec![item(fresh, 9, false)], vec![fresh]), None), 0);
}
