//! Tokens that go out in letters.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AccountStore, EmailTokenPurpose, EmailTokenStore, NewEmailToken, Registered, TokenHash,
};
use pia_kernel::{QueuedEmail, SideEffects, Timestamp, UserId};
use pia_storage::schema::{mailed_tokens, mails};
use pia_storage::{Database, DbError, on_conn};
use pia_storage_identity::{SqlAccounts, SqlEmailTokens};

use crate::people::{START, audited, deactivate, newcomer, person, remove};

pia_testkit::contract! {
    a_token_is_its_users_until_it_ends,
    a_token_is_good_for_its_own_purpose,
    of_many_who_show_one_token_at_once_one_verifies,
    of_many_tokens_presented_at_once_one_verifies,
    a_token_of_somebody_else_or_too_late_verifies_nothing,
    an_address_stays_verified_since_when_it_was,
    of_more_tokens_the_last_three_are_good,
    however_many_are_put_at_once_three_are_good,
    a_letter_goes_out_with_its_token,
    a_letter_may_go_out_without_a_token,
    what_is_pretended_leaves_nothing,
    a_new_account_is_stored_with_its_token,
    nobody_deactivated_has_tokens_or_letters,
    tokens_that_ended_are_swept,
    tokens_go_with_their_account,
}

const VERIFICATION: EmailTokenPurpose = EmailTokenPurpose::Verification;
const RESET: EmailTokenPurpose = EmailTokenPurpose::PasswordReset;
const DAY: Duration = Duration::from_hours(24);

pub(crate) fn token(number: u8, purpose: EmailTokenPurpose) -> NewEmailToken {
    NewEmailToken { hash: TokenHash([number; 32]), purpose, expires_at: START + DAY }
}

pub(crate) async fn put(db: &Database, user: UserId, token: NewEmailToken) {
    let tokens = SqlEmailTokens::new(db.clone());
    tokens.put(user, Some(token), SideEffects::default()).await.unwrap();
}

/// Somebody who was sent a token to verify their address with.
async fn written(db: &Database) -> (UserId, SqlEmailTokens) {
    let user = person(db, "ada@example.org").await;
    put(db, user, token(1, VERIFICATION)).await;
    (user, SqlEmailTokens::new(db.clone()))
}

async fn verify(tokens: &SqlEmailTokens, user: UserId, number: u8, at: Timestamp) -> bool {
    let effects = SideEffects::audit(at, user, "verified");
    tokens.verify(user, TokenHash([number; 32]), at, effects).await.unwrap()
}

async fn owner(tokens: &SqlEmailTokens, number: u8, purpose: EmailTokenPurpose) -> Option<UserId> {
    tokens.owner(TokenHash([number; 32]), purpose, START).await.unwrap()
}

async fn verified_at(db: &Database, user: UserId) -> Option<Timestamp> {
    let account = SqlAccounts::new(db.clone()).find(user).await.unwrap();
    account.unwrap().email_verified_at
}

/// Returns the number of tokens and letters there are.
async fn rows(db: &Database) -> (i64, i64) {
    let found: Result<_, DbError> = on_conn!(db.reader(), |conn| {
        let tokens = mailed_tokens::table.count().get_result(conn).await?;
        (tokens, mails::table.count().get_result(conn).await?)
    });
    found.unwrap()
}

async fn a_token_is_its_users_until_it_ends(db: Database) {
    let (user, tokens) = written(&db).await;
    let owner = async |at| tokens.owner(TokenHash([1; 32]), VERIFICATION, at).await.unwrap();

    let just_before = Timestamp::from_micros((START + DAY).micros() - 1);

    assert_eq!((owner(just_before).await, owner(START + DAY).await), (Some(user), None));
    assert!(!verify(&tokens, user, 1, START + DAY).await);
    assert!(verify(&tokens, user, 1, just_before).await);
}

async fn a_token_is_good_for_its_own_purpose(db: Database) {
    let (user, tokens) = written(&db).await;
    put(&db, user, token(2, RESET)).await;

    assert_eq!(owner(&tokens, 1, RESET).await, None);
    assert_eq!(owner(&tokens, 2, RESET).await, Some(user));
    assert!(!verify(&tokens, user, 2, START).await);
    assert_eq!(verified_at(&db, user).await, None);
}

async fn of_many_who_show_one_token_at_once_one_verifies(db: Database) {
    let (user, tokens) = written(&db).await;

    let all = join_all((0..64).map(|_| verify(&tokens, user, 1, START))).await;

    assert_eq!(all.into_iter().filter(|it| *it).count(), 1);
    assert_eq!(verified_at(&db, user).await, Some(START));
    assert_eq!(audited(&db, user, "verified").await, 1);
}

async fn of_many_tokens_presented_at_once_one_verifies(db: Database) {
    let (user, tokens) = written(&db).await;
    put(&db, user, token(2, VERIFICATION)).await;
    put(&db, user, token(3, VERIFICATION)).await;
    let tokens = &tokens;

    let all = (0..63).map(|it| verify(tokens, user, it % 3 + 1, START));
    let all = join_all(all).await;

    assert_eq!(all.into_iter().filter(|it| *it).count(), 1);
}

async fn a_token_of_somebody_else_or_too_late_verifies_nothing(db: Database) {
    let (user, tokens) = written(&db).await;
    let eve = person(&db, "eve@example.org").await;

    assert!(!verify(&tokens, eve, 1, START).await);
    assert!(!verify(&tokens, user, 9, START).await);
    assert_eq!((verified_at(&db, user).await, verified_at(&db, eve).await), (None, None));
    assert_eq!(owner(&tokens, 1, VERIFICATION).await, Some(user));
}

async fn an_address_stays_verified_since_when_it_was(db: Database) {
    let (user, tokens) = written(&db).await;
    assert!(verify(&tokens, user, 1, START).await);
    put(&db, user, token(2, VERIFICATION)).await;

    assert!(verify(&tokens, user, 2, START + Duration::from_secs(1)).await);

    assert_eq!(verified_at(&db, user).await, Some(START));
}

async fn of_more_tokens_the_last_three_are_good(db: Database) {
    let (user, tokens) = written(&db).await;
    put(&db, user, token(9, RESET)).await;
    for number in 2..=5 {
        let expires_at = START + DAY + Duration::from_secs(number.into());
        put(&db, user, NewEmailToken { expires_at, ..token(number, VERIFICATION) }).await;
    }

    for (number, good) in [(1, false), (2, false), (3, true), (4, true), (5, true)] {
        assert_eq!(owner(&tokens, number, VERIFICATION).await.is_some(), good, "{number}");
    }
    assert_eq!(owner(&tokens, 9, RESET).await, Some(user));
}

async fn however_many_are_put_at_once_three_are_good(db: Database) {
    let user = person(&db, "ada@example.org").await;

    join_all((0..64).map(|it| put(&db, user, token(it, RESET)))).await;

    assert_eq!(rows(&db).await, (3, 0));
}

async fn a_letter_goes_out_with_its_token(db: Database) {
    let user = person(&db, "ada@example.org").await;
    let tokens = SqlEmailTokens::new(db.clone());
    let letter = QueuedEmail::new("password-reset").to_user(START, user);
    let effects = SideEffects::about(START, user, "asked").and_mail(letter);

    tokens.put(user, Some(token(1, RESET)), effects).await.unwrap();

    assert_eq!(rows(&db).await, (1, 1));
    assert_eq!(audited(&db, user, "asked").await, 1);
}

async fn a_letter_may_go_out_without_a_token(db: Database) {
    let user = person(&db, "ada@example.org").await;
    let tokens = SqlEmailTokens::new(db.clone());
    let letter = QueuedEmail::new("address-taken").to_user(START, user);

    tokens.put(user, None, SideEffects::default().and_mail(letter)).await.unwrap();

    assert_eq!(rows(&db).await, (0, 1));
}

async fn what_is_pretended_leaves_nothing(db: Database) {
    let (user, tokens) = written(&db).await;
    let stranger = QueuedEmail::new("invitation").to_address(START, "bob@example.org");
    tokens.put(user, None, SideEffects::default().and_mail(stranger)).await.unwrap();

    join_all((0..16).map(|_| tokens.pretend(START))).await;

    assert_eq!(rows(&db).await, (1, 1));
}

async fn a_new_account_is_stored_with_its_token(db: Database) {
    let (mut new, tokens) = (newcomer("ada@example.org"), SqlEmailTokens::new(db.clone()));
    let user = new.account.user;
    new.verification = Some(token(1, VERIFICATION));

    let registered =
        SqlAccounts::new(db.clone()).register(new, None, SideEffects::default()).await.unwrap();

    assert_eq!(registered, Registered::Stored);
    assert!(verify(&tokens, user, 1, START).await);
}

async fn nobody_deactivated_has_tokens_or_letters(db: Database) {
    let (user, tokens) = written(&db).await;
    deactivate(&db, user).await;
    let letter = QueuedEmail::new("verify-address").to_user(START, user);

    tokens
        .put(user, Some(token(2, VERIFICATION)), SideEffects::default().and_mail(letter))
        .await
        .unwrap();

    assert_eq!(rows(&db).await, (1, 0));
    assert_eq!(owner(&tokens, 1, VERIFICATION).await, None);
    assert!(!verify(&tokens, user, 1, START).await);
}

async fn tokens_that_ended_are_swept(db: Database) {
    let (user, tokens) = written(&db).await;
    let later = token(2, VERIFICATION).expires_at + Duration::from_secs(1);
    put(&db, user, NewEmailToken { expires_at: later, ..token(2, VERIFICATION) }).await;

    let swept = tokens.sweep(START + DAY).await.unwrap();

    assert_eq!((swept, rows(&db).await), (1, (1, 0)));
    assert_eq!(owner(&tokens, 2, VERIFICATION).await, Some(user));
}

async fn tokens_go_with_their_account(db: Database) {
    let (user, tokens) = written(&db).await;

    remove(&db, user).await;

    assert_eq!(owner(&tokens, 1, VERIFICATION).await, None);
    tokens.put(user, Some(token(2, VERIFICATION)), SideEffects::default()).await.unwrap();
    assert_eq!(rows(&db).await, (0, 0));
}
