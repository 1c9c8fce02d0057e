//! Contract tests of operators.

use futures_util::future::join_all;
use pia_assignments::{Operator, OperatorChangeOutcome, OperatorStore, OperatorUpdate, Skill};
use pia_kernel::{GroupId, GroupSelection, OperatorId, SideEffects};
use pia_policy::{Group, GroupName, GroupStore};
use pia_storage::Database;
use pia_storage_assignments::SqlOperators;
use pia_storage_policy::SqlGroups;
use uuid::Uuid;

use crate::fixture::{at, brief, create_person, execute};

pia_testkit::contract! {
    built_in_operators_are_stored_once_and_updated,
    only_granted_and_active_operators_are_listed_for_a_user,
    the_name_of_a_skill_is_unique_in_any_case,
    an_operator_is_changed,
    built_in_operators_keep_their_skill,
    unknown_groups_are_refused,
    concurrent_changes_of_groups_are_all_stored,
    a_deleted_group_loses_its_operators,
}

/// Default group.
const DEFAULT: GroupId = GroupId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));

async fn create_group(db: &Database, name: &str) -> GroupId {
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
    let custom_operator = operator("Mine", "taken");
    assert_eq!(create(&db, &custom_operator).await, OperatorChangeOutcome::Done);
    let mut built_in = Operator { is_custom: false, ..operator("Brief", "brief") };
    let with_used_skill = Operator { is_custom: false, ..operator("Taken", "Taken") };
    let operators = || vec![built_in.clone(), with_used_skill.clone()];

    for outcome in join_all((0..5).map(|_| store.put_built_in(operators()))).await {
        outcome.unwrap();
    }

    let grant = store.grant(built_in.id, GroupSelection::Exactly(vec![DEFAULT]), effects()).await;
    assert_eq!(grant.unwrap(), OperatorChangeOutcome::Done);

    let name = "Briefings".to_owned();
    let update =
        OperatorUpdate { name, is_active: Some(false), skill: None, at: at(1), expected: None };
    assert_eq!(
        store.update(built_in.id, update, effects()).await.unwrap(),
        OperatorChangeOutcome::Done
    );

    built_in.skill.steps.pop();
    built_in.updated_at = at(2);
    store.put_built_in(vec![built_in.clone()]).await.unwrap();

    let name = "Briefings".to_owned();
    let expected = Operator { name, is_active: false, groups: vec![DEFAULT], ..built_in };
    assert_eq!(store.list().await.unwrap(), [expected, custom_operator]);
}

async fn only_granted_and_active_operators_are_listed_for_a_user(db: Database) {
    let user = create_person(&db).await;
    let sales = create_group(&db, "Sales").await;
    let store = SqlOperators::new(db.clone());
    let [mut beta, mut alpha, of_sales, mut inactive] =
        ["beta", "Alpha", "foreign", "inactive"].map(|it| operator(it, it));
    inactive.is_active = false;
    for operator in [&beta, &alpha, &of_sales, &inactive] {
        assert_eq!(create(&db, operator).await, OperatorChangeOutcome::Done);
    }

    let both_groups = vec![DEFAULT, sales, DEFAULT];
    for (id, groups) in [
        (beta.id, both_groups.clone()),
        (alpha.id, vec![sales]),
        (alpha.id, vec![DEFAULT]),
        (of_sales.id, vec![sales]),
        (inactive.id, both_groups),
    ] {
        let outcome = store.grant(id, GroupSelection::Exactly(groups), effects()).await.unwrap();
        assert_eq!(outcome, OperatorChangeOutcome::Done);
    }

    let operators = store.list_granted(user).await.unwrap();

    beta.groups = vec![DEFAULT, sales];
    alpha.groups = vec![DEFAULT];
    assert_eq!(operators, [alpha, beta]);
    assert!(store.list_granted(pia_kernel::UserId::generate()).await.unwrap().is_empty());

    execute(&db, "UPDATE accounts SET deactivated_at = created_at").await;
    assert!(store.list_granted(user).await.unwrap().is_empty());
}

async fn the_name_of_a_skill_is_unique_in_any_case(db: Database) {
    let store = SqlOperators::new(db.clone());
    let operators: Vec<_> = ["plan", "Plan", "PLAN", "pLan"].map(|it| operator("Plan", it)).into();

    let outcomes = join_all(operators.iter().map(|it| create(&db, it))).await;

    let count_of =
        |outcome: OperatorChangeOutcome| outcomes.iter().filter(|it| **it == outcome).count();
    assert_eq!(count_of(OperatorChangeOutcome::Done), 1);
    assert_eq!(count_of(OperatorChangeOutcome::NameTaken), 3);

    let renamed_operator = operator("Other", "other");
    assert_eq!(create(&db, &renamed_operator).await, OperatorChangeOutcome::Done);
    let skill = Some(Skill { name: "pLAN".to_owned(), ..brief() });
    let name = "Other".to_owned();
    let update = OperatorUpdate { name, is_active: Some(true), skill, at: at(1), expected: None };
    let outcome = store.update(renamed_operator.id, update, effects()).await.unwrap();
    assert_eq!(outcome, OperatorChangeOutcome::NameTaken);
    assert_eq!(store.list().await.unwrap()[0], renamed_operator);
}

async fn an_operator_is_changed(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom_operator = operator("Plan", "plan");
    assert_eq!(create(&db, &custom_operator).await, OperatorChangeOutcome::Done);
    let skill = Skill { name: "planning".to_owned(), ..brief() };
    let update = OperatorUpdate {
        name: "Planning".to_owned(),
        is_active: Some(false),
        skill: Some(skill.clone()),
        at: at(5),
        expected: None,
    };

    let unknown = OperatorId::generate();
    let change = async |id| store.update(id, update.clone(), effects()).await.unwrap();
    let delete = async |id| store.delete(id, effects()).await.unwrap();

    assert_eq!(change(unknown).await, OperatorChangeOutcome::NotFound);
    assert_eq!(change(custom_operator.id).await, OperatorChangeOutcome::Done);

    let mut expected = Operator {
        name: "Planning".to_owned(),
        is_active: false,
        skill,
        updated_at: at(5),
        ..custom_operator
    };
    assert_eq!(store.list().await.unwrap(), [expected.clone()]);

    let name = "Plans".to_owned();
    let stale = OperatorUpdate { expected: Some(custom_operator.updated_at), ..update.clone() };
    let stale_outcome = store.update(expected.id, stale, effects()).await.unwrap();
    assert_eq!(stale_outcome, OperatorChangeOutcome::Stale);
    let rename =
        OperatorUpdate { name, is_active: None, skill: None, at: at(5), expected: Some(at(5)) };
    let outcome = store.update(expected.id, rename, effects()).await.unwrap();
    assert_eq!(outcome, OperatorChangeOutcome::Done);
    "Plans".clone_into(&mut expected.name);
    assert_eq!(store.list().await.unwrap(), [expected]);

    assert_eq!(create(&db, &operator("Plan", "plan")).await, OperatorChangeOutcome::Done);
    assert_eq!(delete(unknown).await, OperatorChangeOutcome::NotFound);
    assert_eq!(delete(custom_operator.id).await, OperatorChangeOutcome::Done);
    assert_eq!(delete(custom_operator.id).await, OperatorChangeOutcome::NotFound);
    assert_eq!(store.list().await.unwrap().len(), 1);
}

async fn built_in_operators_keep_their_skill(db: Database) {
    let store = SqlOperators::new(db.clone());
    let built_in = Operator { is_custom: false, ..operator("Brief", "brief") };
    store.put_built_in(vec![built_in.clone()]).await.unwrap();
    let update = OperatorUpdate {
        name: "Mine".to_owned(),
        is_active: Some(true),
        skill: Some(brief()),
        at: at(1),
        expected: None,
    };

    let update_outcome = store.update(built_in.id, update, effects()).await.unwrap();
    let deletion_outcome = store.delete(built_in.id, effects()).await.unwrap();

    assert_eq!(update_outcome, OperatorChangeOutcome::BuiltIn);
    assert_eq!(deletion_outcome, OperatorChangeOutcome::BuiltIn);
    assert_eq!(store.list().await.unwrap(), [built_in]);
}

async fn unknown_groups_are_refused(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom_operator = operator("Plan", "plan");
    assert_eq!(create(&db, &custom_operator).await, OperatorChangeOutcome::Done);
    let grant = async |id, groups| {
        store.grant(id, GroupSelection::Exactly(groups), effects()).await.unwrap()
    };
    assert_eq!(grant(custom_operator.id, vec![DEFAULT]).await, OperatorChangeOutcome::Done);

    let of_unknown_group = grant(custom_operator.id, vec![DEFAULT, GroupId::generate()]).await;
    let in_unknown_group = Operator { groups: vec![GroupId::generate()], ..operator("New", "new") };

    assert_eq!(of_unknown_group, OperatorChangeOutcome::UnknownGroup);
    assert_eq!(create(&db, &in_unknown_group).await, OperatorChangeOutcome::UnknownGroup);
    let of_unknown_operator = grant(OperatorId::generate(), vec![DEFAULT]).await;
    assert_eq!(of_unknown_operator, OperatorChangeOutcome::NotFound);
    let expected = Operator { groups: vec![DEFAULT], ..custom_operator };
    assert_eq!(store.list().await.unwrap(), [expected]);
}

async fn concurrent_changes_of_groups_are_all_stored(db: Database) {
    let mut groups = Vec::new();
    for name in ["A", "B", "C", "D", "E", "F"] {
        groups.push(create_group(&db, name).await);
    }
    let in_default = Operator { groups: vec![DEFAULT], ..operator("Plan", "plan") };
    assert_eq!(create(&db, &in_default).await, OperatorChangeOutcome::Done);

    let id = in_default.id;
    let changes = groups.iter().map(|&group| {
        let change = GroupSelection::Changed { added: vec![group], removed: vec![DEFAULT] };
        let instance = SqlOperators::new(db.clone());
        async move { instance.grant(id, change, effects()).await.unwrap() }
    });
    let outcomes = join_all(changes).await;

    assert_eq!(outcomes, [OperatorChangeOutcome::Done; 6]);
    assert_eq!(SqlOperators::new(db.clone()).list().await.unwrap()[0].groups, groups);
}

async fn a_deleted_group_loses_its_operators(db: Database) {
    let store = SqlOperators::new(db.clone());
    let custom_operator = operator("Plan", "plan");
    let sales = create_group(&db, "Sales").await;
    let in_sales = Operator { groups: vec![sales], ..custom_operator.clone() };
    assert_eq!(create(&db, &in_sales).await, OperatorChangeOutcome::Done);
    assert_eq!(store.list().await.unwrap()[0].groups, [sales]);

    execute(&db, "DELETE FROM user_groups WHERE name = 'Sales'").await;

    assert_eq!(store.list().await.unwrap(), [custom_operator]);
}
