//! Contract tests of app passwords, and of sessions that start with one.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{
    AccountStore, AppPasswordHash, AppPasswordRemoval, AppPasswordStore, CredentialStoreOutcome,
    FactorChange, FactorStore, NewAppPassword, NewSession, RecoveryHash, SessionRef, SessionScope,
    SessionStarts, SessionStore, Step, TokenHash, VerifiedProof,
};
use pia_kernel::{AppPasswordId, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{
    SqlAccounts, SqlAppPasswords, SqlFactors, SqlSessionStarts, SqlSessions,
};

use crate::people::{
    START, count_audited, create_person, deactivate, fresh, new_session, nothing, remove,
};

pia_testkit::contract! {
    an_app_password_is_found_for_its_owner_only,
    concurrent_app_passwords_respect_the_limit,
    a_recovery_code_creates_one_app_password,
    without_a_factor_no_code_is_accepted,
    a_session_of_an_app_password_is_restricted_and_ends_with_it,
    a_foreign_app_password_is_not_deleted,
    a_deleted_or_deactivated_account_gets_no_app_password,
    app_passwords_are_deleted_with_their_account,
    a_sessions_start_is_found_by_its_owner,
    a_proof_is_stored_with_the_session_of_its_owner,
    an_ended_or_foreign_session_creates_no_app_password,
    sessions_of_app_passwords_are_evicted_before_those_of_their_owner,
}

/// Creates an app password in a session of its own.
async fn new(db: &Database, user: UserId, number: u8) -> NewAppPassword {
    new_in(begin(db, user, 100 + number, None).await, user, number)
}

fn new_in(session: SessionId, user: UserId, number: u8) -> NewAppPassword {
    let at = START + Duration::from_secs(number.into());
    let hash = AppPasswordHash([number; 32]);
    let by = SessionRef { user, session };
    NewAppPassword { id: AppPasswordId::generate(), by, name: format!("app {number}"), hash, at }
}

fn addition_effects(user: UserId) -> SideEffects {
    SideEffects::audit(START, user, "added")
}

fn removal_effects(user: UserId, at: Timestamp, name: &str) -> SideEffects {
    assert_eq!(name, "app 1");
    SideEffects::audit(at, user, "removed")
}

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "ended")
}

async fn add(
    db: &Database,
    new: NewAppPassword,
    verified: VerifiedProof,
) -> CredentialStoreOutcome {
    let effects = addition_effects(new.by.user);
    SqlAppPasswords::new(db.clone()).add(new, 3, verified, effects).await.unwrap()
}

async fn names(db: &Database, user: UserId) -> Vec<String> {
    let entries = SqlAppPasswords::new(db.clone()).list(user).await.unwrap();
    entries.into_iter().map(|it| it.name).collect()
}

async fn begin(db: &Database, user: UserId, token: u8, with: Option<AppPasswordId>) -> SessionId {
    let at = START + Duration::from_secs(token.into());
    let started =
        NewSession { app_password: with, ..new_session(user, TokenHash([token; 32]), at) };
    let new = fresh(db, started).await;
    let session = new.session;
    SqlSessions::new(db.clone()).begin(new, 10, SideEffects::default(), nothing()).await.unwrap();
    session
}

async fn an_app_password_is_found_for_its_owner_only(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let first_password = new(&db, ada, 1).await;
    let second_password = new(&db, ada, 2).await;
    let id = first_password.id;
    let passwords = SqlAppPasswords::new(db.clone());

    let outcomes = [
        add(&db, second_password, VerifiedProof::Password).await,
        add(&db, first_password, VerifiedProof::SignIn).await,
    ];

    assert_eq!(outcomes, [CredentialStoreOutcome::Done; 2]);
    let find = async |user, byte| passwords.find(user, AppPasswordHash([byte; 32])).await.unwrap();
    assert_eq!(find(ada, 1).await, Some(id));
    assert_eq!(find(bob, 1).await, None);
    assert_eq!(find(ada, 9).await, None);
    assert_eq!(names(&db, ada).await, ["app 1", "app 2"], "in the order they were made");
    assert_eq!(names(&db, bob).await, Vec::<String>::new());
    assert_eq!(count_audited(&db, ada, "added").await, 2);
}

async fn concurrent_app_passwords_respect_the_limit(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let session = begin(&db, ada, 100, None).await;

    let outcomes = join_all(
        (0..16).map(|number| add(&db, new_in(session, ada, number), VerifiedProof::Password)),
    )
    .await;

    let stored_count = outcomes.iter().filter(|it| **it == CredentialStoreOutcome::Done).count();
    assert_eq!(stored_count, 3);
    assert_eq!(names(&db, ada).await.len(), 3);
    assert_eq!(outcomes.iter().filter(|it| **it == CredentialStoreOutcome::Full).count(), 13);
    assert_eq!(count_audited(&db, ada, "added").await, 3);
}

async fn factor_on(db: &Database, user: UserId, code: RecoveryHash) {
    let factors = SqlFactors::new(db.clone());
    factors.begin(user, b"sealed", START).await.unwrap();
    let session = begin(db, user, 99, None).await;
    let change = FactorChange {
        user,
        session,
        at: START,
        effects: SideEffects::default(),
        if_ended: end_effects,
    };

    assert!(factors.enable(change, b"sealed", Step(1), &[code]).await.unwrap());
}

async fn a_recovery_code_creates_one_app_password(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let code = RecoveryHash([7; 32]);
    factor_on(&db, ada, code).await;
    let session = begin(&db, ada, 100, None).await;

    let calls = (0..16)
        .map(|number| add(&db, new_in(session, ada, number), VerifiedProof::RecoveryCode(code)));
    let by_paper = join_all(calls).await;
    let by_used_code = add(&db, new(&db, ada, 17).await, VerifiedProof::Code(Step(1))).await;
    let by_code = add(&db, new(&db, ada, 18).await, VerifiedProof::Code(Step(2))).await;

    assert_eq!(by_paper.iter().filter(|it| **it == CredentialStoreOutcome::Done).count(), 1);
    assert_eq!(by_paper.iter().filter(|it| **it == CredentialStoreOutcome::Stale).count(), 15);
    assert_eq!(by_used_code, CredentialStoreOutcome::Stale);
    assert_eq!(by_code, CredentialStoreOutcome::Done);
}

async fn without_a_factor_no_code_is_accepted(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    let by_code = add(&db, new(&db, ada, 1).await, VerifiedProof::Code(Step(1))).await;
    let by_paper =
        add(&db, new(&db, ada, 2).await, VerifiedProof::RecoveryCode(RecoveryHash([7; 32]))).await;

    assert_eq!(by_code, CredentialStoreOutcome::Stale);
    assert_eq!(by_paper, CredentialStoreOutcome::Stale);
}

async fn a_session_of_an_app_password_is_restricted_and_ends_with_it(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let first_password = new(&db, ada, 1).await;
    let other_password = new(&db, ada, 2).await;
    let id = first_password.id;
    let other_id = other_password.id;
    add(&db, first_password, VerifiedProof::Password).await;
    add(&db, other_password, VerifiedProof::Password).await;
    let accounts = SqlAccounts::new(db.clone());
    let passwords = SqlAppPasswords::new(db.clone());
    let sessions = [
        begin(&db, ada, 10, Some(id)).await,
        begin(&db, ada, 11, Some(id)).await,
        begin(&db, ada, 12, Some(other_id)).await,
        begin(&db, ada, 13, None).await,
    ];
    let scope = async |session| {
        accounts.caller_state(ada, session, START).await.unwrap().map(|it| it.scope)
    };
    let previous_scopes = [scope(sessions[0]).await, scope(sessions[3]).await];
    let last_use = passwords.list(ada).await.unwrap()[0].used_at;

    let removal = AppPasswordRemoval { user: ada, id, at: START };
    let was_removed = passwords.remove(removal, removal_effects, end_effects).await.unwrap();
    let removed_again = passwords.remove(removal, removal_effects, end_effects).await.unwrap();

    assert_eq!(previous_scopes, [Some(SessionScope::Data), Some(SessionScope::Full)]);
    assert_eq!(last_use, Some(START + Duration::from_secs(11)));
    assert!(was_removed);
    assert!(!removed_again);
    assert_eq!(scope(sessions[0]).await, None);
    assert_eq!(scope(sessions[1]).await, None);
    assert_eq!(scope(sessions[2]).await, Some(SessionScope::Data));
    assert_eq!(scope(sessions[3]).await, Some(SessionScope::Full));
    assert_eq!(count_audited(&db, ada, "ended").await, 2);
    assert_eq!(count_audited(&db, ada, "removed").await, 1);
}

async fn a_foreign_app_password_is_not_deleted(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let first_password = new(&db, ada, 1).await;
    let id = first_password.id;
    add(&db, first_password, VerifiedProof::Password).await;

    let removal = AppPasswordRemoval { user: bob, id, at: START };
    let was_removed =
        SqlAppPasswords::new(db.clone()).remove(removal, removal_effects, end_effects).await;

    assert!(!was_removed.unwrap());
    assert_eq!(names(&db, ada).await, ["app 1"]);
}

async fn a_deleted_or_deactivated_account_gets_no_app_password(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let first_password = new(&db, ada, 1).await;
    deactivate(&db, ada).await;

    let deactivated = add(&db, first_password, VerifiedProof::Password).await;
    let password_of_missing_user = new_in(SessionId::generate(), UserId::generate(), 2);
    let missing_outcome = add(&db, password_of_missing_user, VerifiedProof::Password).await;

    assert_eq!(deactivated, CredentialStoreOutcome::Gone);
    assert_eq!(missing_outcome, CredentialStoreOutcome::Gone);
}

async fn app_passwords_are_deleted_with_their_account(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let first_password = new(&db, ada, 1).await;
    let id = first_password.id;
    add(&db, first_password, VerifiedProof::Password).await;
    begin(&db, ada, 10, Some(id)).await;

    remove(&db, ada).await;

    assert_eq!(names(&db, ada).await, Vec::<String>::new());
}

async fn a_sessions_start_is_found_by_its_owner(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let session = begin(&db, ada, 3, None).await;
    let starts = SqlSessionStarts::new(db.clone());

    let own_proof_time = starts.proved_at(SessionRef { user: ada, session }).await.unwrap();
    let foreign_proof_time = starts.proved_at(SessionRef { user: bob, session }).await.unwrap();

    assert_eq!(own_proof_time, Some(START + Duration::from_secs(3)));
    assert_eq!(foreign_proof_time, None);
}

async fn a_proof_is_stored_with_the_session_of_its_owner(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let session = begin(&db, ada, 3, None).await;
    let other_session = begin(&db, ada, 4, None).await;
    let starts = SqlSessionStarts::new(db.clone());
    let at = START + Duration::from_mins(30);

    starts.prove(SessionRef { user: bob, session }, START + Duration::from_mins(1)).await.unwrap();
    let unproved = starts.proved_at(SessionRef { user: ada, session }).await.unwrap();
    starts.prove(SessionRef { user: ada, session }, at).await.unwrap();
    let proved = starts.proved_at(SessionRef { user: ada, session }).await.unwrap();
    let neighbour =
        starts.proved_at(SessionRef { user: ada, session: other_session }).await.unwrap();

    assert_eq!(unproved, Some(START + Duration::from_secs(3)));
    assert_eq!(proved, Some(at));
    assert_eq!(neighbour, Some(START + Duration::from_secs(4)));
}

async fn an_ended_or_foreign_session_creates_no_app_password(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let bobs_session = begin(&db, bob, 1, None).await;
    let expired_session = begin(&db, ada, 2, None).await;
    let late_password =
        NewAppPassword { at: START + Duration::from_hours(2), ..new_in(expired_session, ada, 2) };

    let password_of_unknown_session = new_in(SessionId::generate(), ada, 1);
    for new_password in [password_of_unknown_session, new_in(bobs_session, ada, 1), late_password] {
        assert_eq!(
            add(&db, new_password, VerifiedProof::Password).await,
            CredentialStoreOutcome::Gone
        );
    }

    assert_eq!(names(&db, ada).await, Vec::<String>::new());
}

async fn sessions_of_app_passwords_are_evicted_before_those_of_their_owner(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let app = new(&db, ada, 1).await;
    let id = app.id;
    let first_session = app.by.session;
    add(&db, app, VerifiedProof::Password).await;
    let sessions = SqlSessions::new(db.clone());

    for token in 1..=20 {
        begin(&db, ada, token, Some(id)).await;
    }
    let last_session = sessions.session_of(TokenHash([20; 32])).await.unwrap();
    let accounts = SqlAccounts::new(db);
    let own_state = accounts.caller_state(ada, first_session, START).await.unwrap();

    assert!(last_session.is_some());
    assert!(own_state.is_some());
    assert!(sessions.session_of(TokenHash([10; 32])).await.unwrap().is_none());
}
