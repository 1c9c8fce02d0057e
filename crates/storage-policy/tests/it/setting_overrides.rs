//! Contract tests of setting overrides.

use futures_util::future::join_all;
use pia_policy::{OverrideChange, OverrideLayer, OverrideStore, SettingOverride};
use pia_storage::Database;
use pia_storage_policy::SqlSettingOverrides;

use crate::people::{START, noted, noting, person};

pia_testkit::contract! {
    a_setting_is_stored_replaced_and_removed,
    one_of_concurrent_changes_of_one_version_succeeds,
}

fn setting(key: &str, value: &str) -> SettingOverride {
    SettingOverride {
        key: key.to_owned(),
        value: value.to_owned(),
        updated_at: START,
        updated_by: None,
    }
}

fn changes(settings: &[SettingOverride]) -> Vec<OverrideChange> {
    let change =
        |it: &SettingOverride| OverrideChange { setting: it.clone(), effects: noting("set") };
    settings.iter().map(change).collect()
}

async fn a_setting_is_stored_replaced_and_removed(db: Database) {
    let store = SqlSettingOverrides::new(db.clone());
    let first = store.load().await.unwrap();
    assert_eq!(first.settings, []);
    let by = Some(person(&db).await);
    let one = SettingOverride { updated_by: by, ..setting("A:One", "1") };

    assert!(store.set(changes(&[one.clone()]), first.version).await.unwrap());
    assert!(!store.set(changes(&[setting("A:Two", "2")]), first.version).await.unwrap());
    let OverrideLayer { version, settings } = store.load().await.unwrap();
    assert!(version > first.version);
    assert_eq!(settings, vec![one]);
    assert!(store.set(changes(&[setting("A:One", "3")]), version).await.unwrap());
    let OverrideLayer { version, settings } = store.load().await.unwrap();
    assert_eq!(settings, [setting("A:One", "3")]);
    assert!(!store.remove("A:One", version - 1, noting("remove")).await.unwrap());
    assert!(store.remove("A:One", version, noting("remove")).await.unwrap());

    let last = store.load().await.unwrap();
    assert!(last.version > version);
    assert!(last.settings.is_empty());
    assert_eq!(noted(&db, "set").await, 2);
    assert_eq!(noted(&db, "remove").await, 1);
}

async fn one_of_concurrent_changes_of_one_version_succeeds(db: Database) {
    let store = SqlSettingOverrides::new(db.clone());
    let version = store.load().await.unwrap().version;

    let pair =
        |n| changes(&[setting(&format!("A:Key{n}"), "1"), setting(&format!("B:Key{n}"), "2")]);
    let all = join_all((0..16).map(|n| store.set(pair(n), version)));

    let stored = all.await.into_iter().filter(|it| *it.as_ref().unwrap()).count();
    let layer = store.load().await.unwrap();
    assert_eq!(stored, 1);
    assert_eq!(layer.settings.len(), 2);
    assert_eq!(layer.version, version + 1);
    assert_eq!(noted(&db, "set").await, 2);
}
