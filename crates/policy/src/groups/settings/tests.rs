//! Tests of changes to settings.

use super::*;
use pia_kernel::{BudgetPeriod, CreditLimits};

fn changed(changes: &[SettingChange]) -> Result<GroupSettings, SettingsError> {
    GroupSettings::default().with(changes)
}

fn mode(mode: &str, entry: Option<&str>) -> SettingChange {
    SettingChange::Mode(mode.to_owned(), entry.map(str::to_owned))
}

fn persona(persona_type: &str, entry: Option<&str>) -> SettingChange {
    SettingChange::PersonaType(persona_type.to_owned(), entry.map(str::to_owned))
}

#[test]
fn a_group_without_settings_has_the_default_quotas_and_no_limits() {
    let settings = GroupSettings::default();

    assert_eq!(
        Quota::ALL.map(|it| settings.quota(it)),
        [Some(5), Some(100), Some(50 * 1024 * 1024), Some(5_000_000), Some(50), None]
    );
    assert_eq!(settings.credits, CreditLimits::default());
}

#[test]
fn a_quota_of_zero_is_enforced_and_a_missing_one_is_the_default() {
    let zero = changed(&[SettingChange::Quota(Quota::KnowledgeBases, Some(0))]).unwrap();
    let restored = zero.with(&[SettingChange::Quota(Quota::KnowledgeBases, None)]).unwrap();

    assert_eq!(zero.quota(Quota::KnowledgeBases), Some(0));
    assert_eq!(restored, GroupSettings::default());
}

#[test]
fn each_limit_is_stored_separately() {
    let all = BudgetPeriod::ALL.into_iter().zip(1..);
    let changes: Vec<_> = all.map(|(it, n)| SettingChange::Credits(it, Some(n))).collect();

    let credits = changed(&changes).unwrap().credits;
    let cleared = changed(&[SettingChange::Credits(BudgetPeriod::Daily, None)]).unwrap();

    assert_eq!(
        credits,
        CreditLimits {
            hourly: 1,
            daily: 2,
            weekly: 3,
            group_daily: 4,
            group_weekly: 5,
            pool: false
        }
    );
    assert_eq!(BudgetPeriod::ALL.map(|it| credits.of(it)), [1, 2, 3, 4, 5]);
    assert_eq!(cleared.credits.daily, 0);
}

#[test]
fn limits_are_neither_negative_nor_too_large() {
    let quota = |limit| changed(&[SettingChange::Quota(Quota::KnowledgeDocuments, Some(limit))]);
    let credits = |limit| changed(&[SettingChange::Credits(BudgetPeriod::Hourly, Some(limit))]);

    for wrong in [-1, MAX_LIMIT + 1, i64::MIN, i64::MAX] {
        assert_eq!(quota(wrong), Err(SettingsError::Limit));
        assert_eq!(credits(wrong), Err(SettingsError::Limit));
    }
    assert!(quota(MAX_LIMIT).is_ok() && credits(0).is_ok());
}

#[test]
fn modes_and_types_are_stored_in_their_canonical_spelling() {
    let settings =
        changed(&[mode("assistant", Some(" big ")), persona(" Fast ", Some("small"))]).unwrap();
    let cleared = settings.with(&[mode("ASSISTANT", None), persona("FAST", None)]).unwrap();

    assert_eq!(settings.modes.get("Assistant").map(String::as_str), Some("big"));
    assert_eq!(settings.persona_types.get("fast").map(String::as_str), Some("small"));
    assert_eq!(cleared, GroupSettings::default());
}

#[test]
fn invalid_names_are_refused() {
    let of_type = |name: String| changed(&[persona(&name, Some("e"))]);

    assert_eq!(changed(&[mode("Chat", None)]), Err(SettingsError::Mode));
    assert!(of_type("t".repeat(50)).is_ok());
    for wrong in [String::new(), "t".repeat(51), "a\nb".to_owned(), "\u{130}".repeat(50)] {
        assert_eq!(of_type(wrong), Err(SettingsError::PersonaType));
    }
    for wrong in [String::new(), "e".repeat(101), "a\0".to_owned()] {
        assert_eq!(changed(&[SettingChange::Models(vec![wrong])]), Err(SettingsError::Entry));
    }
}

#[test]
fn models_are_deduplicated_in_their_order() {
    let models = ["b", "a", "B", " c"].map(str::to_owned).to_vec();

    let settings = changed(&[SettingChange::Models(models)]).unwrap();
    let cleared = settings.with(&[SettingChange::Models(Vec::new())]).unwrap();

    assert_eq!(settings.models, ["b", "a", "c"]);
    assert!(cleared.models.is_empty());
}

#[test]
fn the_numbers_of_models_and_types_are_limited() {
    let models = |many: usize| SettingChange::Models((0..many).map(|it| it.to_string()).collect());
    let types = |many: usize| -> Vec<_> {
        (0..many).map(|it| persona(&it.to_string(), Some("e"))).collect()
    };

    assert!(changed(&[models(200)]).is_ok() && changed(&types(100)).is_ok());
    assert_eq!(changed(&[models(201)]), Err(SettingsError::TooManyModels));
    assert_eq!(changed(&types(101)), Err(SettingsError::TooManyTypes));
}

#[test]
fn the_last_of_two_changes_of_one_setting_wins() {
    let first = SettingChange::Pool(true);

    let settings = changed(&[first, SettingChange::Pool(false)]).unwrap();

    assert!(!settings.credits.pool);
}
