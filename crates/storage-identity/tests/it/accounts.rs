//! Contract tests of finding and changing accounts.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{AccountStore, CallerState, CustomerType, SessionStore, TokenHash};
use pia_kernel::{Secret, SessionId, SideEffects, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlSessions};

use crate::people::{
    HOUR, START, count_audited, create_person, deactivate, new_session, nothing, remove,
};

pia_testkit::contract! {
    an_address_is_found_in_any_spelling,
    a_deactivated_account_cannot_sign_in,
    one_of_concurrent_rehashes_of_one_hash_succeeds,
    a_declaration_is_stored_with_its_effects,
    a_declaration_of_a_missing_account_is_reported_without_effects,
    a_caller_is_valid_while_session_and_account_are,
    a_session_is_valid_for_its_own_user_alone,
}

async fn an_address_is_found_in_any_spelling(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let user = create_person(&db, "Jürgen@Example.org").await;

    let credentials = accounts.by_email(" JÜRGEN@example.ORG ").await.unwrap().unwrap();

    assert_eq!(credentials.account.user, user);
    assert_eq!(credentials.account.email, "Jürgen@Example.org");
    assert_eq!(credentials.password_hash.unwrap().expose(), "first");
    assert!(accounts.by_email("j_rgen@example.org").await.unwrap().is_none());
}

async fn a_deactivated_account_cannot_sign_in(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;

    deactivate(&db, user).await;

    assert!(accounts.by_email("ada@example.org").await.unwrap().is_none());
}

async fn one_of_concurrent_rehashes_of_one_hash_succeeds(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    let old_hash = Secret::new("first".to_owned());
    let new: Vec<_> = (0..16).map(|n| Secret::new(format!("second {n}"))).collect();

    let outcomes = join_all(new.iter().map(|new| accounts.rehash(user, &old_hash, new))).await;
    let stored_hash =
        accounts.by_email("ada@example.org").await.unwrap().unwrap().password_hash.unwrap();
    accounts.rehash(user, &old_hash, &Secret::new("third".to_owned())).await.unwrap();

    assert!(outcomes.iter().all(Result::is_ok));
    assert!(stored_hash.expose().starts_with("second "));
    let later_hash =
        accounts.by_email("ada@example.org").await.unwrap().unwrap().password_hash.unwrap();
    assert_eq!(later_hash.expose(), stored_hash.expose());
}

async fn a_declaration_is_stored_with_its_effects(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;

    let effects = SideEffects::audit(START, user, "declared");
    let is_declared =
        accounts.declare(user, CustomerType::Business, "Engines", effects).await.unwrap();

    let account = accounts.find(user).await.unwrap().unwrap();
    assert!(is_declared);
    assert_eq!(account.customer, CustomerType::Business);
    assert_eq!(account.company_name.as_deref(), Some("Engines"));
    assert_eq!(count_audited(&db, user, "declared").await, 1);
}

async fn a_declaration_of_a_missing_account_is_reported_without_effects(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let missing_user = UserId::generate();

    let effects = SideEffects::audit(START, missing_user, "declared");
    let is_declared =
        accounts.declare(missing_user, CustomerType::Business, "", effects).await.unwrap();

    assert!(!is_declared);
    assert_eq!(count_audited(&db, missing_user, "declared").await, 0);
}

/// Starts a session of the user that lasts an hour.
async fn start_session(db: &Database, user: UserId, token: u8) -> SessionId {
    let new = new_session(user, TokenHash([token; 32]), START);
    let session = new.session;
    let sessions = SqlSessions::new(db.clone());
    sessions.begin(new, 10, SideEffects::default(), nothing()).await.unwrap();
    session
}

async fn a_caller_is_valid_while_session_and_account_are(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let users = [create_person(&db, "a@b.org").await, create_person(&db, "c@d.org").await];
    let [gone, inactive] = users;
    let sessions = [start_session(&db, gone, 1).await, start_session(&db, inactive, 2).await];

    for (user, session) in users.into_iter().zip(sessions) {
        let last_moment = START + HOUR - Duration::from_micros(1);
        let during = accounts.caller_state(user, session, last_moment).await.unwrap();
        let state_after_expiry = accounts.caller_state(user, session, START + HOUR).await.unwrap();

        let customer = CustomerType::NotDeclared;
        assert_eq!(
            during,
            Some(CallerState {
                customer,
                email_verified: false,
                ..CallerState::new(user, session)
            })
        );
        assert_eq!(state_after_expiry, None);
    }
    remove(&db, gone).await;
    deactivate(&db, inactive).await;
    for (user, session) in users.into_iter().zip(sessions) {
        assert_eq!(accounts.caller_state(user, session, START).await.unwrap(), None);
    }
}

async fn a_session_is_valid_for_its_own_user_alone(db: Database) {
    let accounts = SqlAccounts::new(db.clone());
    let ada = create_person(&db, "a@b.org").await;
    let bob = create_person(&db, "c@d.org").await;
    let adas_session = start_session(&db, ada, 1).await;

    let state = accounts.caller_state(bob, adas_session, START).await.unwrap();

    assert_eq!(state, None);
}
