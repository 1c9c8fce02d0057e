//! Contract tests of setting overrides.

use futures_util::future::join_all;
use pia_policy::{OverrideLayer, OverrideStore, SettingOverride};
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

async fn a_setting_is_stored_replaced_and_removed(db: Database) {
    let store = SqlSettingOverrides::new(db.clone());
    let first = store.load().await.unwrap();
    assert_eq!(first.settings, []);
    let by = Some(person(&db).await);
    let one = SettingOverride { updated_by: by, ..setting("A:One", "1") };

    assert!(store.set(one.clone(), first.version, noting("set")).await.unwrap());
    assert!(!store.set(setting("A:Two", "2"), first.version, noting("set")).await.unwrap());
    let OverrideLayer { version, settings } = store.load().await.unwrap();
    assert!(version > first.version);
    assert_eq!(settings, vec![one]);
    assert!(store.set(setting("A:One", "3"), version, noting("set")).await.unwrap());
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

    let all = join_all(
        (0..16).map(|n| store.set(setting(&format!("A:Key{n}"), "1"), version, noting("set"))),
    );

    let stored = all.await.into_iter().filter(|it| *it.as_ref().unwrap()).count();
    let layer = store.load().await.unwrap();
    assert_eq!(stored, 1);
    assert_eq!(layer.settings.len(), 1);
    assert_eq!(layer.version, version + 1);
    assert_eq!(noted(&db, "set").await, 1);
}
