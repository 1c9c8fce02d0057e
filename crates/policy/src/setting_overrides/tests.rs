//! Tests of changing settings, with a store and settings that are mocks.

use pia_testkit::FixedClock;

use super::*;

fn layer(version: i64, settings: &[(&str, &str)]) -> OverrideLayer {
    let setting = |(key, value): &(&str, &str)| SettingOverride {
        key: (*key).to_owned(),
        value: OverrideValue::Plain((*value).to_owned()),
        updated_at: Timestamp::UNIX_EPOCH,
        updated_by: None,
    };
    OverrideLayer { version, settings: settings.iter().map(setting).collect() }
}

fn values(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Returns settings: two public ones, three secrets, one of which may be blank, and one that needs
/// a restart.
fn running() -> MockRunningSettings {
    let setting = |key: &str, is_secret| RunningSetting {
        key: key.to_owned(),
        value: None,
        is_secret,
        is_set: false,
        origin: None,
        needs_restart: key == "A:Fixed",
        blank: if key == "A:Blank" { BlankMeaning::Value } else { BlankMeaning::Invalid },
        choices: Vec::new(),
    };
    let mut running = MockRunningSettings::new();
    let keys = [
        ("A:Open", false),
        ("C:Open", false),
        ("A:Key", true),
        ("A:Blank", true),
        ("A:Fixed", false),
        ("B:Lost", true),
    ];
    running.expect_all().returning(move || keys.map(|it| setting(it.0, it.1)).into());
    running
}

fn overrides(store: MockOverrideStore, running: MockRunningSettings) -> SettingOverrides {
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    SettingOverrides::new(Arc::new(store), Arc::new(running), clock)
}

#[tokio::test]
async fn a_change_is_retried_after_a_concurrent_change() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    let mut version = 0;
    store.expect_load().times(2).returning(move || {
        version += 1;
        Ok(layer(version, &[("A:Open", "old"), ("B:Other", "1")]))
    });
    let checked = values(&[("B:Other", "1"), ("A:Open", "new"), ("C:Open", "both")]);
    let applied_values = checked.clone();
    running.expect_check().withf(move |it| it == checked).times(2).returning(|_| Ok(()));
    store.expect_set().times(2).returning(|changes, base_version| {
        let keys: Vec<_> = changes.iter().map(|it| it.setting.key.as_str()).collect();
        assert_eq!(keys, ["A:Open", "C:Open"]);
        Ok(base_version == 2)
    });
    running
        .expect_apply()
        .withf(move |version, it| (*version, it) == (3, &applied_values))
        .once()
        .return_const(());

    let changes = [("a:open", "new".to_owned()), ("C:Open", "both".to_owned())];
    overrides(store, running).set(UserId::generate(), &changes).await.unwrap();
}

#[tokio::test]
async fn unknown_and_invalid_settings_are_not_stored() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    store.expect_load().returning(|| Ok(layer(1, &[])));
    running.expect_check().returning(|_| Err(vec!["expected a number".to_owned()]));
    let overrides = overrides(store, running);
    let by = UserId::generate();

    let refusal = async |key, value: &str| {
        overrides.set(by, &[("C:Open", "1".to_owned()), (key, value.to_owned())]).await.unwrap_err()
    };
    let unknown = refusal("A:None", "1").await;
    let fixed = refusal("A:Fixed", "1").await;
    let invalid = refusal("A:Open", "x").await;
    let empty = refusal("A:Key", " ").await;
    let with_nul = refusal("A:Open", "a\0").await;

    assert!(matches!(unknown, SettingOverrideError::Unknown));
    assert!(matches!(fixed, SettingOverrideError::Unknown));
    assert_eq!(invalid.to_string(), "expected a number");
    assert!(matches!(empty, SettingOverrideError::EmptySecret));
    assert!(with_nul.to_string().contains("NUL"), "{with_nul}");
    let unset = overrides.reset(by, "A:Open").await;
    assert!(unset.is_ok(), "a setting that was not changed");
}

#[tokio::test]
async fn a_secret_may_be_blank_if_that_has_a_meaning() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    store.expect_load().returning(|| Ok(layer(1, &[])));
    let expected = values(&[("A:Blank", "")]);
    running.expect_check().withf(move |it| it == expected).once().returning(|_| Ok(()));
    store.expect_set().once().returning(|changes, _| {
        assert!(matches!(changes[0].setting.value, OverrideValue::Secret(_)));
        Ok(true)
    });
    running.expect_apply().once().return_const(());

    let changes = [("A:Blank", String::new())];
    overrides(store, running).set(UserId::generate(), &changes).await.unwrap();
}

#[tokio::test]
async fn a_secret_is_stored_as_one_and_the_section_of_an_unreadable_one_is_left_out() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    store.expect_load().returning(|| {
        let settings = [("A:Open", "1"), ("B:Lost", ""), ("B:User", "pia"), ("B:C:Open", "2")];
        let mut layer = layer(1, &settings);
        layer.settings[1].value = OverrideValue::Unreadable;
        Ok(layer)
    });
    let expected = values(&[("A:Open", "1"), ("B:C:Open", "2"), ("A:Key", "s3cret")]);
    running.expect_check().withf(move |it| it == expected).once().returning(|_| Ok(()));
    store.expect_set().once().returning(|changes, _| {
        let value = &changes[0].setting.value;
        assert!(matches!(value, OverrideValue::Secret(_)));
        assert!(!format!("{changes:?}").contains("s3cret"));
        Ok(true)
    });
    running.expect_apply().once().return_const(());

    let changes = [("A:Key", "s3cret".to_owned())];
    overrides(store, running).set(UserId::generate(), &changes).await.unwrap();
}

#[tokio::test]
async fn stored_changes_are_applied_with_their_version_and_unreadable_ones_are_returned() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    store.expect_load().returning(|| {
        let mut layer = layer(7, &[("A:Open", "1"), ("B:Lost", "")]);
        layer.settings[1].value = OverrideValue::Unreadable;
        Ok(layer)
    });
    let expected = values(&[("A:Open", "1")]);
    running
        .expect_apply()
        .withf(move |version, it| (*version, it) == (7, &expected))
        .once()
        .return_const(());

    let unreadable = overrides(store, running).refresh().await.unwrap();

    assert_eq!(unreadable, ["B:Lost"]);
}

#[tokio::test]
async fn an_unreadable_secret_that_is_unused_disables_no_section() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    store.expect_load().returning(|| {
        let mut layer = layer(7, &[("A:Open", "1"), ("A:Gone", "")]);
        layer.settings[1].value = OverrideValue::Unreadable;
        Ok(layer)
    });
    let expected = values(&[("A:Open", "1")]);
    running.expect_apply().withf(move |_, it| *it == expected).once().return_const(());

    let unreadable = overrides(store, running).refresh().await.unwrap();

    assert_eq!(unreadable, ["A:Gone"]);
}

#[tokio::test]
async fn a_listed_setting_is_unreadable_if_its_secret_is() {
    let mut store = MockOverrideStore::new();
    store.expect_load().returning(|| {
        let mut layer = layer(1, &[("A:Open", "1"), ("A:Key", "")]);
        layer.settings[1].value = OverrideValue::Unreadable;
        Ok(layer)
    });

    let list = overrides(store, running()).list().await.unwrap();

    let unreadable: Vec<_> = list.iter().filter(|it| it.is_unreadable()).collect();
    assert_eq!(unreadable.len(), 1);
    assert_eq!(unreadable[0].setting.key, "A:Key");
}

#[tokio::test]
async fn a_change_of_a_setting_that_no_longer_exists_is_listed_and_removed() {
    let mut store = MockOverrideStore::new();
    let mut running = running();
    store.expect_load().returning(|| Ok(layer(1, &[("A:Open", "1"), ("B:Gone", "2")])));
    store
        .expect_remove()
        .withf(|key, version, _| (key, *version) == ("B:Gone", 1))
        .once()
        .returning(|_, _, _| Ok(true));
    let expected = values(&[("A:Open", "1")]);
    running.expect_check().withf(move |it| it == expected).once().returning(|_| Ok(()));
    running.expect_apply().once().return_const(());
    let overrides = overrides(store, running);
    let by = UserId::generate();

    let unused = overrides.unused().await.unwrap();
    let removed = overrides.reset(by, "b:gone").await;
    let unknown = overrides.reset(by, "B:Never").await;

    assert_eq!(unused.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["B:Gone"]);
    assert!(removed.is_ok(), "{removed:?}");
    assert!(matches!(unknown, Err(SettingOverrideError::Unknown)));
}
