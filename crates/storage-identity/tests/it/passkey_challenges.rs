//! Contract tests of pending challenges of authenticators.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{
    NewPasskeyChallenge, PasskeyAuthorization, PasskeyChallenges, RecoveryHash, SessionStore, Step,
    TokenHash, VerifiedProof,
};
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlPasskeyChallenges, SqlSessions};

use crate::factors::enable;
use crate::people::{
    START, count_audited, create_person, deactivate, new_session, nothing, remove,
};

pia_testkit::contract! {
    a_challenge_is_consumed_once_and_in_time,
    one_of_concurrent_calls_consumes_a_challenge,
    a_challenge_is_bound_to_its_kind_and_user,
    a_password_authorizes_repeatedly,
    a_code_authorizes_once,
    one_of_concurrent_uses_of_a_code_is_authorized,
    only_a_new_session_authorizes,
    a_deactivated_account_opens_no_challenge,
    expired_challenges_are_swept,
    challenges_are_deleted_with_their_account,
}

const TOKEN: TokenHash = TokenHash([1; 32]);
const LIFETIME: Duration = Duration::from_mins(5);
const PASSWORD: PasskeyAuthorization = PasskeyAuthorization::Evidence(VerifiedProof::Password);

fn challenge(hash: TokenHash) -> NewPasskeyChallenge {
    let state = Secret::new("a state".to_owned());
    NewPasskeyChallenge { hash, state, expires_at: START + LIFETIME }
}

async fn open(
    db: &Database,
    user: UserId,
    authorization: PasskeyAuthorization,
    hash: TokenHash,
) -> bool {
    let effects = SideEffects::audit(START, user, "opened");
    let challenges = SqlPasskeyChallenges::new(db.clone());
    challenges.open_registration(user, authorization, challenge(hash), effects).await.unwrap()
}

async fn take(db: &Database, user: UserId, now: Timestamp) -> Option<String> {
    let challenges = SqlPasskeyChallenges::new(db.clone());
    let state = challenges.take_registration(user, TOKEN, now).await.unwrap();
    state.map(|it| it.expose().clone())
}

async fn take_sign_in(db: &Database, now: Timestamp) -> Option<String> {
    let challenges = SqlPasskeyChallenges::new(db.clone());
    let state = challenges.take_sign_in(TOKEN, now).await.unwrap();
    state.map(|it| it.expose().clone())
}

async fn a_challenge_is_consumed_once_and_in_time(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let challenges = SqlPasskeyChallenges::new(db.clone());
    let end = START + LIFETIME;
    let just_before = Timestamp::from_micros(end.micros() - 1);

    for (now, state) in [(just_before, Some("a state".to_owned())), (end, None)] {
        let late = SqlPasskeyChallenges::new(db.clone());
        late.sweep(end).await.unwrap();
        assert!(open(&db, ada, PASSWORD, TOKEN).await);
        assert_eq!(take(&db, ada, now).await, state);
        assert_eq!(take(&db, ada, now).await, None);
        late.sweep(end).await.unwrap();
        challenges.open_sign_in(challenge(TOKEN)).await.unwrap();
        assert_eq!(take_sign_in(&db, now).await, state);
        assert_eq!(take_sign_in(&db, now).await, None);
    }
}

async fn one_of_concurrent_calls_consumes_a_challenge(db: Database) {
    let challenges = SqlPasskeyChallenges::new(db.clone());
    challenges.open_sign_in(challenge(TOKEN)).await.unwrap();

    let outcomes = join_all((0..32).map(|_| take_sign_in(&db, START))).await;

    assert_eq!(outcomes.into_iter().flatten().count(), 1);
}

async fn a_challenge_is_bound_to_its_kind_and_user(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let eve = create_person(&db, "eve@example.org").await;
    let challenges = SqlPasskeyChallenges::new(db.clone());

    open(&db, ada, PASSWORD, TOKEN).await;
    let of_another = take(&db, eve, START).await;
    let burned = take(&db, ada, START).await;
    open(&db, ada, PASSWORD, TOKEN).await;
    let of_another_kind = take_sign_in(&db, START).await;
    challenges.open_sign_in(challenge(TOKEN)).await.unwrap();
    let anonymous = take(&db, ada, START).await;

    assert_eq!(of_another, None);
    assert_eq!(burned, None);
    assert_eq!(of_another_kind, None);
    assert_eq!(anonymous, None);
}

async fn a_password_authorizes_repeatedly(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    assert!(open(&db, ada, PASSWORD, TOKEN).await);
    assert!(open(&db, ada, PASSWORD, TokenHash([2; 32])).await);
    assert_eq!(count_audited(&db, ada, "opened").await, 2);
}

async fn a_code_authorizes_once(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    enable(&db, ada).await;
    let code = PasskeyAuthorization::Evidence(VerifiedProof::Code(Step(20)));
    let paper = PasskeyAuthorization::Evidence(VerifiedProof::RecoveryCode(RecoveryHash([3; 32])));

    let mut all = Vec::new();
    for (number, authorization) in [code, code, paper, paper].into_iter().enumerate() {
        let hash = TokenHash([u8::try_from(number).unwrap(); 32]);
        all.push(open(&db, ada, authorization, hash).await);
    }

    assert_eq!(all, [true, false, true, false]);
    assert_eq!(count_audited(&db, ada, "opened").await, 2);
    assert_eq!(take(&db, ada, START).await, None, "what had no leave is not stored");
}

async fn one_of_concurrent_uses_of_a_code_is_authorized(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    enable(&db, ada).await;
    let db = &db;
    let code = PasskeyAuthorization::Evidence(VerifiedProof::Code(Step(20)));

    let outcomes = join_all((0..16).map(|it| open(db, ada, code, TokenHash([it; 32])))).await;

    assert_eq!(outcomes.into_iter().filter(|it| *it).count(), 1);
}

async fn only_a_new_session_authorizes(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let eve = create_person(&db, "eve@example.org").await;
    let new = new_session(ada, TokenHash([1; 32]), START);
    let session = new.session;
    let sessions = SqlSessions::new(db.clone());
    sessions.begin(new, 10, SideEffects::default(), nothing()).await.unwrap();
    let just_after = Timestamp::from_micros(START.micros() + 1);
    let authorize = |session, since| PasskeyAuthorization::NewSession { session, since };

    let old = open(&db, ada, authorize(session, just_after), TOKEN).await;
    let others = open(&db, eve, authorize(session, START), TOKEN).await;
    let unknown = open(&db, ada, authorize(SessionId::generate(), START), TOKEN).await;
    let good = open(&db, ada, authorize(session, START), TOKEN).await;

    assert!(!old);
    assert!(!others);
    assert!(!unknown);
    assert!(good);
}

async fn a_deactivated_account_opens_no_challenge(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    deactivate(&db, ada).await;

    assert!(!open(&db, ada, PASSWORD, TOKEN).await);
    assert_eq!(count_audited(&db, ada, "opened").await, 0);
}

async fn expired_challenges_are_swept(db: Database) {
    let challenges = SqlPasskeyChallenges::new(db.clone());
    let late = NewPasskeyChallenge { expires_at: START + LIFETIME * 2, ..challenge(TOKEN) };
    challenges.open_sign_in(late).await.unwrap();
    challenges.open_sign_in(challenge(TokenHash([2; 32]))).await.unwrap();

    let swept = challenges.sweep(START + LIFETIME).await.unwrap();

    assert_eq!(swept, 1);
    assert_eq!(take_sign_in(&db, START + LIFETIME).await.as_deref(), Some("a state"));
}

async fn challenges_are_deleted_with_their_account(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    open(&db, ada, PASSWORD, TOKEN).await;

    remove(&db, ada).await;

    assert_eq!(take(&db, ada, START).await, None);
}
