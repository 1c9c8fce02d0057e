//! Contract tests of managed personas.

use futures_util::future::join_all;
use pia_kernel::{GroupId, GroupSelection, PersonaId, PluginId, Timestamp};
use pia_policy::{
    GroupSettings, GroupStore, PersonaAssignmentOutcome, PersonaBindingOutcome,
    PersonaChangeOutcome, PersonaDraft, PersonaQuotas, PersonaStore, PersonaUpdate,
    PublishedPersona, Quota, SettingChange,
};
use pia_storage::Database;
use pia_storage_policy::{SqlGroups, SqlManagedPersonas};
use uuid::Uuid;

use crate::people::{DEFAULT, catalogue_version, count_noted, create_group, noting};

pia_testkit::contract! {
    a_persona_is_stored_listed_replaced_and_deleted,
    an_update_of_another_version_is_rejected,
    all_groups_are_replaced,
    concurrent_changes_of_groups_are_all_stored,
    all_plugins_are_replaced,
    concurrent_assignments_do_not_exceed_a_groups_quota,
    one_of_concurrent_updates_of_one_version_is_stored,
    every_accepted_write_changes_the_catalogues_version,
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const MEMORY: PluginId = PluginId(Uuid::from_u128(0x1000_0000_0000_0000_0000_0000_0000_0001));
const REMINDER: PluginId = PluginId(Uuid::from_u128(0x1000_0000_0000_0000_0000_0000_0000_0003));

pub(crate) fn quotas(personas: i64) -> PersonaQuotas {
    PersonaQuotas { personas, knowledge_bases: 5 }
}

/// Returns the selection of these groups.
pub(crate) fn exactly(groups: &[GroupId]) -> GroupSelection {
    GroupSelection::Exactly(groups.to_vec())
}

fn persona(name: &str) -> PublishedPersona {
    let draft = PersonaDraft {
        name: Some(name.to_owned()),
        system_prompt: Some("Be exact.".to_owned()),
        expertise: Some(vec!["law".to_owned()]),
        reasoning_effort: Some(3),
        ..PersonaDraft::default()
    };
    PublishedPersona {
        id: PersonaId::generate(),
        content: draft.validate().unwrap(),
        is_active: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub(crate) async fn create_persona(personas: &SqlManagedPersonas, name: &str) -> PersonaId {
    let persona = persona(name);
    let id = persona.id;
    personas.create(persona, noting("create")).await.unwrap();
    id
}

fn update(name: &str, is_active: Option<bool>, expected: Option<Timestamp>) -> PersonaUpdate {
    PersonaUpdate { content: persona(name).content, is_active, at: NOW, expected }
}

async fn a_persona_is_stored_listed_replaced_and_deleted(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let ada = persona("Ada");
    personas.create(ada.clone(), noting("create")).await.unwrap();
    let bob = create_persona(&personas, "Bob").await;

    assert_eq!(personas.find(ada.id).await.unwrap(), Some(ada.clone()));
    let entries = personas.all().await.unwrap();
    let group_counts: Vec<_> = entries.iter().map(|it| (it.persona.id, it.group_count)).collect();
    assert_eq!(group_counts, [(ada.id, 0), (bob, 0)]);

    let replacement = personas.replace(ada.id, update("Eve", Some(false), None), noting("replace"));
    assert_eq!(replacement.await.unwrap(), PersonaChangeOutcome::Done);
    let partial_replacement =
        personas.replace(ada.id, update("Eve", None, None), noting("replace"));
    assert_eq!(partial_replacement.await.unwrap(), PersonaChangeOutcome::Done);
    let found_persona = personas.find(ada.id).await.unwrap().unwrap();
    assert_eq!(found_persona.content.name.as_str(), "Eve");
    assert!(!found_persona.is_active);
    assert!(found_persona.updated_at > NOW);

    assert!(personas.delete(ada.id, NOW, noting("delete")).await.unwrap());
    assert!(!personas.delete(ada.id, NOW, noting("delete")).await.unwrap());
    let late_replacement = personas.replace(ada.id, update("Eve", None, None), noting("replace"));
    assert_eq!(late_replacement.await.unwrap(), PersonaChangeOutcome::Unknown);
    assert_eq!(personas.find(ada.id).await.unwrap(), None);
    assert_eq!(personas.groups_of(ada.id).await.unwrap(), None);
    assert_eq!(count_noted(&db, "replace").await, 2);
    assert_eq!(count_noted(&db, "delete").await, 1);
}

async fn an_update_of_another_version_is_rejected(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let ada = create_persona(&personas, "Ada").await;

    let first_replacement =
        personas.replace(ada, update("Eve", None, Some(NOW)), noting("replace"));
    assert_eq!(first_replacement.await.unwrap(), PersonaChangeOutcome::Done);
    let second_replacement =
        personas.replace(ada, update("Bob", None, Some(NOW)), noting("replace"));
    assert_eq!(second_replacement.await.unwrap(), PersonaChangeOutcome::Stale);

    assert_eq!(personas.find(ada).await.unwrap().unwrap().content.name, "Eve");
    assert_eq!(count_noted(&db, "replace").await, 1);
}

async fn all_groups_are_replaced(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let ada = create_persona(&personas, "Ada").await;

    for groups in [vec![DEFAULT, sales], vec![sales], vec![]] {
        let assignment_outcome =
            personas.assign(ada, exactly(&groups), quotas(50), noting("assign")).await.unwrap();
        assert_eq!(assignment_outcome, PersonaAssignmentOutcome::Done);
        assert_eq!(personas.groups_of(ada).await.unwrap().unwrap(), groups);
        let of_sales = personas.names_of_group(sales).await.unwrap();
        let expected = groups.contains(&sales).then(|| (ada, "Ada".to_owned()));
        assert_eq!(of_sales, expected.into_iter().collect::<Vec<_>>());
        let count = personas.all().await.unwrap()[0].group_count;
        assert_eq!(count, groups.len() as u64);
    }

    let unknown_group = GroupId::generate();
    let refused_outcome = personas
        .assign(ada, exactly(&[sales, unknown_group]), quotas(50), noting("x"))
        .await
        .unwrap();
    assert_eq!(refused_outcome, PersonaAssignmentOutcome::UnknownGroup(unknown_group));

    let unknown_outcome = personas
        .assign(PersonaId::generate(), exactly(&[sales]), quotas(50), noting("x"))
        .await
        .unwrap();
    assert_eq!(unknown_outcome, PersonaAssignmentOutcome::Unknown);
    assert_eq!(personas.groups_of(ada).await.unwrap().unwrap().len(), 0);
    assert_eq!(count_noted(&db, "x").await, 0);
}

async fn concurrent_changes_of_groups_are_all_stored(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let ada = create_persona(&personas, "Ada").await;
    personas.assign(ada, exactly(&[DEFAULT]), quotas(50), noting("x")).await.unwrap();
    let mut groups = Vec::new();
    for name in ["A", "B", "C", "D", "E", "F"] {
        groups.push(create_group(&db, name).await);
    }

    let changes = groups.iter().map(|&group| {
        let change = GroupSelection::Changed { added: vec![group], removed: vec![DEFAULT] };
        let instance = SqlManagedPersonas::new(db.clone());
        async move { instance.assign(ada, change, quotas(50), noting("add")).await.unwrap() }
    });
    let outcomes = join_all(changes).await;

    assert!(outcomes.iter().all(|it| *it == PersonaAssignmentOutcome::Done), "{outcomes:?}");
    assert_eq!(personas.groups_of(ada).await.unwrap(), Some(groups));
}

async fn all_plugins_are_replaced(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let ada = create_persona(&personas, "Ada").await;

    for plugins in [vec![MEMORY, REMINDER], vec![REMINDER], vec![]] {
        let binding_outcome = personas.bind(ada, &plugins, noting("bind")).await.unwrap();
        assert_eq!(binding_outcome, PersonaBindingOutcome::Done);
        assert_eq!(personas.plugins_of(ada).await.unwrap().unwrap(), plugins);
    }
    let nothing = PluginId::generate();
    let refused_outcome = personas.bind(ada, &[nothing], noting("x")).await.unwrap();

    assert_eq!(refused_outcome, PersonaBindingOutcome::UnknownPlugin(nothing));
}

async fn concurrent_assignments_do_not_exceed_a_groups_quota(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let sales = create_group(&db, "Sales").await;
    let own_quota = [SettingChange::Quota(Quota::ManagedPersonas, Some(3))];
    SqlGroups::new(db.clone()).change(sales, &own_quota, noting("change")).await.unwrap();
    assert_eq!(GroupSettings::default().quota(Quota::ManagedPersonas), Some(50));
    let ids = join_all((0..8).map(|_| create_persona(&personas, "Ada"))).await;

    let groups = exactly(&[sales]);
    let calls =
        ids.iter().map(|it| personas.assign(*it, groups.clone(), quotas(50), noting("assign")));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    assert_eq!(outcomes.iter().filter(|it| **it == PersonaAssignmentOutcome::Done).count(), 3);
    let quota_refusal =
        PersonaAssignmentOutcome::QuotaExceeded { group: "Sales".to_owned(), limit: 3 };
    assert_eq!(outcomes.iter().filter(|it| **it == quota_refusal).count(), 5);
    let assigned_persona =
        ids.iter().zip(&outcomes).find(|it| *it.1 == PersonaAssignmentOutcome::Done).unwrap().0;
    let repeated_outcome = personas
        .assign(*assigned_persona, exactly(&[sales]), quotas(50), noting("assign"))
        .await
        .unwrap();
    assert_eq!(repeated_outcome, PersonaAssignmentOutcome::Done);
    let other_outcome =
        personas.assign(ids[0], exactly(&[DEFAULT]), quotas(0), noting("assign")).await.unwrap();
    assert!(matches!(other_outcome, PersonaAssignmentOutcome::QuotaExceeded { limit: 0, .. }));
}

async fn one_of_concurrent_updates_of_one_version_is_stored(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let ada = create_persona(&personas, "Ada").await;

    let calls = (0..16).map(|_| personas.replace(ada, update("Eve", None, Some(NOW)), noting("r")));
    let outcomes = join_all(calls).await.into_iter().map(Result::unwrap);

    assert_eq!(outcomes.filter(|it| *it == PersonaChangeOutcome::Done).count(), 1);
    assert_eq!(count_noted(&db, "r").await, 1);
}

async fn every_accepted_write_changes_the_catalogues_version(db: Database) {
    let personas = SqlManagedPersonas::new(db.clone());
    let mut versions = vec![catalogue_version(&db).await];
    let ada = create_persona(&personas, "Ada").await;
    versions.push(catalogue_version(&db).await);
    personas.replace(ada, update("Eve", None, None), noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);
    personas.assign(ada, exactly(&[DEFAULT]), quotas(50), noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);
    personas.bind(ada, &[MEMORY], noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);
    personas.delete(ada, NOW, noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);

    assert!(versions.windows(2).all(|it| it[0] < it[1]), "{versions:?}");
}
