//! Contract tests of sign-ins that race the deletion of their credentials.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AppPasswordRemoval, AppPasswordStore, ChallengeStore, CodeChallenge, CredentialsEpoch,
    EnrolmentOutcome, FactorStore, NewChallenge, NewSession, NewSignInCode, SessionStartOutcome,
    SessionStore, SignInCodes, TokenHash,
};
use pia_kernel::{AppPasswordId, SideEffects, UserId};
use pia_storage::schema::app_passwords;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_identity::{
    SqlAppPasswords, SqlChallenges, SqlFactors, SqlSessions, SqlSignInCodes,
};

use crate::people::{HOUR, START, create_person, new_session, nothing, remove};

pia_testkit::contract! {
    sign_ins_concurrent_with_a_deletion_do_not_fail,
    sessions_started_during_the_deletion_of_their_app_password_end_with_it,
}

/// Number of repetitions of each race.
const ROUNDS: u8 = 6;

async fn begin(
    db: &Database,
    user: UserId,
    token: u8,
    with: Option<AppPasswordId>,
) -> SessionStartOutcome {
    let new = new_session(user, TokenHash([token; 32]), START);
    let new = NewSession { app_password: with, ..new };
    SqlSessions::new(db.clone()).begin(new, 100, SideEffects::default(), nothing()).await.unwrap()
}

async fn open(db: &Database, user: UserId, token: u8) -> SessionStartOutcome {
    let hash = TokenHash([token; 32]);
    let epoch = CredentialsEpoch::default();
    let new = NewChallenge { hash, user, epoch, expires_at: START + HOUR };
    SqlChallenges::new(db.clone()).open(new).await.unwrap()
}

async fn put(db: &Database, user: UserId, token: u8) -> SessionStartOutcome {
    let hash = TokenHash([token; 32]);
    let challenge = CodeChallenge([token; 32]);
    let new = NewSignInCode { hash, user, challenge, expires_at: START + HOUR };
    SqlSignInCodes::new(db.clone()).put(new).await.unwrap()
}

async fn enrol(db: &Database, user: UserId) -> EnrolmentOutcome {
    SqlFactors::new(db.clone()).begin(user, b"sealed", START).await.unwrap()
}

async fn add_app_password(db: &Database, user: UserId) -> AppPasswordId {
    let id = AppPasswordId::generate();
    let row = (
        app_passwords::id.eq(DbUid(id.0)),
        app_passwords::user_id.eq(DbUid(user.0)),
        app_passwords::name.eq("an app"),
        app_passwords::hash.eq(id.0.as_bytes().to_vec()),
        app_passwords::created_at.eq(DbInstant(START)),
    );
    let insertion = diesel::insert_into(app_passwords::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
    id
}

async fn sign_ins_concurrent_with_a_deletion_do_not_fail(db: Database) {
    for round in 0..ROUNDS {
        let user = create_person(&db, &format!("ada{round}@example.org")).await;
        let tokens = || (0..6).map(|it| round * 10 + it);

        let _outcomes = futures_util::join!(
            join_all(tokens().map(|it| begin(&db, user, it, None))),
            join_all(tokens().map(|it| open(&db, user, it))),
            remove(&db, user),
            join_all(tokens().map(|it| put(&db, user, it))),
            join_all(tokens().map(|_| enrol(&db, user))),
        );

        let late = [begin(&db, user, 99, None).await, open(&db, user, 99).await];
        assert_eq!(late, [SessionStartOutcome::Stale; 2]);
        assert_eq!(put(&db, user, 99).await, SessionStartOutcome::Stale);
        assert_eq!(enrol(&db, user).await, EnrolmentOutcome::Gone);
    }
}

async fn sessions_started_during_the_deletion_of_their_app_password_end_with_it(db: Database) {
    let passwords = SqlAppPasswords::new(db.clone());
    let sessions = SqlSessions::new(db.clone());
    let user = create_person(&db, "ada@example.org").await;
    for round in 0..ROUNDS {
        let id = add_app_password(&db, user).await;
        let tokens = || (0..8).map(|it| round * 10 + it);
        let quiet = |_, _| SideEffects::default();
        let removal = AppPasswordRemoval { user, id, at: START };

        let (_outcomes, removed) = futures_util::join!(
            join_all(tokens().map(|it| begin(&db, user, it, Some(id)))),
            passwords.remove(removal, |_, _, _| SideEffects::default(), quiet),
        );

        assert!(removed.unwrap());
        assert_eq!(begin(&db, user, 99, Some(id)).await, SessionStartOutcome::Stale);
        for token in tokens() {
            assert_eq!(sessions.session_of(TokenHash([token; 32])).await.unwrap(), None);
        }
    }
}
