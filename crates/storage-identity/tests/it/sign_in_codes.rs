//! Contract tests of one-time codes.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{
    CodeChallenge, CodeRedemptionOutcome, NewSignInCode, SessionStore, SignInCodes, TokenHash,
};
use pia_kernel::{SessionId, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlSessions, SqlSignInCodes};

use crate::people::{
    START, count_audited, create_person, deactivate, new_session, nothing, remove,
};

pia_testkit::contract! {
    a_code_is_redeemed_by_its_challenge_in_time,
    a_failed_attempt_invalidates_the_code,
    a_replayed_code_ends_the_session_it_started,
    a_code_replayed_before_settling_starts_no_session,
    concurrent_presentations_redeem_one_code_and_start_no_session,
    no_concurrently_settled_session_outlives_a_replay,
    a_deactivated_account_redeems_nothing,
    expired_codes_are_swept,
    codes_are_deleted_with_their_account,
}

const CODE: TokenHash = TokenHash([1; 32]);
const CHALLENGE: CodeChallenge = CodeChallenge([2; 32]);
const LIFETIME: Duration = Duration::from_mins(2);

async fn issue_code(db: &Database) -> (UserId, SqlSignInCodes) {
    let user = create_person(db, "ada@example.org").await;
    let codes = SqlSignInCodes::new(db.clone());
    put(&codes, user, CODE).await;
    (user, codes)
}

async fn put(codes: &SqlSignInCodes, user: UserId, hash: TokenHash) {
    let new = NewSignInCode { hash, user, challenge: CHALLENGE, expires_at: START + LIFETIME };
    codes.put(new).await.unwrap();
}

fn replay_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::about(at, user, "replayed")
}

async fn present(codes: &SqlSignInCodes, at: Timestamp) -> CodeRedemptionOutcome {
    codes.redeem(CODE, Some(CHALLENGE), at, replay_effects).await.unwrap()
}

/// Starts a session for the code.
async fn start_session(db: &Database, user: UserId, token: u8) -> SessionId {
    let new = new_session(user, TokenHash([token; 32]), START);
    let session = new.session;
    let sessions = SqlSessions::new(db.clone());
    sessions.begin(new, 100, SideEffects::default(), nothing()).await.unwrap();
    session
}

async fn is_live(db: &Database, token: u8) -> bool {
    SqlSessions::new(db.clone()).session_of(TokenHash([token; 32])).await.unwrap().is_some()
}

async fn a_code_is_redeemed_by_its_challenge_in_time(db: Database) {
    let (user, codes) = issue_code(&db).await;

    let redemption_outcome = present(&codes, START + LIFETIME - Duration::from_micros(1)).await;

    assert_eq!(redemption_outcome, CodeRedemptionOutcome::Redeemed(user));
    assert!(codes.settle(CODE, start_session(&db, user, 9).await).await.unwrap());
    assert!(is_live(&db, 9).await);
}

async fn a_failed_attempt_invalidates_the_code(db: Database) {
    let (user, codes) = issue_code(&db).await;

    for (challenge, at) in
        [(None, START), (Some(CodeChallenge([3; 32])), START), (Some(CHALLENGE), START + LIFETIME)]
    {
        let failed_outcome = codes.redeem(CODE, challenge, at, replay_effects).await.unwrap();
        let later_outcome = present(&codes, START).await;

        assert_eq!(failed_outcome, CodeRedemptionOutcome::Refused);
        assert_eq!(later_outcome, CodeRedemptionOutcome::Refused);
        assert!(!codes.settle(CODE, SessionId::generate()).await.unwrap());
        put(&codes, user, CODE).await;
    }
    assert_eq!(count_audited(&db, user, "replayed").await, 0);
}

async fn a_replayed_code_ends_the_session_it_started(db: Database) {
    let (user, codes) = issue_code(&db).await;
    present(&codes, START).await;
    codes.settle(CODE, start_session(&db, user, 9).await).await.unwrap();
    start_session(&db, user, 10).await;

    // Long after, and without a challenge.
    let repeated_outcome =
        codes.redeem(CODE, None, START + LIFETIME * 2, replay_effects).await.unwrap();

    assert_eq!(repeated_outcome, CodeRedemptionOutcome::Replayed(user));
    assert!(!is_live(&db, 9).await);
    assert!(is_live(&db, 10).await);
    assert_eq!(count_audited(&db, user, "replayed").await, 1);
    assert_eq!(present(&codes, START).await, CodeRedemptionOutcome::Refused);
}

async fn a_code_replayed_before_settling_starts_no_session(db: Database) {
    let (user, codes) = issue_code(&db).await;
    present(&codes, START).await;

    let repeated_outcome = present(&codes, START).await;

    assert_eq!(repeated_outcome, CodeRedemptionOutcome::Replayed(user));
    assert!(!codes.settle(CODE, SessionId::generate()).await.unwrap());
}

async fn concurrent_presentations_redeem_one_code_and_start_no_session(db: Database) {
    let (user, codes) = issue_code(&db).await;

    let outcomes = join_all((0..64).map(|_| present(&codes, START))).await;

    let count = |expected| outcomes.iter().filter(|it| **it == expected).count();
    assert_eq!(count(CodeRedemptionOutcome::Redeemed(user)), 1);
    assert_eq!(count(CodeRedemptionOutcome::Replayed(user)), 1);
    assert_eq!(count(CodeRedemptionOutcome::Refused), 62);
    assert!(!codes.settle(CODE, SessionId::generate()).await.unwrap());
}

async fn no_concurrently_settled_session_outlives_a_replay(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let codes = SqlSignInCodes::new(db.clone());
    let codes = &codes;
    let db = &db;

    // Each code is settled while it is presented again.
    let calls = (100..132).map(|it| async move {
        let hash = TokenHash([it; 32]);
        put(codes, user, hash).await;
        let first_outcome =
            codes.redeem(hash, Some(CHALLENGE), START, replay_effects).await.unwrap();
        assert_eq!(first_outcome, CodeRedemptionOutcome::Redeemed(user));
        let session = start_session(db, user, it).await;
        let (settled, again) = futures_util::join!(
            codes.settle(hash, session),
            codes.redeem(hash, Some(CHALLENGE), START, replay_effects)
        );
        assert_eq!(again.unwrap(), CodeRedemptionOutcome::Replayed(user));
        (settled.unwrap(), is_live(db, it).await)
    });
    let outcomes = join_all(calls).await;

    // A settled session was ended; others are ended by their caller.
    assert!(outcomes.iter().all(|(settled, live)| *settled != *live), "{outcomes:?}");
}

async fn a_deactivated_account_redeems_nothing(db: Database) {
    let (user, codes) = issue_code(&db).await;
    deactivate(&db, user).await;

    assert_eq!(present(&codes, START).await, CodeRedemptionOutcome::Refused);
}

async fn expired_codes_are_swept(db: Database) {
    let (user, codes) = issue_code(&db).await;
    let later = TokenHash([5; 32]);
    let expires_at = START + LIFETIME * 2;
    codes.put(NewSignInCode { hash: later, user, challenge: CHALLENGE, expires_at }).await.unwrap();

    assert_eq!(codes.sweep(START + LIFETIME).await.unwrap(), 1);

    let later_code = codes.redeem(later, Some(CHALLENGE), START, replay_effects).await.unwrap();
    assert_eq!(later_code, CodeRedemptionOutcome::Redeemed(user));
}

async fn codes_are_deleted_with_their_account(db: Database) {
    let (user, codes) = issue_code(&db).await;

    remove(&db, user).await;

    assert_eq!(present(&codes, START).await, CodeRedemptionOutcome::Refused);
}
