//! Contract tests of what secures other users' accounts: their sessions and factors.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_identity::{
    AccountStore, ChallengeStore, CredentialsEpoch, FactorStore, NewChallenge, Role,
    RoleChangeOutcome, RoleStore, SessionStartOutcome, SessionStore, TokenHash,
};
use pia_kernel::{SideEffects, UserId};
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{SqlAccounts, SqlChallenges, SqlFactors, SqlRoles, SqlSessions};

use crate::factors::enable;
use crate::passkeys::add_to;
use crate::people::{
    HOUR, START, begin_as_of, count_audited, create_person, deactivate, epoch, fresh, new_session,
    nothing,
};

pia_testkit::contract! {
    all_sessions_and_pending_sign_ins_of_one_user_end,
    a_factor_is_reset_once_with_its_codes_and_sessions,
    a_missing_account_or_factor_changes_nothing,
    active_administrators_with_only_a_password_are_counted,
}

/// Starts a session and a sign-in that waits for its second factor. Returns
/// whether they still exist, when called.
async fn signed_in(db: &Database, user: UserId, token: u8) -> impl AsyncFn() -> (bool, bool) {
    let session = fresh(db, new_session(user, TokenHash([token; 32]), START)).await;
    let id = session.session;
    let sessions = SqlSessions::new(db.clone());
    let challenges = SqlChallenges::new(db.clone());
    sessions.begin(session, 10, SideEffects::default(), nothing()).await.unwrap();
    let hash = TokenHash([token + 100; 32]);
    let epoch = epoch(db, user).await;
    let challenge = NewChallenge { hash, user, epoch, expires_at: START + HOUR };
    assert_eq!(challenges.open(challenge).await.unwrap(), SessionStartOutcome::Done);

    let accounts = SqlAccounts::new(db.clone());
    async move || {
        let caller = accounts.caller_state(user, id, START).await.unwrap();
        let owner = challenges.owner(hash, 5, START).await.unwrap();
        (caller.is_some(), owner.is_some())
    }
}

async fn all_sessions_and_pending_sign_ins_of_one_user_end(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let adas = signed_in(&db, ada, 1).await;
    let bobs = signed_in(&db, bob, 2).await;

    let effects = SideEffects::about(START, ada, "ended");
    assert!(SqlRoles::new(db.clone()).end_sessions(ada, effects).await.unwrap());

    assert_eq!(adas().await, (false, false));
    assert_eq!(bobs().await, (true, true));
    assert_eq!(count_audited(&db, ada, "ended").await, 1);
    let outdated = begin_as_of(&db, ada, CredentialsEpoch::default(), 3).await;
    assert_eq!(outdated, SessionStartOutcome::Stale);
}

async fn a_factor_is_reset_once_with_its_codes_and_sessions(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let factors = SqlFactors::new(db.clone());
    let ada = create_person(&db, "ada@example.org").await;
    enable(&db, ada).await;
    let is_signed_in = signed_in(&db, ada, 1).await;

    let effects = || SideEffects::about(START, ada, "reset");
    let first = roles.reset_factor(ada, effects()).await.unwrap();
    let second = roles.reset_factor(ada, effects()).await.unwrap();

    assert!(first);
    assert!(!second);
    assert_eq!(factors.factor(ada).await.unwrap(), None);
    assert_eq!(factors.codes_left(ada).await.unwrap(), 0);
    assert_eq!(is_signed_in().await, (false, false));
    assert_eq!(count_audited(&db, ada, "reset").await, 1);
}

async fn a_missing_account_or_factor_changes_nothing(db: Database) {
    let roles = SqlRoles::new(db.clone());
    let missing_user = UserId::generate();
    let ada = create_person(&db, "ada@example.org").await;
    let factors = SqlFactors::new(db.clone());
    factors.begin(ada, b"sealed", START).await.unwrap();
    let is_signed_in = signed_in(&db, ada, 1).await;

    let effects = || SideEffects::about(START, ada, "changed");
    let ended = roles.end_sessions(missing_user, effects()).await.unwrap();
    let reset = roles.reset_factor(ada, effects()).await.unwrap();

    assert!(!ended);
    assert!(!reset);
    assert!(factors.factor(ada).await.unwrap().is_some());
    assert_eq!(is_signed_in().await, (true, true));
    assert_eq!(count_audited(&db, ada, "changed").await, 0);
}

/// Stores an account of an administrator.
async fn create_admin(db: &Database, email: &str) -> UserId {
    let user = create_person(db, email).await;
    let roles = SqlRoles::new(db.clone());
    let grant_outcome =
        roles.set_role(user, Role::Admin, None, SideEffects::default()).await.unwrap();
    assert_eq!(grant_outcome, RoleChangeOutcome::Done);
    user
}

async fn active_administrators_with_only_a_password_are_counted(db: Database) {
    let roles = SqlRoles::new(db.clone());
    create_person(&db, "user@example.org").await;
    enable(&db, create_admin(&db, "app@example.org").await).await;
    add_to(&db, create_admin(&db, "passkey@example.org").await).await;
    deactivate(&db, create_admin(&db, "deactivated@example.org").await).await;
    let of_provider = accounts::table.find(DbUid(create_admin(&db, "entra@example.org").await.0));
    let update = diesel::update(of_provider).set(accounts::provider.eq("entraid"));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);

    let previous_count = roles.count_admins_without_factor().await.unwrap();
    create_admin(&db, "password@example.org").await;
    let pending_admin = create_admin(&db, "pending@example.org").await;
    SqlFactors::new(db.clone()).begin(pending_admin, b"sealed", START).await.unwrap();
    let later_count = roles.count_admins_without_factor().await.unwrap();

    assert_eq!(previous_count, 0);
    assert_eq!(later_count, 2);
}
