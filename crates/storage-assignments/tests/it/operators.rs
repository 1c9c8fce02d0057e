//! Contract tests of operators.

use futures_util::future::join_all;
use pia_assignments::{Operator, OperatorChangeOutcome, OperatorStore, OperatorUpdate, Skill};
use pia_kernel::{GroupId, OperatorId, SideEffects};
use pia_policy::{Group, GroupName, GroupStore};
use pia_storage::Database;
use pia_storage_assignments::SqlOperators;
use pia_storage_policy::SqlGroups;
use uuid::Uuid;

use crate::fixture::{at, brief, execute, person};

pia_testkit::contract! {
    built_in_operators_are_stored_once_and_updated,
    only_granted_and_active_operators_are_listed_for_a_user,
    the_name_of_a_skill_is_unique_in_any_case,
    an_operator_is_changed,
    built_in_operators_keep_their_skill,
    unknown_groups_are_refused,
    a_deleted_group_loses_its_operators,
}

/// Default group.
const DEFAULT: GroupId = GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));

async fn group(db: &Database, name: &str) -> GroupId {
    let group = Group {
        id: GroupId::generate(),
        name: GroupName::parse(name).unwrap(),
        is_default: false,
        external_id: None,
        created_at: at(0),
    };
    let id = group.id;
    SqlGroups::new(db.clone()).add(group, SideEffects::default()).await.unwrap();
    id
}

fn operator(name: &str, skill: &str) -> Operator {
    Operator {
        id: OperatorId::generate(),
        name: name.to_owned(),
        skill: Skill { name: skill.to_owned(), ..brief() },
        is_custom: true,
        is_active: true,
        groups: Vec::new(),
        webhook_url: None,
        updated_at: at(0),
    }
}

fn effects() -> SideEffects {
    SideEffects::of_object(at(0), None, "operator:1".to_owned(), "Operator.Created")
}

async fn create(db: &Database, operator: &Operator) -> OperatorChangeOutcome {
    SqlOperators::new(db.clone()).create(operator.clone(), effects()).await.unwrap()
}

async fn built_in_operators_are_stored_once_and_updated(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom = operator("Mine", "taken");
    assert_eq!(create(&db, &custom).await, OperatorChangeOutcome::Done);
    let mut shipped = Operator { is_custom: false, ..operator("Brief", "brief") };
    let taken = Operator { is_custom: false, ..operator("Taken", "Taken") };
    let all = || vec![shipped.clone(), taken.clone()];

    for put in join_all((0..5).map(|_| store.put_built_in(all()))).await {
        put.unwrap();
    }
    let grant = store.grant(shipped.id, vec![DEFAULT], effects()).await;
    assert_eq!(grant.unwrap(), OperatorChangeOutcome::Done);
    let name = "Briefings".to_owned();
    let update = OperatorUpdate { name, is_active: false, skill: None, at: at(1) };
    assert_eq!(
        store.update(shipped.id, update, effects()).await.unwrap(),
        OperatorChangeOutcome::Done
    );
    shipped.skill.steps.pop();
    shipped.updated_at = at(2);
    store.put_built_in(vec![shipped.clone()]).await.unwrap();

    let name = "Briefings".to_owned();
    let expected = Operator { name, is_active: false, groups: vec![DEFAULT], ..shipped };
    assert_eq!(store.list().await.unwrap(), [expected, custom]);
}

async fn only_granted_and_active_operators_are_listed_for_a_user(db: Database) {
    let user = person(&db).await;
    let other = group(&db, "Sales").await;
    let store = SqlOperators::new(db.clone());
    let [mut beta, mut alpha, foreign, mut inactive] =
        ["beta", "Alpha", "foreign", "inactive"].map(|it| operator(it, it));
    inactive.is_active = false;
    for it in [&beta, &alpha, &foreign, &inactive] {
        assert_eq!(create(&db, it).await, OperatorChangeOutcome::Done);
    }
    let both = vec![DEFAULT, other, DEFAULT];
    for (id, groups) in [
        (beta.id, both.clone()),
        (alpha.id, vec![other]),
        (alpha.id, vec![DEFAULT]),
        (foreign.id, vec![other]),
        (inactive.id, both),
    ] {
        let granted = store.grant(id, groups, effects()).await.unwrap();
        assert_eq!(granted, OperatorChangeOutcome::Done);
    }

    let granted = store.list_granted(user).await.unwrap();

    beta.groups = vec![DEFAULT, other];
    alpha.groups = vec![DEFAULT];
    assert_eq!(granted, [alpha, beta]);
    assert!(store.list_granted(pia_kernel::UserId::generate()).await.unwrap().is_empty());

    execute(&db, "UPDATE accounts SET deactivated_at = created_at").await;
    assert!(store.list_granted(user).await.unwrap().is_empty());
}

async fn the_name_of_a_skill_is_unique_in_any_case(db: Database) {
    let store = SqlOperators::new(db.clone());
    let all: Vec<_> = ["plan", "Plan", "PLAN", "pLan"].map(|it| operator("Plan", it)).into();

    let created = join_all(all.iter().map(|it| create(&db, it))).await;

    assert_eq!(created.iter().filter(|it| **it == OperatorChangeOutcome::Done).count(), 1);
    assert_eq!(created.iter().filter(|it| **it == OperatorChangeOutcome::NameTaken).count(), 3);
    let other = operator("Other", "other");
    assert_eq!(create(&db, &other).await, OperatorChangeOutcome::Done);
    let skill = Some(Skill { name: "pLAN".to_owned(), ..brief() });
    let update = OperatorUpdate { name: "Other".to_owned(), is_active: true, skill, at: at(1) };
    let updated = store.update(other.id, update, effects()).await.unwrap();
    assert_eq!(updated, OperatorChangeOutcome::NameTaken);
    assert_eq!(store.list().await.unwrap()[0], other);
}

async fn an_operator_is_changed(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom = operator("Plan", "plan");
    assert_eq!(create(&db, &custom).await, OperatorChangeOutcome::Done);
    let skill = Skill { name: "planning".to_owned(), ..brief() };
    let update = OperatorUpdate {
        name: "Planning".to_owned(),
        is_active: false,
        skill: Some(skill.clone()),
        at: at(5),
    };
    let unknown = OperatorId::generate();
    let change = async |id| store.update(id, update.clone(), effects()).await.unwrap();
    let delete = async |id| store.delete(id, effects()).await.unwrap();

    assert_eq!(change(unknown).await, OperatorChangeOutcome::NotFound);
    assert_eq!(change(custom.id).await, OperatorChangeOutcome::Done);

    let name = "Planning".to_owned();
    let is_active = false;
    let expected = Operator { name, is_active, skill, updated_at: at(5), ..custom };
    assert_eq!(store.list().await.unwrap(), [expected]);
    assert_eq!(create(&db, &operator("Plan", "plan")).await, OperatorChangeOutcome::Done);
    assert_eq!(delete(unknown).await, OperatorChangeOutcome::NotFound);
    assert_eq!(delete(custom.id).await, OperatorChangeOutcome::Done);
    assert_eq!(delete(custom.id).await, OperatorChangeOutcome::NotFound);
    assert_eq!(store.list().await.unwrap().len(), 1);
}

async fn built_in_operators_keep_their_skill(db: Database) {
    let store = SqlOperators::new(db.clone());
    let shipped = Operator { is_custom: false, ..operator("Brief", "brief") };
    store.put_built_in(vec![shipped.clone()]).await.unwrap();
    let update = OperatorUpdate {
        name: "Mine".to_owned(),
        is_active: true,
        skill: Some(brief()),
        at: at(1),
    };

    let updated = store.update(shipped.id, update, effects()).await.unwrap();
    let deleted = store.delete(shipped.id, effects()).await.unwrap();

    assert_eq!(updated, OperatorChangeOutcome::BuiltIn);
    assert_eq!(deleted, OperatorChangeOutcome::BuiltIn);
    assert_eq!(store.list().await.unwrap(), [shipped]);
}

async fn unknown_groups_are_refused(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom = operator("Plan", "plan");
    assert_eq!(create(&db, &custom).await, OperatorChangeOutcome::Done);
    let grant = async |id, groups| store.grant(id, groups, effects()).await.unwrap();
    assert_eq!(grant(custom.id, vec![DEFAULT]).await, OperatorChangeOutcome::Done);

    let unknown = grant(custom.id, vec![DEFAULT, GroupId::generate()]).await;
    let nowhere = Operator { groups: vec![GroupId::generate()], ..operator("New", "new") };

    assert_eq!(unknown, OperatorChangeOutcome::UnknownGroup);
    assert_eq!(create(&db, &nowhere).await, OperatorChangeOutcome::UnknownGroup);
    let missing = grant(OperatorId::generate(), vec![DEFAULT]).await;
    assert_eq!(missing, OperatorChangeOutcome::NotFound);
    let expected = Operator { groups: vec![DEFAULT], ..custom };
    assert_eq!(store.list().await.unwrap(), [expected]);
}

async fn a_deleted_group_loses_its_operators(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom = operator("Plan", "plan");
    let sales = group(&db, "Sales").await;
    assert_eq!(
        create(&db, &Operator { groups: vec![sales], ..custom.clone() }).await,
        OperatorChangeOutcome::Done
    );
    assert_eq!(store.list().await.unwrap()[0].groups, [sales]);

    execute(&db, "DELETE FROM user_groups WHERE name = 'Sales'").await;

    assert_eq!(store.list().await.unwrap(), [custom]);
}
