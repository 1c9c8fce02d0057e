//! Contract tests of client policies.

use futures_util::future::join_all;
use pia_kernel::{ClientPolicyId, GroupId, Timestamp, UserId};
use pia_policy::{
    ClientPolicy, ClientPolicyDraft, ClientPolicyStore, PolicyAssignmentOutcome,
    PolicyDeletionOutcome, PolicyStoreOutcome, PolicyUpdate,
};
use pia_storage::Database;
use pia_storage_policy::SqlClientPolicies;
use uuid::Uuid;

use crate::people::{
    DEFAULT, catalogue_version, count_noted, create_account, create_group, noting,
};

pia_testkit::contract! {
    a_policy_is_stored_listed_and_replaced,
    names_are_unique_among_live_policies,
    an_assigned_policy_is_not_deleted,
    every_accepted_write_changes_the_catalogues_version,
    one_of_concurrent_policies_of_one_name_is_created,
    one_of_concurrent_updates_of_one_version_is_stored,
    a_concurrent_deletion_and_assignment_exclude_each_other,
    each_write_leaves_a_version,
}

const ADMIN: UserId = UserId(Uuid::from_u128(1));
const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const DOCUMENT: &str = "{\"enforce\" : {\"theme\":\"\\u0064ark\"}}";

fn draft(name: &str) -> ClientPolicyDraft {
    ClientPolicyDraft::parse(Some(name), Some("For all"), Some(DOCUMENT)).unwrap()
}

fn update(draft: ClientPolicyDraft, at: Timestamp) -> PolicyUpdate {
    PolicyUpdate { draft, by: ADMIN, at, expected: None }
}

/// Creates a store of policies, and the administrator who writes them.
async fn store(db: &Database) -> SqlClientPolicies {
    create_account(db, ADMIN).await;
    SqlClientPolicies::new(db.clone())
}

async fn create_policy(policies: &SqlClientPolicies, name: &str) -> ClientPolicyId {
    let id = ClientPolicyId::generate();
    let policy = ClientPolicy { id, draft: draft(name), updated_at: NOW };
    assert_eq!(
        policies.create(policy, ADMIN, noting("create")).await.unwrap(),
        PolicyStoreOutcome::Done
    );
    id
}

async fn a_policy_is_stored_listed_and_replaced(db: Database) {
    let policies = store(&db).await;
    let b = create_policy(&policies, "b").await;
    let a = create_policy(&policies, "A").await;

    let found_policy = policies.find(b).await.unwrap().unwrap();
    assert_eq!(found_policy, ClientPolicy { id: b, draft: draft("b"), updated_at: NOW });
    let listed_policies = policies.all().await.unwrap();
    assert_eq!(listed_policies.iter().map(|it| it.id).collect::<Vec<_>>(), [a, b]);
    assert_eq!(listed_policies[0].document_bytes, DOCUMENT.len());
    assert_eq!(listed_policies[0].group_count, 0);

    let other_draft = ClientPolicyDraft::parse(Some("c"), None, None).unwrap();
    let later_time = Timestamp::from_micros(NOW.micros() + 1);
    let replacement_outcome = policies
        .replace(b, update(other_draft.clone(), later_time), noting("replace"))
        .await
        .unwrap();
    assert_eq!(replacement_outcome, PolicyStoreOutcome::Done);

    let found_policy = policies.find(b).await.unwrap().unwrap();
    assert_eq!(
        found_policy,
        ClientPolicy { id: b, draft: other_draft.clone(), updated_at: later_time }
    );
    let unknown_policy = ClientPolicyId::generate();
    let unknown_outcome = policies
        .replace(unknown_policy, update(other_draft, later_time), noting("replace"))
        .await
        .unwrap();
    assert_eq!(unknown_outcome, PolicyStoreOutcome::Unknown);
    assert_eq!(count_noted(&db, "create").await, 2);
    assert_eq!(count_noted(&db, "replace").await, 1);
}

async fn names_are_unique_among_live_policies(db: Database) {
    let policies = store(&db).await;
    let first_policy = create_policy(&policies, "Sales").await;
    let second_policy = create_policy(&policies, "Other").await;
    let namesake =
        ClientPolicy { id: ClientPolicyId::generate(), draft: draft("SALES"), updated_at: NOW };

    let conflict_outcome = policies.create(namesake.clone(), ADMIN, noting("taken")).await.unwrap();
    let renaming_outcome = policies
        .replace(second_policy, update(draft("sales"), NOW), noting("taken"))
        .await
        .unwrap();
    assert_eq!(conflict_outcome, PolicyStoreOutcome::NameTaken);
    assert_eq!(renaming_outcome, PolicyStoreOutcome::NameTaken);
    let repeated_outcome =
        policies.replace(first_policy, update(draft("SALES"), NOW), noting("same")).await.unwrap();
    assert_eq!(repeated_outcome, PolicyStoreOutcome::Done);

    let deletion_outcome = policies.delete(first_policy, NOW, noting("delete")).await.unwrap();
    assert_eq!(deletion_outcome, PolicyDeletionOutcome::Done);
    assert_eq!(
        policies.create(namesake, ADMIN, noting("create")).await.unwrap(),
        PolicyStoreOutcome::Done
    );
    assert!(policies.find(first_policy).await.unwrap().is_none());

    let twice = policies.delete(first_policy, NOW, noting("delete")).await.unwrap();
    assert_eq!(twice, PolicyDeletionOutcome::Unknown);
    assert_eq!(count_noted(&db, "delete").await, 1);
    assert_eq!(count_noted(&db, "taken").await, 0);
}

async fn an_assigned_policy_is_not_deleted(db: Database) {
    let policies = store(&db).await;
    let sales = create_group(&db, "Sales").await;
    let id = create_policy(&policies, "One").await;
    assert_eq!(policies.of_group(sales).await.unwrap(), Some(None));

    for group in [sales, DEFAULT] {
        let assignment_outcome = policies.assign(group, Some(id), noting("assign")).await.unwrap();
        assert_eq!(assignment_outcome, PolicyAssignmentOutcome::Done);
    }

    let policy = ClientPolicy { id, draft: draft("One"), updated_at: NOW };
    assert_eq!(policies.of_group(sales).await.unwrap(), Some(Some(policy)));
    let groups = policies.groups_of(id).await.unwrap().unwrap();
    let names: Vec<String> = groups.into_iter().map(|it| it.1).collect();
    let in_use = policies.delete(id, NOW, noting("delete")).await.unwrap();
    assert_eq!(names.len(), 2);
    assert_eq!(in_use, PolicyDeletionOutcome::InUse(names));
    assert_eq!(policies.all().await.unwrap()[0].group_count, 2);

    for group in [sales, DEFAULT] {
        policies.assign(group, None, noting("assign")).await.unwrap();
    }
    let deletion_outcome = policies.delete(id, NOW, noting("delete")).await.unwrap();
    assert_eq!(deletion_outcome, PolicyDeletionOutcome::Done);

    let missing_outcome = policies.assign(sales, Some(id), noting("assign")).await.unwrap();
    assert_eq!(missing_outcome, PolicyAssignmentOutcome::UnknownPolicy);
    let unknown_outcome =
        policies.assign(GroupId::generate(), None, noting("assign")).await.unwrap();
    assert_eq!(unknown_outcome, PolicyAssignmentOutcome::UnknownGroup);
    assert_eq!(policies.of_group(GroupId::generate()).await.unwrap(), None);
    assert_eq!(policies.groups_of(id).await.unwrap(), None);
}

async fn every_accepted_write_changes_the_catalogues_version(db: Database) {
    let policies = store(&db).await;
    let mut versions = vec![catalogue_version(&db).await];
    let id = create_policy(&policies, "One").await;
    versions.push(catalogue_version(&db).await);
    policies.replace(id, update(draft("Two"), NOW), noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);
    policies.assign(DEFAULT, Some(id), noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);
    policies.assign(DEFAULT, None, noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);
    policies.delete(id, NOW, noting("x")).await.unwrap();
    versions.push(catalogue_version(&db).await);

    assert!(versions.windows(2).all(|it| it[0] < it[1]), "{versions:?}");
}

async fn one_of_concurrent_policies_of_one_name_is_created(db: Database) {
    let policies = store(&db).await;
    let policy =
        || ClientPolicy { id: ClientPolicyId::generate(), draft: draft("One"), updated_at: NOW };

    let calls = (0..16).map(|_| policies.create(policy(), ADMIN, noting("create")));
    let outcomes = join_all(calls).await.into_iter().map(Result::unwrap);

    assert_eq!(outcomes.filter(|it| *it == PolicyStoreOutcome::Done).count(), 1);
    assert_eq!(count_noted(&db, "create").await, 1);
}

async fn one_of_concurrent_updates_of_one_version_is_stored(db: Database) {
    let policies = store(&db).await;
    let id = create_policy(&policies, "One").await;
    let expecting = || PolicyUpdate { expected: Some(NOW), ..update(draft("Two"), NOW) };

    let calls = (0..16).map(|_| policies.replace(id, expecting(), noting("r")));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();

    assert_eq!(outcomes.iter().filter(|it| **it == PolicyStoreOutcome::Done).count(), 1);
    assert_eq!(outcomes.iter().filter(|it| **it == PolicyStoreOutcome::Stale).count(), 15);
    assert!(policies.find(id).await.unwrap().unwrap().updated_at > NOW);
    assert_eq!(count_noted(&db, "r").await, 1);
}

async fn a_concurrent_deletion_and_assignment_exclude_each_other(db: Database) {
    let policies = store(&db).await;
    for round in 0..12 {
        let id = create_policy(&policies, &format!("policy {round}")).await;

        let (deleted, assigned) = futures_util::join!(
            policies.delete(id, NOW, noting("delete")),
            policies.assign(DEFAULT, Some(id), noting("assign")),
        );

        match (deleted.unwrap(), assigned.unwrap()) {
            (PolicyDeletionOutcome::Done, PolicyAssignmentOutcome::UnknownPolicy) => {}
            (PolicyDeletionOutcome::InUse(_), PolicyAssignmentOutcome::Done) => {
                policies.assign(DEFAULT, None, noting("x")).await.unwrap();
            }
            both => panic!("{both:?}"),
        }
    }
}

async fn each_write_leaves_a_version(db: Database) {
    let policies = store(&db).await;
    let id = create_policy(&policies, "One").await;
    let updates = (0..16).map(|n| update(draft(&format!("n{n}")), NOW));

    let outcomes = join_all(updates.map(|it| policies.replace(id, it, noting("r")))).await;

    assert!(outcomes.into_iter().all(|it| it.unwrap() == PolicyStoreOutcome::Done));
    let listed_versions = policies.versions(id).await.unwrap().unwrap();
    let numbers: Vec<i32> = listed_versions.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (1..=17).rev().collect::<Vec<_>>());
    assert!(listed_versions.windows(2).all(|it| it[0].written_at > it[1].written_at));

    let newest = &listed_versions[0];
    let policy = policies.find(id).await.unwrap().unwrap();
    assert_eq!(newest.name, policy.draft.name);
    assert_eq!(newest.written_at, policy.updated_at);
    assert_eq!(newest.document_bytes, DOCUMENT.len());
    assert_eq!(newest.written_by, Some(ADMIN));

    let first_policy = policies.version(id, 1).await.unwrap().unwrap();
    assert_eq!(first_policy.draft, draft("One"));
    assert_eq!(first_policy.written_at, NOW);
    assert!(policies.version(id, 18).await.unwrap().is_none());

    policies.delete(id, NOW, noting("delete")).await.unwrap();
    assert!(policies.versions(id).await.unwrap().is_none());
    assert!(policies.version(id, 1).await.unwrap().is_none());
}
