//! Tests of the use case's calls, notifications and results.

use pia_testkit::FixedClock;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn groups(store: MockGroupStore, watch: MockGroupWatch) -> Groups {
    Groups::new(Arc::new(store), Arc::new(watch), Arc::new(FixedClock(NOW)))
}

/// Returns a watch that expects no notification.
fn unnotified() -> MockGroupWatch {
    MockGroupWatch::new()
}

fn is_audited(
    effects: &SideEffects,
    by: Option<UserId>,
    object: &str,
    action: &'static str,
) -> bool {
    *effects == SideEffects::of_object(NOW, by, object.to_owned(), action)
}

#[tokio::test]
async fn a_group_is_created_under_its_trimmed_name_with_an_audit_entry() {
    let by = Some(UserId::generate());
    let mut store = MockGroupStore::new();
    store
        .expect_add()
        .withf(move |group, effects| {
            let object = format!("group:{}", group.id);
            group.name.as_str() == "Sales" && is_audited(effects, by, &object, "Group.Created")
        })
        .once()
        .returning(|_, _| Ok(GroupCreationOutcome::Stored));

    let group = groups(store, unnotified()).create(by, " Sales ").await.unwrap();

    assert_eq!(group.created_at, NOW);
    assert!(!group.is_default);
}

#[tokio::test]
async fn an_invalid_name_never_reaches_the_store() {
    let groups = groups(MockGroupStore::new(), unnotified());

    let creation_result = groups.create(None, " ").await;
    let rename_result = groups.rename(None, GroupId::generate(), "a\nb").await;
    let search_result = groups.find_by_name("").await;

    assert!(matches!(creation_result, Err(GroupError::Name(NameError::Empty))));
    assert!(matches!(rename_result, Err(GroupError::Name(NameError::Control))));
    assert!(matches!(search_result, Err(GroupError::Unknown)));
}

#[tokio::test]
async fn addresses_and_last_uses_of_no_users_need_no_query() {
    let groups = groups(MockGroupStore::new(), unnotified());

    let emails = groups.emails(Vec::new()).await;
    let last_uses = groups.last_uses(Vec::new()).await;

    assert!(emails.unwrap().is_empty());
    assert!(last_uses.unwrap().is_empty());
}

#[tokio::test]
async fn an_invalid_setting_never_reaches_the_store() {
    let wrong = [SettingChange::Quota(Quota::KnowledgeBases, Some(-1))];

    let result = groups(MockGroupStore::new(), unnotified())
        .change_settings(None, GroupId::generate(), &wrong)
        .await;

    assert!(matches!(result, Err(GroupError::Settings(SettingsError::Limit))));
}

#[tokio::test]
async fn the_watch_is_notified_of_changed_and_deleted_groups() {
    let group = GroupId::generate();
    let changed_object = format!("group:{group}");
    let deleted_object = changed_object.clone();
    let mut store = MockGroupStore::new();
    store
        .expect_change()
        .withf(move |_, _, effects| {
            is_audited(effects, None, &changed_object, "Group.SettingsChanged")
        })
        .returning(|_, _, _| Ok(SettingsChangeOutcome::Done(GroupSettings::default())));
    store
        .expect_remove()
        .withf(move |_, effects| is_audited(effects, None, &deleted_object, "Group.Deleted"))
        .returning(|_, _| Ok(GroupDeletionOutcome::Done));
    let mut watch = MockGroupWatch::new();
    watch.expect_group_changed().withf(move |it| *it == group).times(2).return_const(());
    let groups = groups(store, watch);

    groups.change_settings(None, group, &[SettingChange::Pool(true)]).await.unwrap();
    groups.delete(None, group).await.unwrap();
}

#[tokio::test]
async fn the_watch_is_notified_of_moved_members() {
    let by = UserId::generate();
    let user = UserId::generate();
    let group = GroupId::generate();
    let mut store = MockGroupStore::new();
    store
        .expect_put()
        .withf(move |moved, to, effects| {
            let [entry] = effects.audit.as_slice() else { return false };
            *moved == user
                && *to == group
                && entry.actor == Some(by)
                && entry.subject == Some(user)
                && entry.object.as_deref() == Some(&format!("group:{group}"))
                && entry.action == "Group.MemberAdded"
        })
        .once()
        .returning(|_, _, _| Ok(MemberMoveOutcome::Done));
    let mut watch = MockGroupWatch::new();
    watch.expect_member_moved().withf(move |it| *it == user).once().return_const(());

    groups(store, watch).move_member(Some(by), user, group).await.unwrap();
}

#[tokio::test]
async fn refusals_of_the_store_are_reported() {
    let group = GroupId::generate();
    let mut store = MockGroupStore::new();
    store.expect_add().returning(|_, _| Ok(GroupCreationOutcome::NameTaken));
    store.expect_rename().once().returning(|_, _, _| Ok(GroupRenameOutcome::NameTaken));
    store.expect_rename().returning(|_, _, _| Ok(GroupRenameOutcome::Unknown));
    store.expect_remove().once().returning(|_, _| Ok(GroupDeletionOutcome::IsDefault));
    store
        .expect_remove()
        .once()
        .returning(|_, _| Ok(GroupDeletionOutcome::InUse(GroupUse::default())));
    store.expect_remove().returning(|_, _| Ok(GroupDeletionOutcome::Unknown));
    store
        .expect_change()
        .once()
        .returning(|_, _, _| Ok(SettingsChangeOutcome::Refused(SettingsError::TooManyTypes)));
    store.expect_change().returning(|_, _, _| Ok(SettingsChangeOutcome::Unknown));
    store.expect_put().once().returning(|_, _, _| Ok(MemberMoveOutcome::UnknownGroup));
    store.expect_put().returning(|_, _, _| Ok(MemberMoveOutcome::UnknownAccount));
    let mut watch = MockGroupWatch::new();
    watch.expect_group_changed().return_const(());
    watch.expect_member_moved().return_const(());
    let groups = groups(store, watch);
    let pool = [SettingChange::Pool(true)];
    let user = UserId::generate();

    let errors = [
        groups.create(None, "a").await.map(drop),
        groups.rename(None, group, "a").await,
        groups.rename(None, group, "a").await,
        groups.delete(None, group).await,
        groups.delete(None, group).await,
        groups.delete(None, group).await,
        groups.change_settings(None, group, &pool).await.map(drop),
        groups.change_settings(None, group, &pool).await.map(drop),
        groups.move_member(None, user, group).await,
        groups.move_member(None, user, group).await,
    ]
    .map(Result::err);

    assert!(matches!(
        errors,
        [
            Some(GroupError::NameTaken),
            Some(GroupError::NameTaken),
            Some(GroupError::Unknown),
            Some(GroupError::IsDefault),
            Some(GroupError::InUse(_)),
            Some(GroupError::Unknown),
            Some(GroupError::Settings(SettingsError::TooManyTypes)),
            Some(GroupError::Unknown),
            Some(GroupError::Unknown),
            Some(GroupError::UnknownAccount),
        ]
    ));
}

#[tokio::test]
async fn everybody_whom_an_identity_provider_moved_is_reported() {
    let group = GroupId::generate();
    let users = [UserId::generate(), UserId::generate()];
    let mut store = MockGroupStore::new();
    store.expect_change_members().returning(move |_, _, at, effects| {
        let expected =
            SideEffects::of_object(NOW, None, format!("group:{group}"), "Group.MemberAdded");
        let entry = effects(users[0], group, at).audit.remove(0);
        assert_eq!(entry.subject, Some(users[0]));
        assert_eq!(entry.object, expected.audit[0].object);
        Ok(MembersChangeOutcome::Done(users.to_vec()))
    });
    let mut watch = unnotified();
    watch.expect_member_moved().times(2).return_const(());

    let change = [MembershipChange::Replace(users.to_vec())];
    groups(store, watch).change_members(group, &change).await.unwrap();
}

#[tokio::test]
async fn an_external_id_has_bounds() {
    let groups = groups(MockGroupStore::new(), unnotified());

    for id in [" ", &"x".repeat(201), "a\nb"] {
        let outcome = groups.set_external_id(GroupId::generate(), Some(id)).await;
        assert!(matches!(outcome, Err(GroupError::ExternalId)), "{id}");
    }
}
