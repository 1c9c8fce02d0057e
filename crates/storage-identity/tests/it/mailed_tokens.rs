//! Contract tests of tokens that are sent by email.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AccountCreationOutcome, AccountStore, AddressChange, AddressChangeOutcome, EmailTokenPurpose,
    EmailTokenStore, NewEmailToken, TokenHash,
};
use pia_kernel::{QueuedEmail, SideEffects, Timestamp, UserId};
use pia_storage::schema::{mailed_tokens, mails};
use pia_storage::{Database, DbError, on_conn};
use pia_storage_identity::{SqlAccounts, SqlEmailTokens};

use crate::people::{START, count_audited, create_person, deactivate, newcomer, remove};

pia_testkit::contract! {
    a_token_has_an_owner_until_it_expires,
    a_token_is_valid_for_its_own_purpose_only,
    one_of_concurrent_uses_of_a_token_verifies,
    one_of_concurrently_presented_tokens_verifies,
    a_foreign_or_unknown_token_verifies_nothing,
    the_time_of_verification_does_not_change,
    the_last_three_tokens_are_valid,
    three_of_concurrently_stored_tokens_are_valid,
    an_email_is_queued_with_its_token,
    an_email_may_be_queued_without_a_token,
    a_decoy_leaves_no_rows,
    a_new_account_is_stored_with_its_token,
    a_deactivated_account_gets_no_tokens_or_emails,
    expired_tokens_are_swept,
    tokens_are_deleted_with_their_account,
    a_new_address_is_stored_as_verified_and_ends_other_links,
    a_token_changes_the_address_of_its_user_for_a_day,
    one_of_concurrent_changes_to_one_address_succeeds,
}

const VERIFICATION: EmailTokenPurpose = EmailTokenPurpose::Verification;
const RESET: EmailTokenPurpose = EmailTokenPurpose::PasswordReset;
const CHANGE: EmailTokenPurpose = EmailTokenPurpose::AddressChange;
const DAY: Duration = Duration::from_hours(24);

pub(crate) fn token(number: u8, purpose: EmailTokenPurpose) -> NewEmailToken {
    NewEmailToken { hash: TokenHash([number; 32]), purpose, expires_at: START + DAY }
}

pub(crate) async fn put(db: &Database, user: UserId, token: NewEmailToken) {
    let tokens = SqlEmailTokens::new(db.clone());
    tokens.put(user, Some(token), SideEffects::default()).await.unwrap();
}

/// Creates a user with a token to verify their address.
async fn with_token(db: &Database) -> (UserId, SqlEmailTokens) {
    let user = create_person(db, "ada@example.org").await;
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

/// Returns the number of tokens and emails.
async fn rows(db: &Database) -> (i64, i64) {
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| {
        let tokens = mailed_tokens::table.count().get_result(conn).await?;
        (tokens, mails::table.count().get_result(conn).await?)
    });
    result.unwrap()
}

async fn a_token_has_an_owner_until_it_expires(db: Database) {
    let (user, tokens) = with_token(&db).await;
    let owner = async |at| tokens.owner(TokenHash([1; 32]), VERIFICATION, at).await.unwrap();

    let just_before = Timestamp::from_micros((START + DAY).micros() - 1);

    assert_eq!(owner(just_before).await, Some(user));
    assert_eq!(owner(START + DAY).await, None);
    assert!(!verify(&tokens, user, 1, START + DAY).await);
    assert!(verify(&tokens, user, 1, just_before).await);
}

async fn a_token_is_valid_for_its_own_purpose_only(db: Database) {
    let (user, tokens) = with_token(&db).await;
    put(&db, user, token(2, RESET)).await;

    assert_eq!(owner(&tokens, 1, RESET).await, None);
    assert_eq!(owner(&tokens, 2, RESET).await, Some(user));
    assert!(!verify(&tokens, user, 2, START).await);
    assert_eq!(verified_at(&db, user).await, None);
}

async fn one_of_concurrent_uses_of_a_token_verifies(db: Database) {
    let (user, tokens) = with_token(&db).await;

    let outcomes = join_all((0..64).map(|_| verify(&tokens, user, 1, START))).await;

    assert_eq!(outcomes.into_iter().filter(|it| *it).count(), 1);
    assert_eq!(verified_at(&db, user).await, Some(START));
    assert_eq!(count_audited(&db, user, "verified").await, 1);
}

async fn one_of_concurrently_presented_tokens_verifies(db: Database) {
    let (user, tokens) = with_token(&db).await;
    put(&db, user, token(2, VERIFICATION)).await;
    put(&db, user, token(3, VERIFICATION)).await;
    let tokens = &tokens;

    let calls = (0..63).map(|it| verify(tokens, user, it % 3 + 1, START));
    let outcomes = join_all(calls).await;

    assert_eq!(outcomes.into_iter().filter(|it| *it).count(), 1);
}

async fn a_foreign_or_unknown_token_verifies_nothing(db: Database) {
    let (user, tokens) = with_token(&db).await;
    let eve = create_person(&db, "eve@example.org").await;

    assert!(!verify(&tokens, eve, 1, START).await);
    assert!(!verify(&tokens, user, 9, START).await);
    assert_eq!(verified_at(&db, user).await, None);
    assert_eq!(verified_at(&db, eve).await, None);
    assert_eq!(owner(&tokens, 1, VERIFICATION).await, Some(user));
}

async fn the_time_of_verification_does_not_change(db: Database) {
    let (user, tokens) = with_token(&db).await;
    assert!(verify(&tokens, user, 1, START).await);
    put(&db, user, token(2, VERIFICATION)).await;

    assert!(verify(&tokens, user, 2, START + Duration::from_secs(1)).await);

    assert_eq!(verified_at(&db, user).await, Some(START));
}

async fn the_last_three_tokens_are_valid(db: Database) {
    let (user, tokens) = with_token(&db).await;
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

async fn three_of_concurrently_stored_tokens_are_valid(db: Database) {
    let user = create_person(&db, "ada@example.org").await;

    join_all((0..64).map(|it| put(&db, user, token(it, RESET)))).await;

    assert_eq!(rows(&db).await, (3, 0));
}

async fn an_email_is_queued_with_its_token(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let tokens = SqlEmailTokens::new(db.clone());
    let email = QueuedEmail::new("password-reset").to_user(START, user);
    let effects = SideEffects::about(START, user, "asked").and_mail(email);

    tokens.put(user, Some(token(1, RESET)), effects).await.unwrap();

    assert_eq!(rows(&db).await, (1, 1));
    assert_eq!(count_audited(&db, user, "asked").await, 1);
}

async fn an_email_may_be_queued_without_a_token(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let tokens = SqlEmailTokens::new(db.clone());
    let email = QueuedEmail::new("address-taken").to_user(START, user);

    tokens.put(user, None, SideEffects::default().and_mail(email)).await.unwrap();

    assert_eq!(rows(&db).await, (0, 1));
}

async fn a_decoy_leaves_no_rows(db: Database) {
    let (user, tokens) = with_token(&db).await;
    let invitation = QueuedEmail::new("invitation").to_address(START, "bob@example.org");
    tokens.put(user, None, SideEffects::default().and_mail(invitation)).await.unwrap();

    join_all((0..16).map(|_| tokens.pretend(START))).await;

    assert_eq!(rows(&db).await, (1, 1));
}

async fn a_new_account_is_stored_with_its_token(db: Database) {
    let mut new_account = newcomer("ada@example.org");
    let tokens = SqlEmailTokens::new(db.clone());
    let user = new_account.account.user;
    new_account.verification = Some(token(1, VERIFICATION));

    let outcome = SqlAccounts::new(db.clone())
        .register(new_account, None, SideEffects::default())
        .await
        .unwrap();

    assert_eq!(outcome, AccountCreationOutcome::Stored);
    assert!(verify(&tokens, user, 1, START).await);
}

async fn a_deactivated_account_gets_no_tokens_or_emails(db: Database) {
    let (user, tokens) = with_token(&db).await;
    deactivate(&db, user).await;
    let email = QueuedEmail::new("verify-address").to_user(START, user);

    tokens
        .put(user, Some(token(2, VERIFICATION)), SideEffects::default().and_mail(email))
        .await
        .unwrap();

    assert_eq!(rows(&db).await, (1, 0));
    assert_eq!(owner(&tokens, 1, VERIFICATION).await, None);
    assert!(!verify(&tokens, user, 1, START).await);
}

async fn expired_tokens_are_swept(db: Database) {
    let (user, tokens) = with_token(&db).await;
    let later_time = token(2, VERIFICATION).expires_at + Duration::from_secs(1);
    put(&db, user, NewEmailToken { expires_at: later_time, ..token(2, VERIFICATION) }).await;

    let swept = tokens.sweep(START + DAY).await.unwrap();

    assert_eq!(swept, 1);
    assert_eq!(rows(&db).await, (1, 0));
    assert_eq!(owner(&tokens, 2, VERIFICATION).await, Some(user));
}

async fn tokens_are_deleted_with_their_account(db: Database) {
    let (user, tokens) = with_token(&db).await;

    remove(&db, user).await;

    assert_eq!(owner(&tokens, 1, VERIFICATION).await, None);
    tokens.put(user, Some(token(2, VERIFICATION)), SideEffects::default()).await.unwrap();
    assert_eq!(rows(&db).await, (0, 0));
}

async fn change(
    db: &Database,
    user: UserId,
    number: u8,
    email: &str,
    at: Timestamp,
) -> AddressChangeOutcome {
    let effects = SideEffects::audit(at, user, "changed");
    let change =
        AddressChange { user, token: TokenHash([number; 32]), email: email.into(), at, effects };
    SqlEmailTokens::new(db.clone()).change_address(change).await.unwrap()
}

async fn a_new_address_is_stored_as_verified_and_ends_other_links(db: Database) {
    let (user, tokens) = with_token(&db).await;
    put(&db, user, token(2, RESET)).await;
    put(&db, user, token(3, CHANGE)).await;

    let change_outcome = change(&db, user, 3, "Ada@Bücher.example", START).await;

    assert_eq!(change_outcome, AddressChangeOutcome::Changed);
    let accounts = SqlAccounts::new(db.clone());
    let found_account =
        accounts.by_email("ada@xn--bcher-kva.example").await.unwrap().unwrap().account;
    assert_eq!(found_account.user, user);
    assert_eq!(found_account.email, "Ada@Bücher.example");
    assert_eq!(found_account.email_verified_at, Some(START));
    assert!(accounts.by_email("ada@example.org").await.unwrap().is_none());
    assert_eq!(owner(&tokens, 2, RESET).await, None);
    assert_eq!(count_audited(&db, user, "changed").await, 1);

    let repeated_outcome = change(&db, user, 3, "ada@other.example", START).await;
    assert_eq!(repeated_outcome, AddressChangeOutcome::InvalidToken);
}

async fn a_token_changes_the_address_of_its_user_for_a_day(db: Database) {
    let (user, _) = with_token(&db).await;
    let eve = create_person(&db, "eve@example.org").await;
    put(&db, user, token(3, CHANGE)).await;

    for (user, number, at) in [(eve, 3, START), (user, 1, START), (user, 3, START + DAY)] {
        let refused_outcome = change(&db, user, number, "new@example.org", at).await;
        assert_eq!(refused_outcome, AddressChangeOutcome::InvalidToken, "{number}");
    }
    let conflict_outcome = change(&db, user, 3, "EVE@example.org", START).await;
    assert_eq!(conflict_outcome, AddressChangeOutcome::Taken);
    let respelled = change(&db, user, 3, "ADA@example.org", START).await;
    assert_eq!(respelled, AddressChangeOutcome::Changed);
}

async fn one_of_concurrent_changes_to_one_address_succeeds(db: Database) {
    let mut changes = Vec::new();
    for number in 0..8 {
        let user = create_person(&db, &format!("user{number}@example.org")).await;
        put(&db, user, token(number, CHANGE)).await;
        changes.push((user, number));
    }

    let outcomes = join_all(
        changes.iter().map(|(user, number)| change(&db, *user, *number, "new@example.org", START)),
    )
    .await;

    let changed_count = outcomes.iter().filter(|it| **it == AddressChangeOutcome::Changed).count();
    assert_eq!(changed_count, 1, "{outcomes:?}");
}
