//! Contract tests of starting and ending sessions.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{SessionRef, SessionStartOutcome, SessionStore, TokenHash};
use pia_kernel::{SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::SqlSessions;

use crate::people::{HOUR, START, count_audited, create_person, new_session, only, remove};

pia_testkit::contract! {
    the_ten_latest_of_concurrent_sessions_stay,
    an_expired_session_does_not_count,
    sessions_of_others_do_not_count,
    a_session_of_a_missing_account_does_not_start,
    a_session_is_ended_once_by_its_token,
    expired_sessions_are_swept,
    sessions_are_deleted_with_their_account,
}

fn start_effects(subject: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, subject, "begun")
}

fn end_effects(subject: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, subject, "ended")
}

/// Starts a session that lasts an hour, with this token.
async fn begin(db: &Database, user: UserId, token: u8, at: Timestamp) -> SessionStartOutcome {
    let new = new_session(user, TokenHash([token; 32]), at);
    let sessions = SqlSessions::new(db.clone());
    sessions.begin(new, 10, start_effects(user, at), only(end_effects)).await.unwrap()
}

/// Returns the tokens whose sessions still exist.
async fn live_tokens(db: &Database, tokens: std::ops::Range<u8>) -> Vec<u8> {
    let sessions = SqlSessions::new(db.clone());
    let mut tokens_with_session = Vec::new();
    for token in tokens {
        if sessions.session_of(TokenHash([token; 32])).await.unwrap().is_some() {
            tokens_with_session.push(token);
        }
    }
    tokens_with_session
}

async fn the_ten_latest_of_concurrent_sessions_stay(db: Database) {
    let user = create_person(&db, "ada@example.org").await;

    let calls = (0..64).map(|n| begin(&db, user, n, START + Duration::from_secs(n.into())));
    let outcomes = join_all(calls).await;

    assert_eq!(outcomes, [SessionStartOutcome::Done; 64]);
    assert_eq!(live_tokens(&db, 0..64).await, (54..64).collect::<Vec<_>>());
    assert_eq!(count_audited(&db, user, "begun").await, 64);
    assert_eq!(count_audited(&db, user, "ended").await, 54);
}

async fn an_expired_session_does_not_count(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    begin(&db, user, 0, START).await;

    for token in 1..11 {
        begin(&db, user, token, START + HOUR).await;
    }

    assert_eq!(live_tokens(&db, 0..11).await, (0..11).collect::<Vec<_>>());
    assert_eq!(count_audited(&db, user, "ended").await, 0);
}

async fn sessions_of_others_do_not_count(db: Database) {
    let first_user = create_person(&db, "a@b.org").await;
    let other_user = create_person(&db, "c@d.org").await;

    for token in 0..10 {
        begin(&db, first_user, token, START).await;
        begin(&db, other_user, token + 10, START).await;
    }

    assert_eq!(live_tokens(&db, 0..20).await.len(), 20);
}

async fn a_session_of_a_missing_account_does_not_start(db: Database) {
    let missing_user = UserId::generate();

    let refused_outcome = begin(&db, missing_user, 1, START).await;

    assert_eq!(refused_outcome, SessionStartOutcome::Stale);
    assert_eq!(count_audited(&db, missing_user, "begun").await, 0);
}

async fn a_session_is_ended_once_by_its_token(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let sessions = SqlSessions::new(db.clone());
    begin(&db, user, 1, START).await;
    let token = TokenHash([1; 32]);
    let later_time = START + HOUR / 2;
    let session = sessions.session_of(token).await.unwrap().unwrap();

    let outcomes = join_all((0..16).map(|_| sessions.end(token, later_time, end_effects))).await;

    let ended_sessions: Vec<_> = outcomes.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(ended_sessions, [SessionRef { user, session }]);
    assert_eq!(count_audited(&db, user, "ended").await, 1);
    assert_eq!(sessions.session_of(token).await.unwrap(), None);
}

async fn expired_sessions_are_swept(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let sessions = SqlSessions::new(db.clone());
    for token in 0..5 {
        begin(&db, user, token, START + Duration::from_secs(token.into())).await;
    }

    let swept = sessions.sweep(START + HOUR + Duration::from_secs(2)).await.unwrap();

    assert_eq!(swept, 3);
    assert_eq!(live_tokens(&db, 0..5).await, [3, 4]);
}

async fn sessions_are_deleted_with_their_account(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    begin(&db, user, 1, START).await;

    remove(&db, user).await;

    assert_eq!(live_tokens(&db, 0..2).await, Vec::<u8>::new());
}
