//! Contract tests of sign-ins that wait for their second factor.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{
    ChallengeStore, FactorChange, FactorStore, NewChallenge, RecoveryHash, Redemption,
    RedemptionOutcome, SessionStore, Step, TokenHash, VerifiedProof,
};
use pia_kernel::{SideEffects, Timestamp, UserId};
use pia_storage::Database;
use pia_storage_identity::{SqlChallenges, SqlFactors, SqlSessions};

use crate::factors::enable;
use crate::people::{
    START, count_audited, create_person, deactivate, epoch, fresh, new_session, nothing, remove,
};

pia_testkit::contract! {
    a_challenge_has_an_owner_until_it_expires,
    five_of_concurrent_attempts_are_allowed,
    one_of_concurrent_answers_is_accepted,
    one_code_redeems_one_of_concurrent_challenges,
    one_recovery_code_redeems_one_of_concurrent_challenges,
    a_stale_proof_leaves_the_challenge_open,
    a_challenge_is_redeemed_by_its_own_user_in_time,
    challenges_are_deleted_when_the_factor_is_disabled,
    a_deactivated_account_has_no_challenges,
    expired_challenges_are_swept,
    challenges_are_deleted_with_their_account,
}

const TOKEN: TokenHash = TokenHash([1; 32]);
const LIFETIME: Duration = Duration::from_mins(5);

/// Creates a user with a factor and an open challenge.
async fn open_challenge(db: &Database) -> (UserId, SqlChallenges) {
    let user = create_person(db, "ada@example.org").await;
    let challenges = SqlChallenges::new(db.clone());
    enable(db, user).await;
    open(db, &challenges, user, TOKEN).await;
    (user, challenges)
}

async fn open(db: &Database, challenges: &SqlChallenges, user: UserId, hash: TokenHash) {
    let epoch = epoch(db, user).await;
    let new = NewChallenge { hash, user, epoch, expires_at: START + LIFETIME };
    challenges.open(new).await.unwrap();
}

fn redemption_effects(user: UserId, at: Timestamp, codes_left: Option<u64>) -> SideEffects {
    let action = if codes_left == Some(9) { "redeemed with nine left" } else { "redeemed" };
    SideEffects::audit(at, user, action)
}

async fn redeem(
    challenges: &SqlChallenges,
    user: UserId,
    token: TokenHash,
    verified: VerifiedProof,
) -> RedemptionOutcome {
    let redemption =
        Redemption { hash: token, user, verified, at: START, effects: redemption_effects };
    challenges.redeem(redemption).await.unwrap()
}

fn count(all: &[RedemptionOutcome], outcome: RedemptionOutcome) -> usize {
    all.iter().filter(|it| **it == outcome).count()
}

async fn a_challenge_has_an_owner_until_it_expires(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let end = START + LIFETIME;
    let just_before = Timestamp::from_micros(end.micros() - 1);

    assert_eq!(challenges.owner(TOKEN, 5, just_before).await.unwrap(), Some(user));
    assert_eq!(challenges.owner(TOKEN, 5, end).await.unwrap(), None);
    assert_eq!(challenges.owner(TokenHash([2; 32]), 5, START).await.unwrap(), None);
    assert!(!challenges.attempt(TOKEN, 5, end).await.unwrap());
}

async fn five_of_concurrent_attempts_are_allowed(db: Database) {
    let (_, challenges) = open_challenge(&db).await;

    let outcomes = join_all((0..64).map(|_| challenges.attempt(TOKEN, 5, START))).await;

    assert_eq!(outcomes.into_iter().map(Result::unwrap).filter(|it| *it).count(), 5);
    assert_eq!(challenges.owner(TOKEN, 5, START).await.unwrap(), None);
}

async fn one_of_concurrent_answers_is_accepted(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let challenges = &challenges;

    let answers =
        (0..64).map(|it| redeem(challenges, user, TOKEN, VerifiedProof::Code(Step(20 + it))));
    let outcomes = join_all(answers).await;

    assert_eq!(count(&outcomes, RedemptionOutcome::Done), 1);
    assert_eq!(count(&outcomes, RedemptionOutcome::Gone), 63);
    assert_eq!(count_audited(&db, user, "redeemed").await, 1);
}

async fn one_code_redeems_one_of_concurrent_challenges(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let tokens: Vec<TokenHash> = (100..164).map(|it| TokenHash([it; 32])).collect();
    for token in &tokens {
        open(&db, &challenges, user, *token).await;
    }
    let challenges = &challenges;

    let answers =
        tokens.iter().map(|it| redeem(challenges, user, *it, VerifiedProof::Code(Step(20))));
    let outcomes = join_all(answers).await;

    assert_eq!(count(&outcomes, RedemptionOutcome::Done), 1);
    assert_eq!(count(&outcomes, RedemptionOutcome::Stale), 63);
    assert_eq!(count_audited(&db, user, "redeemed").await, 1);
}

async fn one_recovery_code_redeems_one_of_concurrent_challenges(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let tokens: Vec<TokenHash> = (100..164).map(|it| TokenHash([it; 32])).collect();
    for token in &tokens {
        open(&db, &challenges, user, *token).await;
    }
    let challenges = &challenges;
    let code = VerifiedProof::RecoveryCode(RecoveryHash([3; 32]));

    let outcomes = join_all(tokens.iter().map(|it| redeem(challenges, user, *it, code))).await;

    assert_eq!(count(&outcomes, RedemptionOutcome::Done), 1);
    assert_eq!(count(&outcomes, RedemptionOutcome::Stale), 63);
    assert_eq!(count_audited(&db, user, "redeemed with nine left").await, 1);
}

async fn a_stale_proof_leaves_the_challenge_open(db: Database) {
    let (user, challenges) = open_challenge(&db).await;

    let used_outcome = redeem(&challenges, user, TOKEN, VerifiedProof::Code(Step(10))).await;
    let unknown_code = VerifiedProof::RecoveryCode(RecoveryHash([99; 32]));
    let unknown_outcome = redeem(&challenges, user, TOKEN, unknown_code).await;
    let valid_outcome = redeem(&challenges, user, TOKEN, VerifiedProof::Code(Step(11))).await;

    assert_eq!(used_outcome, RedemptionOutcome::Stale);
    assert_eq!(unknown_outcome, RedemptionOutcome::Stale);
    assert_eq!(valid_outcome, RedemptionOutcome::Done);
    assert_eq!(count_audited(&db, user, "redeemed").await, 1);
}

async fn a_challenge_is_redeemed_by_its_own_user_in_time(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let eve = create_person(&db, "eve@example.org").await;
    enable(&db, eve).await;
    let verified = VerifiedProof::Code(Step(20));
    let at = START + LIFETIME;
    let late_redemption =
        Redemption { hash: TOKEN, user, verified, at, effects: redemption_effects };

    let foreign_outcome = redeem(&challenges, eve, TOKEN, verified).await;
    let late_outcome = challenges.redeem(late_redemption).await.unwrap();

    assert_eq!(foreign_outcome, RedemptionOutcome::Gone);
    assert_eq!(late_outcome, RedemptionOutcome::Gone);
    assert_eq!(redeem(&challenges, user, TOKEN, verified).await, RedemptionOutcome::Done);
}

async fn challenges_are_deleted_when_the_factor_is_disabled(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let new = new_session(user, TokenHash([77; 32]), START);
    let session = new.session;
    let new = fresh(&db, new).await;
    SqlSessions::new(db.clone()).begin(new, 10, SideEffects::default(), nothing()).await.unwrap();
    let change = FactorChange {
        user,
        session,
        at: START,
        effects: SideEffects::default(),
        if_ended: |_, _| SideEffects::default(),
    };

    assert!(SqlFactors::new(db).disable(change, VerifiedProof::Password).await.unwrap());

    assert_eq!(challenges.owner(TOKEN, 5, START).await.unwrap(), None);
    assert_eq!(
        redeem(&challenges, user, TOKEN, VerifiedProof::Code(Step(20))).await,
        RedemptionOutcome::Gone
    );
}

async fn a_deactivated_account_has_no_challenges(db: Database) {
    let (user, challenges) = open_challenge(&db).await;

    deactivate(&db, user).await;

    assert_eq!(challenges.owner(TOKEN, 5, START).await.unwrap(), None);
    assert_eq!(
        redeem(&challenges, user, TOKEN, VerifiedProof::Code(Step(20))).await,
        RedemptionOutcome::Gone
    );
}

async fn expired_challenges_are_swept(db: Database) {
    let (user, challenges) = open_challenge(&db).await;
    let epoch = epoch(&db, user).await;
    let expires_at = START + LIFETIME * 2;
    let new = NewChallenge { hash: TokenHash([2; 32]), user, epoch, expires_at };
    challenges.open(new).await.unwrap();

    let swept = challenges.sweep(START + LIFETIME).await.unwrap();

    assert_eq!(swept, 1);
    assert_eq!(challenges.owner(TokenHash([2; 32]), 5, START).await.unwrap(), Some(user));
}

async fn challenges_are_deleted_with_their_account(db: Database) {
    let (user, challenges) = open_challenge(&db).await;

    remove(&db, user).await;

    assert_eq!(challenges.owner(TOKEN, 5, START).await.unwrap(), None);
}
