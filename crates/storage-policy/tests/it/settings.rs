//! Contract tests of the settings of groups.

use futures_util::future::join_all;
use pia_kernel::{BudgetPeriod, CreditLimits, GroupId};
use pia_policy::{
    GroupSettings, GroupStore, Quota, SettingChange, SettingsChangeOutcome, SettingsError,
};
use pia_storage::Database;
use pia_storage_policy::SqlGroups;

use crate::people::{DEFAULT, count_noted, create_group, noting};

pia_testkit::contract! {
    a_group_without_settings_has_the_defaults,
    all_settings_are_read_back,
    a_cleared_setting_has_the_default_again,
    concurrent_changes_of_different_settings_are_all_stored,
    unchanged_and_invalid_settings_leave_no_effects,
    settings_are_deleted_with_their_group,
}

fn text(text: &str) -> String {
    text.to_owned()
}

async fn a_group_without_settings_has_the_defaults(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;

    for group in [DEFAULT, id] {
        assert_eq!(groups.settings(group).await.unwrap(), Some(GroupSettings::default()));
    }
    assert_eq!(groups.settings(GroupId::generate()).await.unwrap(), None);
}

async fn all_settings_are_read_back(db: Database) {
    let groups = SqlGroups::new(db);
    let quotas = Quota::ALL.into_iter().zip(10..).map(|(it, n)| SettingChange::Quota(it, Some(n)));
    let credits =
        BudgetPeriod::ALL.into_iter().zip(20..).map(|(it, n)| SettingChange::Credits(it, Some(n)));
    let other_changes = [
        SettingChange::Pool(true),
        SettingChange::Mode(text("Assistant"), Some(text("big"))),
        SettingChange::PersonaType(text("fast"), Some(text("Small \"one\""))),
        SettingChange::Models(vec![text("b"), text("a")]),
    ];
    let changes: Vec<_> = quotas.chain(credits).chain(other_changes).collect();

    let change_outcome = groups.change(DEFAULT, &changes, noting("set")).await.unwrap();

    let settings = groups.settings(DEFAULT).await.unwrap().unwrap();
    assert_eq!(change_outcome, SettingsChangeOutcome::Done(settings.clone()));
    assert_eq!(Quota::ALL.map(|it| settings.quota(it)), [10, 11, 12, 13, 14, 15].map(Some));

    let credits = CreditLimits {
        hourly: 20,
        daily: 21,
        weekly: 22,
        group_daily: 23,
        group_weekly: 24,
        pool: true,
    };
    assert_eq!(settings.credits, credits);
    assert_eq!(settings.modes, [(text("Assistant"), text("big"))].into());
    assert_eq!(settings.persona_types, [(text("fast"), text("Small \"one\""))].into());
    assert_eq!(settings.models, ["b", "a"]);
}

async fn a_cleared_setting_has_the_default_again(db: Database) {
    let groups = SqlGroups::new(db);
    let set = |quota, credits, entry: Option<&str>| {
        [
            SettingChange::Quota(Quota::ManagedPersonas, quota),
            SettingChange::Credits(BudgetPeriod::Daily, credits),
            SettingChange::Mode(text("Research"), entry.map(text)),
        ]
    };
    groups.change(DEFAULT, &set(Some(0), Some(7), Some("e")), noting("set")).await.unwrap();

    groups.change(DEFAULT, &set(None, None, None), noting("set")).await.unwrap();

    assert_eq!(groups.settings(DEFAULT).await.unwrap(), Some(GroupSettings::default()));
}

async fn concurrent_changes_of_different_settings_are_all_stored(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let changes: Vec<_> = (0..16)
        .map(|n| [SettingChange::PersonaType(format!("type {n}"), Some(format!("entry {n}")))])
        .collect();

    let changes_of_all = changes.iter().map(|it| groups.change(DEFAULT, it, noting("set")));
    for changed in join_all(changes_of_all).await {
        assert!(matches!(changed.unwrap(), SettingsChangeOutcome::Done(_)));
    }

    let settings = groups.settings(DEFAULT).await.unwrap().unwrap();
    assert_eq!(settings.persona_types.len(), 16);
    assert_eq!(count_noted(&db, "set").await, 16);
}

async fn unchanged_and_invalid_settings_leave_no_effects(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let types = |from: usize, to: usize| -> Vec<_> {
        (from..to).map(|n| SettingChange::PersonaType(n.to_string(), Some(text("e")))).collect()
    };
    groups.change(DEFAULT, &types(0, 60), noting("set")).await.unwrap();

    let repeated_outcome = groups.change(DEFAULT, &types(0, 60), noting("set")).await.unwrap();
    let many_outcome = groups.change(DEFAULT, &types(60, 101), noting("set")).await.unwrap();
    let unknown_outcome =
        groups.change(GroupId::generate(), &types(0, 1), noting("set")).await.unwrap();

    assert!(
        matches!(repeated_outcome, SettingsChangeOutcome::Done(it) if it.persona_types.len() == 60)
    );
    assert_eq!(many_outcome, SettingsChangeOutcome::Refused(SettingsError::TooManyTypes));
    assert_eq!(unknown_outcome, SettingsChangeOutcome::Unknown);
    assert_eq!(groups.settings(DEFAULT).await.unwrap().unwrap().persona_types.len(), 60);
    assert_eq!(count_noted(&db, "set").await, 1);
}

async fn settings_are_deleted_with_their_group(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;
    groups.change(id, &[SettingChange::Pool(true)], noting("set")).await.unwrap();

    groups.remove(id, noting("removed")).await.unwrap();
    let repeated_group = create_group(&db, "Sales").await;

    assert_eq!(groups.settings(repeated_group).await.unwrap(), Some(GroupSettings::default()));
}
