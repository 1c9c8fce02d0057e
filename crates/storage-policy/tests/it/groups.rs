//! Contract tests of groups.

use futures_util::future::join_all;
use futures_util::join;
use pia_kernel::{GroupId, SideEffects, UserId};
use pia_policy::{
    GroupCreationOutcome, GroupDeletionOutcome, GroupRenameOutcome, GroupStore, GroupUse,
    MemberMoveOutcome, PersonaStore, PluginStore,
};
use pia_storage::Database;
use pia_storage_policy::{SqlGroups, SqlManagedPersonas, SqlPlugins};

use crate::people::{
    DEFAULT, START, count_noted, create_group, create_person, group_named, group_of, name, noting,
};
use crate::personas::{exactly, quotas};

pia_testkit::contract! {
    groups_are_listed_with_their_members_the_default_one_first,
    a_group_is_found_by_its_id_and_by_its_name_in_any_case,
    one_of_concurrent_groups_of_one_name_is_created,
    a_group_is_not_renamed_to_a_taken_name,
    one_of_concurrent_renames_to_one_name_succeeds,
    only_an_unused_group_other_than_the_default_one_is_deleted,
    a_group_of_a_persona_or_plugin_is_in_use,
    no_account_is_in_a_deleted_group,
    a_member_is_moved_to_another_group_once,
    a_missing_group_or_account_is_reported_without_effects,
}

fn nothing() -> SideEffects {
    SideEffects::default()
}

async fn groups_are_listed_with_their_members_the_default_one_first(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let user = create_person(&db).await;
    let zoo = create_group(&db, "Zoo").await;
    let _aa = create_group(&db, "aardvarks").await;
    create_person(&db).await;
    groups.put(user, zoo, nothing()).await.unwrap();

    let listed_groups = groups.all().await.unwrap();
    let listed_names = groups.names().await.unwrap();

    let names: Vec<_> =
        listed_groups.iter().map(|it| (it.group.name.as_str(), it.members)).collect();
    assert_eq!(names, [("Default", 1), ("aardvarks", 0), ("Zoo", 1)]);
    let expected_names =
        listed_groups.iter().map(|it| (it.group.id, it.group.name.as_str().to_owned()));
    assert_eq!(listed_names, expected_names.collect::<Vec<_>>());
    assert!(listed_groups[0].group.is_default && listed_groups[0].group.id == DEFAULT);
    assert_eq!(listed_groups[2].group.id, zoo);
    assert_eq!(listed_groups[2].group.created_at, START);
}

async fn a_group_is_found_by_its_id_and_by_its_name_in_any_case(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Ärzte").await;
    groups.put(create_person(&db).await, id, nothing()).await.unwrap();

    let by_id = groups.find(id).await.unwrap().unwrap();
    let by_name = groups.find_named(&name("äRZTE")).await.unwrap().unwrap();

    assert_eq!(by_id.members, 1);
    assert_eq!(by_id.group.name.as_str(), "Ärzte");
    assert_eq!(by_name, by_id);
    assert_eq!(groups.find_named(&name("Arzte")).await.unwrap(), None);
    assert_eq!(groups.find(GroupId::generate()).await.unwrap(), None);
}

async fn one_of_concurrent_groups_of_one_name_is_created(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let spelled = ["Köche", "KÖCHE", "köche", "kÖche"];

    let additions = (0..16).map(|n| groups.add(group_named(spelled[n % 4]), noting("made")));
    let outcomes: Vec<_> = join_all(additions).await.into_iter().map(Result::unwrap).collect();

    let taken_count = outcomes.iter().filter(|it| **it == GroupCreationOutcome::NameTaken).count();
    assert_eq!(taken_count, 15);
    assert_eq!(groups.all().await.unwrap().len(), 2);
    assert_eq!(count_noted(&db, "made").await, 1);
}

async fn a_group_is_not_renamed_to_a_taken_name(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;
    create_group(&db, "Support").await;
    let rename = async |to: &str| groups.rename(id, name(to), noting("renamed")).await.unwrap();

    let outcomes = [rename("SALES").await, rename("SALES").await, rename("support").await];

    assert_eq!(
        outcomes,
        [GroupRenameOutcome::Done, GroupRenameOutcome::Done, GroupRenameOutcome::NameTaken]
    );
    assert_eq!(groups.find(id).await.unwrap().unwrap().group.name.as_str(), "SALES");
    assert_eq!(count_noted(&db, "renamed").await, 1);
}

async fn one_of_concurrent_renames_to_one_name_succeeds(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let mut ids = Vec::new();
    for n in 0..8 {
        ids.push(create_group(&db, &format!("group {n}")).await);
    }

    let renamings = ids.iter().map(|it| groups.rename(*it, name("Best"), noting("renamed")));
    let outcomes: Vec<_> = join_all(renamings).await.into_iter().map(Result::unwrap).collect();

    let taken_count = outcomes.iter().filter(|it| **it == GroupRenameOutcome::NameTaken).count();
    assert_eq!(taken_count, 7);
    assert_eq!(count_noted(&db, "renamed").await, 1);
    assert!(groups.find_named(&name("best")).await.unwrap().is_some());
}

async fn only_an_unused_group_other_than_the_default_one_is_deleted(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;
    let user = create_person(&db).await;
    groups.put(user, id, nothing()).await.unwrap();
    let remove = async |of| groups.remove(of, noting("removed")).await.unwrap();

    let outcome_with_members = remove(id).await;
    let default = remove(DEFAULT).await;
    groups.put(user, DEFAULT, nothing()).await.unwrap();
    let empty_outcome = remove(id).await;
    let repeated_outcome = remove(id).await;

    let in_use = GroupDeletionOutcome::InUse(GroupUse { members: 1, ..GroupUse::default() });
    assert_eq!(outcome_with_members, in_use);
    assert_eq!(default, GroupDeletionOutcome::IsDefault);
    assert_eq!(empty_outcome, GroupDeletionOutcome::Done);
    assert_eq!(repeated_outcome, GroupDeletionOutcome::Unknown);
    assert_eq!(groups.settings(id).await.unwrap(), None);
    assert_eq!(count_noted(&db, "removed").await, 1);
}

async fn a_group_of_a_persona_or_plugin_is_in_use(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;
    let personas = SqlManagedPersonas::new(db.clone());
    let plugins = SqlPlugins::new(db.clone());
    let persona = crate::personas::create_persona(&personas, "Ada").await;
    personas.assign(persona, exactly(&[id]), quotas(50), nothing()).await.unwrap();
    let plugin = crate::plugins::create_plugin(&plugins, "Tickets").await.id;
    plugins.assign(plugin, exactly(&[id]), nothing()).await.unwrap();

    let removal_outcome = groups.remove(id, noting("removed")).await.unwrap();
    personas.delete(persona, START, nothing()).await.unwrap();
    plugins.delete(plugin, START, nothing()).await.unwrap();
    let unused_outcome = groups.remove(id, noting("removed")).await.unwrap();

    let by = GroupUse { personas: 1, plugins: 1, ..GroupUse::default() };
    assert_eq!(removal_outcome, GroupDeletionOutcome::InUse(by));
    assert_eq!(unused_outcome, GroupDeletionOutcome::Done);
    assert_eq!(by.to_string(), "1 persona, 1 plugin");
    assert_eq!(count_noted(&db, "removed").await, 1);
}

async fn no_account_is_in_a_deleted_group(db: Database) {
    let groups = SqlGroups::new(db.clone());
    for n in 0..8 {
        let id = create_group(&db, &format!("group {n}")).await;
        let user = create_person(&db).await;

        let (put, removed) = join!(groups.put(user, id, nothing()), groups.remove(id, nothing()));

        let outcome = (put.unwrap(), removed.unwrap());
        let is_in_it = group_of(&db, user).await == id;
        match outcome {
            (MemberMoveOutcome::Done, GroupDeletionOutcome::InUse(_)) => assert!(is_in_it),
            (MemberMoveOutcome::UnknownGroup, GroupDeletionOutcome::Done) => assert!(!is_in_it),
            other => panic!("{other:?}"),
        }
    }
}

async fn a_member_is_moved_to_another_group_once(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;
    let user = create_person(&db).await;
    let other_user = create_person(&db).await;

    let first_outcome = groups.put(user, id, noting("put")).await.unwrap();
    let second_outcome = groups.put(user, id, noting("put")).await.unwrap();

    assert_eq!(first_outcome, MemberMoveOutcome::Done);
    assert_eq!(second_outcome, MemberMoveOutcome::Done);
    assert_eq!(group_of(&db, user).await, id);
    assert_eq!(group_of(&db, other_user).await, DEFAULT);
    assert_eq!(count_noted(&db, "put").await, 1);
}

async fn a_missing_group_or_account_is_reported_without_effects(db: Database) {
    let groups = SqlGroups::new(db.clone());
    let id = create_group(&db, "Sales").await;
    let unknown_group = GroupId::generate();
    let user = create_person(&db).await;

    let renaming_outcome = groups.rename(unknown_group, name("a"), noting("tried")).await.unwrap();
    let no_group = groups.put(user, unknown_group, noting("tried")).await.unwrap();
    let no_account = groups.put(UserId::generate(), id, noting("tried")).await.unwrap();

    assert_eq!(renaming_outcome, GroupRenameOutcome::Unknown);
    assert_eq!(no_group, MemberMoveOutcome::UnknownGroup);
    assert_eq!(no_account, MemberMoveOutcome::UnknownAccount);
    assert_eq!(group_of(&db, user).await, DEFAULT);
    assert_eq!(count_noted(&db, "tried").await, 0);
}
