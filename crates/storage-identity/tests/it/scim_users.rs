//! Users that SCIM clients manage.

use futures_util::future::join_all;
use pia_identity::{
    AccountStore, ActivationChange, DeactivationOutcome, EmailTokenPurpose, NewScimUser,
    PasswordReset, PasswordStore, Provider, ProviderAccounts, ProviderIdentity, ProvisionedSignIn,
    Role, RoleStore, ScimUser, ScimUserAttributes, ScimUserChange, ScimUserChangeOutcome,
    ScimUserCondition, ScimUserCreationOutcome, ScimUserEdit, ScimUserQuery, ScimUserStore,
    ScimUserText, SeatLimits, TakenAttribute, TextMatch, TokenHash,
};
use pia_kernel::{Secret, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{
    SqlAccounts, SqlPasswords, SqlProviderAccounts, SqlRoles, SqlScimUsers,
};

use crate::mailed_tokens;
use crate::people::{HOUR, START, count_audited, create_person, deactivate};

pia_testkit::contract! {
    an_account_is_listed_under_its_address_until_a_client_names_it,
    a_created_user_is_an_account_without_a_credential,
    names_ids_and_addresses_are_unique,
    of_many_who_create_one_user_at_once_one_does,
    of_many_changes_at_once_none_is_lost,
    a_change_of_another_version_is_refused,
    an_administrators_address_stays,
    a_change_happens_with_the_deactivation_or_not_at_all,
    only_users_without_an_administrative_role_are_reactivated,
    a_new_address_is_as_verified_as_the_one_before,
    a_deleted_user_is_hidden_and_restored_with_their_account,
    conditions_select_users,
    a_part_of_an_address_is_found_in_either_spelling,
    no_seat_no_user,
    an_inactive_user_takes_no_seat,
    of_many_first_sign_ins_at_a_provider_one_is_linked,
    the_first_password_of_a_created_user_makes_the_account_local,
}

fn user_name(name: &str) -> ScimUserChange {
    ScimUserChange::UserName(name.to_owned())
}

fn new_user(changes: &[ScimUserChange]) -> NewScimUser {
    let attributes = ScimUserAttributes::new(changes).unwrap();
    NewScimUser { user: UserId::generate(), attributes, is_active: true, created_at: START }
}

async fn create(store: &SqlScimUsers, new: NewScimUser) -> ScimUserCreationOutcome {
    let effects = SideEffects::about(START, new.user, "ScimUser.Created");
    store.create(new, None, effects).await.unwrap()
}

fn edit(user: UserId, changes: Vec<ScimUserChange>) -> ScimUserEdit {
    let at = START + HOUR;
    let effects = SideEffects::about(START + HOUR, user, "ScimUser.Updated");
    ScimUserEdit { user, expected: None, changes, activation: None, at, effects }
}

async fn change(store: &SqlScimUsers, edit: ScimUserEdit) -> ScimUser {
    match store.change(edit).await.unwrap() {
        ScimUserChangeOutcome::Done(user) => *user,
        refused => panic!("{refused:?}"),
    }
}

async fn names(store: &SqlScimUsers, conditions: &[ScimUserCondition]) -> Vec<String> {
    let query = ScimUserQuery { conditions: conditions.to_vec(), offset: 0, limit: 100 };
    let page = store.list(query).await.unwrap();
    assert_eq!(page.total, page.users.len() as u64);
    page.users.into_iter().map(|it| it.attributes.user_name).collect()
}

async fn an_account_is_listed_under_its_address_until_a_client_names_it(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let user = create_person(&db, "Ada@Example.org").await;
    assert_eq!(names(&store, &[]).await, ["Ada@Example.org"]);

    let changes = vec![
        user_name("ada"),
        ScimUserChange::ExternalId(Some("00u1".to_owned())),
        ScimUserChange::GivenName(Some("Ada".to_owned())),
    ];
    let previous_user = change(&store, edit(user, changes)).await;

    assert_eq!(store.find(user).await.unwrap(), Some(previous_user.clone()));
    assert_eq!(previous_user.attributes.user_name, "ada");
    assert_eq!(previous_user.updated_at, START + HOUR);
    assert_eq!(previous_user.attributes.email, "Ada@Example.org");
    assert_eq!(count_audited(&db, user, "ScimUser.Updated").await, 1);
    change(&store, edit(user, vec![user_name("ada")])).await;
    assert_eq!(count_audited(&db, user, "ScimUser.Updated").await, 1);
}

async fn a_created_user_is_an_account_without_a_credential(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let new = new_user(&[user_name("ada@example.org")]);
    assert_eq!(create(&store, new.clone()).await, ScimUserCreationOutcome::Stored);

    let stored_user = store.find(new.user).await.unwrap().unwrap();
    assert_eq!(stored_user.attributes, new.attributes);
    assert!(stored_user.is_active);
    let account = SqlAccounts::new(db.clone()).by_email("ADA@example.org").await.unwrap().unwrap();
    assert_eq!(account.account.provider, "scim");
    assert!(account.password_hash.is_none() && account.account.email_verified_at.is_some());
    assert_eq!(count_audited(&db, new.user, "ScimUser.Created").await, 1);
}

async fn names_ids_and_addresses_are_unique(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let other_user = create_person(&db, "eve@example.org").await;
    let id = ScimUserChange::ExternalId(Some("00u1".to_owned()));
    let ada = new_user(&[user_name("ada@example.org"), id.clone()]);
    create(&store, ada.clone()).await;
    let email = |it: &str| ScimUserChange::Email(it.to_owned());

    for (changes, taken) in [
        (vec![user_name("x"), email("ADA@example.org")], TakenAttribute::Email),
        (vec![user_name("ADA@example.org"), email("x@example.org")], TakenAttribute::UserName),
        (vec![user_name("eve@example.org"), email("x@example.org")], TakenAttribute::UserName),
        (vec![user_name("y@example.org"), id], TakenAttribute::ExternalId),
    ] {
        let creation_outcome = create(&store, new_user(&changes)).await;
        assert_eq!(creation_outcome, ScimUserCreationOutcome::Taken(taken), "{changes:?}");
        // Eve may have her own name.
        if !changes.contains(&user_name("eve@example.org")) {
            let change_outcome = store.change(edit(other_user, changes)).await.unwrap();
            assert_eq!(change_outcome, ScimUserChangeOutcome::Taken(taken));
        }
    }
}

async fn of_many_who_create_one_user_at_once_one_does(db: Database) {
    let store = SqlScimUsers::new(db.clone());

    let calls = (0..16).map(|it| {
        let email = ScimUserChange::Email(format!("{it}@example.org"));
        create(&store, new_user(&[user_name("ada"), email]))
    });
    let outcomes = join_all(calls).await;

    let stored_count = outcomes.iter().filter(|it| **it == ScimUserCreationOutcome::Stored).count();
    assert_eq!(stored_count, 1);
    assert_eq!(names(&store, &[]).await.len(), 1);
}

async fn of_many_changes_at_once_none_is_lost(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    let text = |it: &str| Some(it.to_owned());

    let calls = (0..20).map(|it| {
        let change = match it % 4 {
            0 => ScimUserChange::ExternalId(text("00u1")),
            1 => ScimUserChange::GivenName(text("Ada")),
            2 => ScimUserChange::FamilyName(text("Lovelace")),
            _ => ScimUserChange::DisplayName(text("Countess")),
        };
        store.change(edit(user, vec![change]))
    });
    join_all(calls).await.into_iter().for_each(|it| assert!(it.is_ok()));

    let attributes = store.find(user).await.unwrap().unwrap().attributes;
    assert_eq!(attributes.external_id, text("00u1"));
    assert_eq!(attributes.given_name, text("Ada"));
    assert_eq!(attributes.family_name, text("Lovelace"));
    assert_eq!(attributes.display_name, text("Countess"));
    assert_eq!(count_audited(&db, user, "ScimUser.Updated").await, 4);
}

async fn a_change_of_another_version_is_refused(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    let expected = Some(store.find(user).await.unwrap().unwrap().version());

    let calls = (0..8).map(|it| {
        let name = ScimUserChange::DisplayName(Some(format!("Ada {it}")));
        store.change(ScimUserEdit { expected: expected.clone(), ..edit(user, vec![name]) })
    });
    let outcomes = join_all(calls).await;

    let stale =
        outcomes.into_iter().filter(|it| *it.as_ref().unwrap() == ScimUserChangeOutcome::Stale);
    assert_eq!(stale.count(), 7);
}

async fn an_administrators_address_stays(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    let roles = SqlRoles::new(db.clone());
    roles.set_role(user, Role::KbManager, None, SideEffects::default()).await.unwrap();

    let email = vec![ScimUserChange::Email("eve@example.org".to_owned())];
    let refused_outcome = store.change(edit(user, email)).await.unwrap();
    let name = vec![ScimUserChange::DisplayName(Some("Ada".to_owned()))];

    assert_eq!(refused_outcome, ScimUserChangeOutcome::Privileged);
    assert_eq!(change(&store, edit(user, name)).await.attributes.email, "ada@example.org");
}

async fn a_change_happens_with_the_deactivation_or_not_at_all(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let roles = SqlRoles::new(db.clone());
    let admins =
        [create_person(&db, "ada@example.org").await, create_person(&db, "eve@example.org").await];
    for user in admins {
        roles.set_role(user, Role::Admin, None, SideEffects::default()).await.unwrap();
    }
    let name = vec![ScimUserChange::DisplayName(Some("Countess".to_owned()))];

    let calls = admins.map(|user| {
        let effects = SideEffects::about(START, user, "account.deactivated");
        let activation = Some(ActivationChange::Deactivate(effects));
        store.change(ScimUserEdit { activation, ..edit(user, name.clone()) })
    });
    let outcomes = join_all(calls).await;

    let last =
        outcomes.iter().filter(|it| *it.as_ref().unwrap() == ScimUserChangeOutcome::LastAdmin);
    assert_eq!(last.count(), 1, "{outcomes:?}");
    for user in admins {
        let it = store.find(user).await.unwrap().unwrap();
        let is_changed = it.attributes.display_name.as_deref() == Some("Countess");
        assert_eq!(is_changed, !it.is_active, "{it:?}");
        let audited = count_audited(&db, user, "account.deactivated").await;
        assert_eq!(audited, i64::from(!it.is_active));
    }
}

async fn only_users_without_an_administrative_role_are_reactivated(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let roles = SqlRoles::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    deactivate(&db, user).await;
    let activation = ActivationChange::Reactivate(SeatLimits::default(), SideEffects::default());
    let reactivation = ScimUserEdit { activation: Some(activation), ..edit(user, Vec::new()) };

    roles.set_role(user, Role::OrgManager, None, SideEffects::default()).await.unwrap();
    let refused_outcome = store.change(reactivation.clone()).await.unwrap();
    roles.set_role(user, Role::User, None, SideEffects::default()).await.unwrap();

    assert_eq!(refused_outcome, ScimUserChangeOutcome::Privileged);
    assert!(change(&store, reactivation).await.is_active);
}

async fn a_new_address_is_as_verified_as_the_one_before(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let roles = SqlRoles::new(db.clone());
    let unverified = create_person(&db, "ada@example.org").await;
    let new_account = new_user(&[user_name("bob@example.org")]);
    create(&store, new_account.clone()).await;

    let is_verified = async |user, email: &str| {
        let email = ScimUserChange::Email(email.to_owned());
        let email = change(&store, edit(user, vec![email])).await.attributes.email;
        roles.member(&email).await.unwrap().unwrap().email_verified_at.is_some()
    };

    assert!(!is_verified(unverified, "Ada@example.org").await);
    assert!(!is_verified(unverified, "eve@example.org").await);
    assert!(is_verified(new_account.user, "rob@example.org").await);
}

async fn a_deleted_user_is_hidden_and_restored_with_their_account(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    let id = ScimUserChange::ExternalId(Some("00u1".to_owned()));
    let ada = new_user(&[user_name("ada@example.org"), id.clone()]);
    create(&store, ada.clone()).await;
    let roles = SqlRoles::new(db.clone());
    let deactivated = roles.deactivate(ada.user, START, SideEffects::default()).await.unwrap();
    assert_eq!(deactivated, DeactivationOutcome::Done);

    let gone = SideEffects::default();
    assert!(store.withdraw(ada.user, START, gone.clone()).await.unwrap());
    assert!(!store.withdraw(ada.user, START, gone).await.unwrap());
    assert_eq!(store.find(ada.user).await.unwrap(), None);
    assert_eq!(names(&store, &[]).await, Vec::<String>::new());
    let change_outcome = store.change(edit(ada.user, vec![user_name("x")])).await.unwrap();
    assert_eq!(change_outcome, ScimUserChangeOutcome::Unknown);

    let repeated_outcome = create(&store, new_user(&[user_name("ada@example.org"), id])).await;
    assert_eq!(repeated_outcome, ScimUserCreationOutcome::Restored(ada.user));
    let restored_user = store.find(ada.user).await.unwrap().unwrap();
    assert_eq!(restored_user.attributes, ada.attributes);
    assert!(!restored_user.is_active);
}

async fn a_part_of_an_address_is_found_in_either_spelling(db: Database) {
    let store = SqlScimUsers::new(db.clone());
    create_person(&db, "eve@example.org").await;
    create_person(&db, "ada@bücher.example").await;

    for attribute in [ScimUserText::UserName, ScimUserText::Email] {
        for part in ["@BÜCHER", "@xn--bcher"] {
            let text = ScimUserCondition::Text(attribute, TextMatch::Contains, part.to_owned());
            assert_eq!(names(&store, &[text]).await, ["ada@bücher.example"], "{part}");
        }
    }
}

async fn conditions_select_users(db: Database) {
    use ScimUserCondition::{Active, ChangedAfter, Id, Never, Present, Text};
    let store = SqlScimUsers::new(db.clone());
    let eve = create_person(&db, "eve@example.org").await;
    let ada = new_user(&[
        user_name("ada_l"),
        ScimUserChange::Email("ada@example.com".to_owned()),
        ScimUserChange::ExternalId(Some("00u1A".to_owned())),
        ScimUserChange::DisplayName(Some("Ada Lovelace".to_owned())),
        ScimUserChange::GivenName(Some("Ada".to_owned())),
        ScimUserChange::FamilyName(Some("Lovelace".to_owned())),
    ]);
    create(&store, ada.clone()).await;
    let roles = SqlRoles::new(db.clone());
    roles.deactivate(eve, START, SideEffects::default()).await.unwrap();
    let text = |attribute, how, text: &str| Text(attribute, how, text.to_owned());
    let eve_name = "eve@example.org";
    let ada_name = "ada_l";

    for (conditions, expected) in [
        (vec![Id(eve)], vec![eve_name]),
        (vec![Never], vec![]),
        (vec![Active(true)], vec![ada_name]),
        (vec![Active(false)], vec![eve_name]),
        (vec![text(ScimUserText::UserName, TextMatch::Equals, "ADA_L")], vec![ada_name]),
        (vec![text(ScimUserText::UserName, TextMatch::Equals, "EVE@example.org")], vec![eve_name]),
        (vec![text(ScimUserText::UserName, TextMatch::StartsWith, "ada_")], vec![ada_name]),
        (vec![text(ScimUserText::UserName, TextMatch::Contains, "%")], vec![]),
        (vec![text(ScimUserText::UserName, TextMatch::EndsWith, ".ORG")], vec![eve_name]),
        (vec![text(ScimUserText::Email, TextMatch::Equals, "ada@EXAMPLE.com")], vec![ada_name]),
        (
            vec![text(ScimUserText::Email, TextMatch::Contains, "@example")],
            vec![eve_name, ada_name],
        ),
        (vec![text(ScimUserText::ExternalId, TextMatch::Equals, "00u1A")], vec![ada_name]),
        (vec![text(ScimUserText::ExternalId, TextMatch::Equals, "00U1a")], vec![]),
        (vec![text(ScimUserText::DisplayName, TextMatch::Equals, "ada lovelace")], vec![ada_name]),
        (vec![text(ScimUserText::GivenName, TextMatch::StartsWith, "AD")], vec![ada_name]),
        (vec![text(ScimUserText::FamilyName, TextMatch::EndsWith, "lace")], vec![ada_name]),
        (vec![Present(ScimUserText::GivenName)], vec![ada_name]),
        (vec![Present(ScimUserText::UserName), Active(false)], vec![eve_name]),
        (vec![ChangedAfter(START)], vec![]),
        (vec![ChangedAfter(Timestamp::from_micros(-1))], vec![eve_name, ada_name]),
    ] {
        assert_eq!(names(&store, &conditions).await, expected, "{conditions:?}");
    }

    let query_of_second = ScimUserQuery { conditions: vec![], offset: 1, limit: 1 };
    let page = store.list(query_of_second).await.unwrap();
    assert_eq!(page.total, 2);
    assert_eq!(page.users[0].user, ada.user);
}

async fn an_inactive_user_takes_no_seat(db: Database) {
    let store = SqlScimUsers::new(db);
    let new = NewScimUser { is_active: false, ..new_user(&[user_name("ada@example.org")]) };
    let effects = SideEffects::about(START, new.user, "ScimUser.Created");

    let creation_outcome = store.create(new.clone(), Some(0), effects).await.unwrap();

    assert_eq!(creation_outcome, ScimUserCreationOutcome::Stored);
    assert!(!store.find(new.user).await.unwrap().unwrap().is_active);
}

async fn of_many_first_sign_ins_at_a_provider_one_is_linked(db: Database) {
    let ada = new_user(&[user_name("ada@example.org")]);
    create(&SqlScimUsers::new(db.clone()), ada.clone()).await;
    let other_user = create_person(&db, "eve@example.org").await;
    let accounts = SqlProviderAccounts::new(db.clone());
    let sign_in = |email: &str, subject: String| ProvisionedSignIn {
        provider: Provider::EntraId,
        identity: ProviderIdentity { issuer: "https://issuer".to_owned(), subject },
        email: email.to_owned(),
        at: START,
        effects: |user, at| SideEffects::about(at, user, "linked"),
    };

    let calls =
        (0..16).map(|it| accounts.link_provisioned(sign_in("ADA@example.org", it.to_string())));
    let linked: Vec<_> = join_all(calls).await.into_iter().filter_map(Result::unwrap).collect();
    let local = accounts.link_provisioned(sign_in("eve@example.org", "eve".to_owned())).await;

    let [account] = linked.as_slice() else { panic!("{linked:?}") };
    assert_eq!(account.user, ada.user);
    assert_eq!(account.provider, "entraid");
    assert_eq!(local.unwrap(), None);
    assert_eq!(count_audited(&db, ada.user, "linked").await, 1);
    assert_eq!(count_audited(&db, other_user, "linked").await, 0);
}

async fn the_first_password_of_a_created_user_makes_the_account_local(db: Database) {
    let ada = new_user(&[user_name("ada@example.org")]);
    create(&SqlScimUsers::new(db.clone()), ada.clone()).await;
    mailed_tokens::put(&db, ada.user, mailed_tokens::token(1, EmailTokenPurpose::PasswordReset))
        .await;

    let reset = PasswordReset {
        user: ada.user,
        token: TokenHash([1; 32]),
        password_hash: Secret::new("a hash".to_owned()),
        at: START,
        effects: SideEffects::default(),
        if_ended: |user, at| SideEffects::about(at, user, "ended"),
    };
    assert!(SqlPasswords::new(db.clone()).reset(reset).await.unwrap());

    let account = SqlAccounts::new(db.clone()).by_email("ada@example.org").await.unwrap().unwrap();
    assert_eq!(account.account.provider, "local");
    assert!(account.password_hash.is_some());
}

async fn no_seat_no_user(db: Database) {
    let store = SqlScimUsers::new(db.clone());

    let calls = (0..8).map(|it| {
        let new = new_user(&[user_name(&format!("{it}@example.org"))]);
        store.create(new, Some(3), SideEffects::default())
    });
    let outcomes = join_all(calls).await;

    let stored_outcomes =
        outcomes.into_iter().filter(|it| *it.as_ref().unwrap() == ScimUserCreationOutcome::Stored);
    assert_eq!(stored_outcomes.count(), 3);
    assert_eq!(names(&store, &[]).await.len(), 3);
}
