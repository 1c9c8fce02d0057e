//! Tests of the plan of a push.

use uuid::Uuid;

use super::*;
use crate::conflict::Resolution::{ClientWins, ServerWins};

const KEY: ItemKey = key(Channel::Todos);

/// Device that wrote the stored item.
const DEVICE: &str = "laptop";
const STORED_DIGEST: &[u8] = b"stored";
const NEW_DIGEST: &[u8] = b"new";

/// Second at which the stored item was changed, by its device's clock.
const CHANGED: i64 = 10;
const EARLIER: i64 = CHANGED - 1;
const LATER: i64 = CHANGED + 1;

/// Second of every deletion.
const DELETED: i64 = 50;
const AFTER_DELETION: i64 = DELETED + 1;

/// Second of the stored item's stamp.
const STAMPED: i64 = 100;

const fn key(channel: Channel) -> ItemKey {
    ItemKey { channel, id: Uuid::from_u128(7) }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn stored_item() -> StoredItem {
    StoredItem {
        stamp: at(STAMPED),
        changed_at: at(CHANGED),
        deleted_at: None,
        encrypted: false,
        digest: STORED_DIGEST.to_vec(),
        device: Some(DEVICE.to_owned()),
        last_rejected_digest: None,
        size: 2,
    }
}

fn encrypted_item() -> StoredItem {
    StoredItem { encrypted: true, ..stored_item() }
}

fn deleted_item() -> StoredItem {
    StoredItem { deleted_at: Some(at(DELETED)), ..stored_item() }
}

/// Version of an item that a device pushes.
#[derive(Clone, Copy)]
struct Version {
    second: i64,
    encrypted: bool,
    digest: &'static [u8],
}

fn plain(second: i64) -> Version {
    Version { second, encrypted: false, digest: NEW_DIGEST }
}

fn encrypted(second: i64) -> Version {
    Version { second, encrypted: true, digest: NEW_DIGEST }
}

impl Version {
    /// Returns the item with its digest, as the planner takes it.
    fn of(self, key: ItemKey) -> (Item, Vec<u8>) {
        let Self { second, encrypted, digest } = self;
        let item = Item { key, changed_at: at(second), encrypted, body: "{}".to_owned() };
        (item, digest.to_vec())
    }
}

fn tombstone(change_second: i64, deletion_second: i64) -> ItemWrite {
    ItemWrite::Tombstone { key: KEY, changed_at: at(change_second), at: at(deletion_second) }
}

/// Outcome of the push of one version.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Stored,
    /// Version was stored in place of one that the device had not seen.
    StoredWithConflict,
    /// Stored version won, and is sent to the device again.
    Restamped,
    /// Stored version won, of which the device was informed before.
    Rejected,
    Ignored,
}

/// Push of a device to an account with at most one item.
struct PushCase {
    stored: Option<StoredItem>,
    seen_up_to: Option<Timestamp>,
    strategy: ConflictStrategy,
    device: Option<&'static str>,
    channel: Channel,
}

impl PushCase {
    fn without_items() -> Self {
        Self {
            stored: None,
            seen_up_to: Some(at(STAMPED)),
            strategy: ConflictStrategy::LastWriteWins,
            device: None,
            channel: KEY.channel,
        }
    }

    /// Creates the push of a device that has seen this item.
    fn with_item(stored_item: StoredItem) -> Self {
        Self { stored: Some(stored_item), ..Self::without_items() }
    }

    /// Creates the push of a device that has not seen the item.
    fn with_unseen_item() -> Self {
        Self { seen_up_to: Some(at(STAMPED - 1)), ..Self::with_item(stored_item()) }
    }

    fn stored_items(&self) -> HashMap<ItemKey, StoredItem> {
        self.stored.iter().map(|it| (key(self.channel), it.clone())).collect()
    }

    fn plan(&self, items: Vec<(Item, Vec<u8>)>, deletes: Vec<ItemKey>) -> PushPlan {
        let planner = PushPlanner {
            stored: &self.stored_items(),
            seen_up_to: self.seen_up_to,
            device: self.device,
            deleted_at: at(DELETED),
            strategy: self.strategy,
            restrictions: &WriteRestrictions::default(),
            encryption_was_reset: false,
        };
        planner.plan(items, deletes)
    }

    fn push(&self, version: Version) -> Outcome {
        let plan = self.plan(vec![version.of(key(self.channel))], vec![]);

        let resolutions: Vec<Resolution> = plan.conflicts.iter().map(|it| it.resolution).collect();
        match (plan.writes.as_slice(), resolutions.as_slice()) {
            ([ItemWrite::Put { .. }], []) => Outcome::Stored,
            ([ItemWrite::Put { .. }], [ClientWins]) => Outcome::StoredWithConflict,
            ([ItemWrite::Restamp { .. }], [ServerWins]) => Outcome::Restamped,
            ([], [ServerWins]) => Outcome::Rejected,
            ([], []) => Outcome::Ignored,
            _ => panic!("{plan:?}"),
        }
    }

    fn growth(&self, items: Vec<(Item, Vec<u8>)>, deletes: Vec<ItemKey>) -> i64 {
        self.plan(items, deletes).growth(self.channel, &self.stored_items())
    }
}

/// Pushes a version of an item that the device has seen.
fn push_over(stored_item: StoredItem, version: Version) -> Outcome {
    PushCase::with_item(stored_item).push(version)
}

#[test]
fn an_unknown_item_is_stored() {
    assert_eq!(PushCase::without_items().push(plain(EARLIER)), Outcome::Stored);
}

#[test]
fn the_later_change_wins_and_a_lost_one_restamps_the_item() {
    assert_eq!(push_over(stored_item(), plain(LATER)), Outcome::Stored);
    assert_eq!(push_over(stored_item(), plain(EARLIER)), Outcome::Restamped);
    assert_eq!(push_over(stored_item(), plain(CHANGED)), Outcome::Restamped);
}

#[test]
fn a_repeated_loss_is_reported_without_restamping() {
    let item_after_loss =
        StoredItem { last_rejected_digest: Some(NEW_DIGEST.to_vec()), ..stored_item() };
    let deleted_after_loss =
        StoredItem { deleted_at: Some(at(DELETED)), ..item_after_loss.clone() };
    let item_after_another_loss =
        StoredItem { last_rejected_digest: Some(b"another".to_vec()), ..stored_item() };

    assert_eq!(push_over(item_after_loss, plain(CHANGED)), Outcome::Rejected);
    assert_eq!(push_over(deleted_after_loss, plain(DELETED)), Outcome::Rejected);
    assert_eq!(push_over(item_after_another_loss, plain(CHANGED)), Outcome::Restamped);
}

#[test]
fn a_repeated_loss_of_an_encrypted_version_is_recognised_by_its_time() {
    let plan = PushCase::with_item(encrypted_item()).plan(vec![encrypted(EARLIER).of(KEY)], vec![]);
    let [ItemWrite::Restamp { rejected_digest, .. }] = plan.writes.as_slice() else {
        panic!("{plan:?}")
    };
    let item_after_loss =
        StoredItem { last_rejected_digest: Some(rejected_digest.clone()), ..encrypted_item() };

    // The ciphertext of a version differs each time.
    let repeated_version = Version { digest: b"another ciphertext", ..encrypted(EARLIER) };
    assert_eq!(push_over(item_after_loss, repeated_version), Outcome::Rejected);
}

#[test]
fn a_tombstone_has_id_and_time_of_the_deletion() {
    let json = deleted_item().tombstone(KEY).unwrap();

    assert_eq!(json, format!(r#"{{"id":"{}","deletedAt":"1970-01-01T00:00:50Z"}}"#, KEY.id));
    assert_eq!(stored_item().tombstone(KEY), None);
}

#[test]
fn overwriting_an_unseen_version_is_reported() {
    let unseen = PushCase::with_unseen_item();
    let own = PushCase { device: Some(DEVICE), ..PushCase::with_unseen_item() };
    let without_watermark = PushCase { seen_up_to: None, ..PushCase::with_unseen_item() };

    assert_eq!(unseen.push(plain(LATER)), Outcome::StoredWithConflict);
    assert_eq!(unseen.push(encrypted(CHANGED)), Outcome::Stored);
    assert_eq!(own.push(plain(LATER)), Outcome::Stored);
    assert_eq!(without_watermark.push(plain(LATER)), Outcome::Stored);
}

#[test]
fn a_replay_does_nothing() {
    for second in [EARLIER, CHANGED, LATER] {
        let replayed_version = Version { digest: STORED_DIGEST, ..plain(second) };
        assert_eq!(push_over(stored_item(), replayed_version), Outcome::Ignored);
    }
}

#[test]
fn a_replay_of_an_encrypted_version_is_recognised_by_its_time() {
    assert_eq!(push_over(encrypted_item(), encrypted(CHANGED)), Outcome::Ignored);
    assert_eq!(push_over(encrypted_item(), encrypted(LATER)), Outcome::Stored);
    assert_eq!(push_over(encrypted_item(), encrypted(EARLIER)), Outcome::Restamped);
}

#[test]
fn an_encrypted_copy_replaces_the_plain_one_of_the_same_time_and_not_the_other_way() {
    assert_eq!(push_over(stored_item(), encrypted(CHANGED)), Outcome::Stored);
    assert_eq!(push_over(encrypted_item(), plain(CHANGED)), Outcome::Restamped);
}

#[test]
fn sessions_are_only_added_but_for_the_encrypted_copy() {
    let session =
        |stored| PushCase { stored, channel: Channel::Sessions, ..PushCase::without_items() };

    assert_eq!(session(None).push(plain(CHANGED)), Outcome::Stored);
    assert_eq!(session(Some(stored_item())).push(plain(LATER)), Outcome::Ignored);
    assert_eq!(session(Some(stored_item())).push(encrypted(CHANGED)), Outcome::Stored);
    assert_eq!(session(Some(encrypted_item())).push(encrypted(LATER)), Outcome::Ignored);
}

#[test]
fn a_deleted_item_is_revived_by_a_later_change_only() {
    let deleted_session =
        PushCase { channel: Channel::Sessions, ..PushCase::with_item(deleted_item()) };

    assert_eq!(push_over(deleted_item(), plain(DELETED)), Outcome::Restamped);
    assert_eq!(push_over(deleted_item(), plain(AFTER_DELETION)), Outcome::Stored);
    assert_eq!(deleted_session.push(encrypted(DELETED)), Outcome::Restamped);
}

#[test]
fn if_the_server_wins_only_seen_versions_may_be_changed() {
    let strategy = ConflictStrategy::ServerWins;
    let unseen = PushCase { strategy, ..PushCase::with_unseen_item() };
    let observed = PushCase { strategy, ..PushCase::with_item(stored_item()) };

    assert_eq!(unseen.push(plain(LATER)), Outcome::Restamped);
    assert_eq!(observed.push(plain(LATER)), Outcome::Stored);
}

#[test]
fn a_deletion_wins_over_every_version_accepted_before() {
    let changed_after_deletion = StoredItem { changed_at: at(AFTER_DELETION), ..stored_item() };

    let plan = PushCase::with_item(stored_item()).plan(vec![], vec![KEY]);
    let plan_after_change = PushCase::with_item(changed_after_deletion).plan(vec![], vec![KEY]);

    assert_eq!(plan.writes, [tombstone(CHANGED, DELETED)]);
    assert_eq!(plan_after_change.writes, [tombstone(AFTER_DELETION, AFTER_DELETION)]);
}

#[test]
fn an_unknown_or_deleted_item_is_not_deleted_again() {
    for case in [PushCase::without_items(), PushCase::with_item(deleted_item())] {
        assert_eq!(case.plan(vec![], vec![KEY, KEY]), PushPlan::default());
    }
}

#[test]
fn a_push_that_changes_and_deletes_an_item_deletes_it() {
    let put = plain(AFTER_DELETION).of(KEY);

    let plan = PushCase::with_item(stored_item()).plan(vec![put], vec![KEY, KEY]);

    assert_eq!(plan.writes, [tombstone(AFTER_DELETION, AFTER_DELETION)]);
}

#[test]
fn of_an_item_sent_twice_the_later_change_counts() {
    let earlier = plain(EARLIER).of(KEY);
    let later = plain(LATER).of(KEY);
    let case = PushCase::without_items();

    let in_order = case.plan(vec![earlier.clone(), later.clone()], vec![]);
    let reversed = case.plan(vec![later.clone(), earlier], vec![]);

    let (item, digest) = later;
    assert_eq!(in_order.writes, [ItemWrite::Put { item, digest }]);
    assert_eq!(reversed, in_order);
}

#[test]
fn growth_counts_live_items() {
    let unknown = ItemKey { id: Uuid::from_u128(8), ..KEY };
    let over_item = PushCase::with_item(stored_item());
    let over_tombstone = PushCase::with_item(deleted_item());

    let change_and_addition = vec![plain(LATER).of(KEY), plain(LATER).of(unknown)];
    assert_eq!(over_item.growth(change_and_addition, vec![]), 1);
    assert_eq!(over_item.growth(vec![], vec![KEY]), -1);
    assert_eq!(over_tombstone.growth(vec![plain(AFTER_DELETION).of(KEY)], vec![]), 1);
    let added_and_deleted = vec![plain(LATER).of(unknown)];
    assert_eq!(PushCase::without_items().growth(added_and_deleted, vec![unknown]), 0);
}
