//! Contract tests of setting overrides.

use futures_util::future::join_all;
use pia_kernel::{LiveSetting, Secret};
use pia_policy::{OverrideChange, OverrideLayer, OverrideStore, OverrideValue, SettingOverride};
use pia_sealing::{MasterKeys, ServerSeal};
use pia_storage::Database;
use pia_storage_policy::SqlSettingOverrides;

use crate::people::{START, audited_changes, count_noted, create_person, noting, setting_row};

pia_testkit::contract! {
    a_setting_is_stored_replaced_and_removed,
    a_secret_is_stored_encrypted_and_not_audited,
    one_of_concurrent_changes_of_one_version_succeeds,
}

fn setting(key: &str, value: &str) -> SettingOverride {
    SettingOverride {
        key: key.to_owned(),
        value: OverrideValue::Plain(value.to_owned()),
        updated_at: START,
        updated_by: None,
    }
}

fn secret(key: &str, value: &str) -> SettingOverride {
    SettingOverride {
        value: OverrideValue::Secret(Secret::new(value.to_owned())),
        ..setting(key, "")
    }
}

/// Returns keys, kinds and values of a layer.
fn texts(layer: &OverrideLayer) -> Vec<String> {
    let text = |it: &SettingOverride| match &it.value {
        OverrideValue::Plain(value) => format!("{}={value}", it.key),
        OverrideValue::Secret(value) => format!("{}=secret {}", it.key, value.expose()),
        OverrideValue::Unreadable => format!("{} is unreadable", it.key),
    };
    layer.settings.iter().map(text).collect()
}

fn changes(settings: &[SettingOverride]) -> Vec<OverrideChange> {
    let change =
        |it: &SettingOverride| OverrideChange { setting: it.clone(), effects: noting("set") };
    settings.iter().map(change).collect()
}

async fn a_setting_is_stored_replaced_and_removed(db: Database) {
    let store = SqlSettingOverrides::new(db.clone());
    let first_settings = store.load().await.unwrap();
    assert!(first_settings.settings.is_empty());
    let by = Some(create_person(&db).await);
    let first_override = SettingOverride { updated_by: by, ..setting("A:One", "1") };

    assert!(
        store
            .set(changes(std::slice::from_ref(&first_override)), first_settings.version)
            .await
            .unwrap()
    );
    assert!(!store.set(changes(&[setting("A:Two", "2")]), first_settings.version).await.unwrap());
    let layer = store.load().await.unwrap();
    assert!(layer.version > first_settings.version);
    assert_eq!(texts(&layer), ["A:One=1"]);
    assert_eq!(layer.settings[0].updated_by, by);
    assert_eq!(layer.settings[0].updated_at, START);
    assert!(store.set(changes(&[setting("A:One", "3")]), layer.version).await.unwrap());

    let layer = store.load().await.unwrap();
    assert_eq!(texts(&layer), ["A:One=3"]);
    assert_eq!(layer.settings[0].updated_by, None);

    let version = layer.version;
    assert!(!store.remove("A:One", version - 1, noting("remove")).await.unwrap());
    assert!(store.remove("A:One", version, noting("remove")).await.unwrap());

    let last_settings = store.load().await.unwrap();
    assert!(last_settings.version > version);
    assert!(last_settings.settings.is_empty());
    assert_eq!(count_noted(&db, "set").await, 2);
    assert_eq!(count_noted(&db, "remove").await, 1);
}

async fn a_secret_is_stored_encrypted_and_not_audited(db: Database) {
    let store = SqlSettingOverrides::new(db.clone());
    let first_version = store.load().await.unwrap().version;
    let pair = [secret("A:Key", "s3cret"), setting("A:Name", "ada")];
    assert!(store.set(changes(&pair), first_version).await.unwrap());

    let other_keys = MasterKeys { current: Secret::new([9; 32]), previous: None };
    let other_seal = ServerSeal::new(other_keys);
    let with_other_key = db.clone().with_effects(other_seal, LiveSetting::new(false));
    let unreadable_settings = SqlSettingOverrides::new(with_other_key).load().await.unwrap();
    let layer = store.load().await.unwrap();
    let plain_settings = [setting("A:Key", "open"), setting("A:Name", "ada")];
    let (value, sealed) = setting_row(&db, "A:Key").await;
    assert!(store.set(changes(&plain_settings), layer.version).await.unwrap());

    assert_eq!(texts(&layer), ["A:Key=secret s3cret", "A:Name=ada"]);
    assert_eq!(texts(&unreadable_settings), ["A:Key is unreadable", "A:Name=ada"]);
    assert_eq!(value, "");
    assert!(sealed.is_some_and(|it| !it.windows(6).any(|bytes| bytes == b"s3cret")));
    assert_eq!(texts(&store.load().await.unwrap()), ["A:Key=open", "A:Name=ada"]);
    let audited = audited_changes(&db).await;
    assert!(audited.contains("secret") && !audited.contains("s3cret"), "{audited}");
}

async fn one_of_concurrent_changes_of_one_version_succeeds(db: Database) {
    let store = SqlSettingOverrides::new(db.clone());
    let version = store.load().await.unwrap().version;

    let pair =
        |n| changes(&[setting(&format!("A:Key{n}"), "1"), setting(&format!("B:Key{n}"), "2")]);
    let writes = join_all((0..16).map(|n| store.set(pair(n), version)));

    let stored_count = writes.await.into_iter().filter(|it| *it.as_ref().unwrap()).count();
    let layer = store.load().await.unwrap();
    assert_eq!(stored_count, 1);
    assert_eq!(layer.settings.len(), 2);
    assert_eq!(layer.version, version + 1);
    assert_eq!(count_noted(&db, "set").await, 2);
}
