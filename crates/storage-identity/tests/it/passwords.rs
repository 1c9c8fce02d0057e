//! Contract tests of replacing passwords.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AccountStore, AppAccess, AppAccessRevoked, ChallengeStore, CredentialsEpoch, EmailTokenPurpose,
    EmailTokenStore, NewChallenge, PasskeyStore, PasswordChange, PasswordReset, PasswordStore,
    SessionRef, SessionStartOutcome, SessionStore, TokenHash,
};
use pia_kernel::{AppPasswordId, QueuedEmail, Secret, SessionId, SideEffects, Timestamp, UserId};
use pia_storage::schema::{accounts, app_passwords, mailed_tokens, mails};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_identity::{
    SqlAccounts, SqlChallenges, SqlEmailTokens, SqlPasskeys, SqlPasswords, SqlSessions,
};

use crate::api_keys;
use crate::factors::enable;
use crate::mailed_tokens::{put, token};
use crate::passkeys;
use crate::people::{
    START, begin_as_of, count_audited, create_person, deactivate, epoch, fresh, new_session, only,
};

pia_testkit::contract! {
    a_reset_replaces_the_password_and_ends_every_session,
    one_of_concurrent_uses_of_a_token_resets,
    one_of_concurrently_presented_tokens_resets,
    a_foreign_wrong_or_expired_token_resets_nothing,
    a_reset_revokes_possibly_compromised_access,
    a_reset_keeps_the_factor_and_passkeys_of_a_verified_account,
    a_reset_deletes_passkeys_added_before_the_address_was_verified,
    a_reset_sets_no_password_on_an_account_without_one,
    a_reset_of_a_deactivated_account_changes_nothing,
    a_change_replaces_the_password_and_ends_the_other_sessions,
    one_of_concurrent_changes_succeeds,
    one_of_a_concurrent_change_and_reset_succeeds,
    a_change_keeps_app_passwords_and_keys_and_ends_pending_flows,
    a_change_revokes_app_passwords_and_keys_on_demand,
    a_change_of_a_deactivated_account_changes_nothing,
    a_sign_in_with_the_previous_password_is_stale,
    a_reset_ends_concurrent_sign_ins_with_the_previous_password,
    rehashing_does_not_outdate_sign_ins,
}

const RESET: EmailTokenPurpose = EmailTokenPurpose::PasswordReset;

fn end_effects(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "ended")
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn reset(user: UserId, token: u8, password: &str) -> PasswordReset {
    let email = QueuedEmail::new("password-changed").to_user(START, user);
    PasswordReset {
        user,
        token: TokenHash([token; 32]),
        password_hash: secret(password),
        at: START,
        effects: SideEffects::audit(START, user, "reset").and_mail(email),
        if_ended: end_effects,
    }
}

fn change(by: SessionRef, old: &str, new: &str) -> PasswordChange {
    PasswordChange {
        by,
        old: secret(old),
        new: secret(new),
        revoke_app_access: false,
        at: START,
        effects: |user, at, left| {
            let email =
                QueuedEmail::new("password-changed").with("apiKeys", left.api_keys.to_string());
            SideEffects::audit(at, user, "changed").and_mail(email.to_user(at, user))
        },
        if_ended: end_effects,
        if_revoked: AppAccessRevoked {
            app_password: |user, at| SideEffects::audit(at, user, "app password revoked"),
            api_key: |session_ref, at| SideEffects::audit(at, session_ref.user, "key revoked"),
        },
    }
}

/// Creates a user whose stored hash is `first`, with a token for a reset.
async fn create_user_with_token(db: &Database) -> (UserId, SqlPasswords) {
    let user = create_person(db, "ada@example.org").await;
    put(db, user, token(1, RESET)).await;
    (user, SqlPasswords::new(db.clone()))
}

async fn begin_session(db: &Database, user: UserId, token: u8) -> SessionRef {
    let new = new_session(user, TokenHash([token; 32]), START);
    let session = new.session;
    let sessions = SqlSessions::new(db.clone());
    sessions
        .begin(fresh(db, new).await, 10, SideEffects::default(), only(end_effects))
        .await
        .unwrap();
    SessionRef { user, session }
}

async fn is_live(db: &Database, session_ref: SessionRef) -> bool {
    let accounts = SqlAccounts::new(db.clone());
    accounts.caller_state(session_ref.user, session_ref.session, START).await.unwrap().is_some()
}

async fn stored_hash(db: &Database, email: &str) -> Option<String> {
    let credentials = SqlAccounts::new(db.clone()).by_email(email).await.unwrap();
    credentials.unwrap().password_hash.map(|it| it.expose().clone())
}

async fn add_app_password(db: &Database, user: UserId) {
    let row = (
        app_passwords::id.eq(DbUid(AppPasswordId::generate().0)),
        app_passwords::user_id.eq(DbUid(user.0)),
        app_passwords::name.eq("an app"),
        app_passwords::hash.eq(vec![7; 32]),
        app_passwords::created_at.eq(DbInstant(START)),
    );
    let insertion = diesel::insert_into(app_passwords::table).values(row);
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| insertion.execute(conn).await?);

    assert_eq!(result.unwrap(), 1);
}

/// Returns the number of tokens, emails and app passwords.
async fn rows(db: &Database) -> [i64; 3] {
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| {
        let tokens = mailed_tokens::table.count().get_result(conn).await?;
        let emails = mails::table.count().get_result(conn).await?;
        [tokens, emails, app_passwords::table.count().get_result(conn).await?]
    });
    result.unwrap()
}

async fn a_reset_replaces_the_password_and_ends_every_session(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let first_session = begin_session(&db, user, 101).await;
    let second_session = begin_session(&db, user, 102).await;

    let was_reset = passwords.reset(reset(user, 1, "second")).await.unwrap();

    assert!(was_reset);
    assert_eq!(stored_hash(&db, "ada@example.org").await.as_deref(), Some("second"));
    assert!(!is_live(&db, first_session).await && !is_live(&db, second_session).await);
    assert_eq!(count_audited(&db, user, "reset").await, 1);
    assert_eq!(count_audited(&db, user, "ended").await, 2);
    let account = SqlAccounts::new(db).find(user).await.unwrap().unwrap();
    assert_eq!(account.email_verified_at, Some(START), "the email was read");
}

async fn one_of_concurrent_uses_of_a_token_resets(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let texts: Vec<_> = (0..64).map(|it| format!("password {it}")).collect();

    let outcomes = join_all(texts.iter().map(|it| passwords.reset(reset(user, 1, it)))).await;

    let good: Vec<_> =
        outcomes.into_iter().zip(&texts).filter(|(it, _)| *it.as_ref().unwrap()).collect();
    assert_eq!(good.len(), 1);
    assert_eq!(stored_hash(&db, "ada@example.org").await.as_ref(), Some(good[0].1));
    assert_eq!(count_audited(&db, user, "reset").await, 1);
}

async fn one_of_concurrently_presented_tokens_resets(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    put(&db, user, token(2, RESET)).await;
    put(&db, user, token(3, RESET)).await;

    let calls = (0..63).map(|it| passwords.reset(reset(user, it % 3 + 1, "second")));
    let outcomes = join_all(calls).await;

    assert_eq!(outcomes.into_iter().filter(|it| *it.as_ref().unwrap()).count(), 1);
}

async fn a_foreign_wrong_or_expired_token_resets_nothing(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let eve = create_person(&db, "eve@example.org").await;
    put(&db, user, token(2, EmailTokenPurpose::Verification)).await;
    let late_reset = PasswordReset { at: token(1, RESET).expires_at, ..reset(user, 1, "second") };

    for refused in [reset(eve, 1, "second"), reset(user, 2, "second"), late_reset] {
        assert!(!passwords.reset(refused).await.unwrap());
    }
    assert_eq!(stored_hash(&db, "ada@example.org").await.as_deref(), Some("first"));
    assert_eq!(stored_hash(&db, "eve@example.org").await.as_deref(), Some("first"));
    assert!(passwords.reset(reset(user, 1, "second")).await.unwrap());
}

async fn a_reset_revokes_possibly_compromised_access(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    enable(&db, user).await;
    let challenges = SqlChallenges::new(db.clone());
    let challenge = TokenHash([9; 32]);
    let expires_at = START + Duration::from_mins(5);
    let epoch = epoch(&db, user).await;
    let new = NewChallenge { hash: challenge, user, epoch, expires_at };
    assert_eq!(challenges.open(new).await.unwrap(), SessionStartOutcome::Done);

    put(&db, user, token(2, RESET)).await;
    add_app_password(&db, user).await;
    let of_a_script = api_keys::create_key(&db, user, 8).await;
    let previous_scope = api_keys::scope(&db, of_a_script, 1).await;

    assert!(passwords.reset(reset(user, 1, "second")).await.unwrap());

    assert_eq!(rows(&db).await, [0, 1, 0]);
    assert!(previous_scope.is_some());
    assert!(api_keys::scope(&db, of_a_script, 1).await.is_none());
    assert_eq!(challenges.owner(challenge, 5, START).await.unwrap(), None);
}

async fn a_reset_keeps_the_factor_and_passkeys_of_a_verified_account(db: Database) {
    use pia_identity::{FactorState, FactorStore};
    let (user, passwords) = create_user_with_token(&db).await;
    put(&db, user, token(9, EmailTokenPurpose::Verification)).await;
    let tokens = SqlEmailTokens::new(db.clone());
    assert!(tokens.verify(user, TokenHash([9; 32]), START, SideEffects::default()).await.unwrap());

    passkeys::add_to(&db, user).await;
    let eve = create_person(&db, "eve@example.org").await;
    enable(&db, user).await;
    let hers = begin_session(&db, eve, 101).await;
    let of_her_script = api_keys::create_key(&db, eve, 8).await;
    put(&db, eve, token(2, RESET)).await;
    add_app_password(&db, eve).await;

    assert!(passwords.reset(reset(user, 1, "second")).await.unwrap());

    assert!(api_keys::scope(&db, of_her_script, 1).await.is_some());
    let factor = pia_storage_identity::SqlFactors::new(db.clone()).factor(user).await.unwrap();
    assert!(factor.is_some_and(|it| it.state == FactorState::On));
    assert_eq!(SqlPasskeys::new(db.clone()).of_user(user).await.unwrap().len(), 1);
    assert!(is_live(&db, hers).await);
    assert_eq!(rows(&db).await, [1, 1, 1]);
    assert_eq!(stored_hash(&db, "eve@example.org").await.as_deref(), Some("first"));
}

/// Registering another user's address first gives no access.
async fn a_reset_deletes_passkeys_added_before_the_address_was_verified(db: Database) {
    use pia_identity::{FactorState, FactorStore};
    let (user, passwords) = create_user_with_token(&db).await;
    enable(&db, user).await;
    passkeys::add_to(&db, user).await;

    assert!(passwords.reset(reset(user, 1, "second")).await.unwrap());

    let factor = pia_storage_identity::SqlFactors::new(db.clone()).factor(user).await.unwrap();
    assert!(factor.is_some_and(|it| it.state == FactorState::On));
    assert_eq!(SqlPasskeys::new(db.clone()).of_user(user).await.unwrap(), []);
}

async fn a_reset_sets_no_password_on_an_account_without_one(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let without = diesel::update(accounts::table.find(DbUid(user.0)))
        .set(accounts::password_hash.eq(None::<String>));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| without.execute(conn).await?);
    assert_eq!(result.unwrap(), 1);
    let session = begin_session(&db, user, 101).await;

    assert!(!passwords.reset(reset(user, 1, "second")).await.unwrap());

    assert_eq!(stored_hash(&db, "ada@example.org").await, None);
    assert!(is_live(&db, session).await);
}

async fn a_reset_of_a_deactivated_account_changes_nothing(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    deactivate(&db, user).await;

    assert!(!passwords.reset(reset(user, 1, "second")).await.unwrap());

    assert_eq!(count_audited(&db, user, "reset").await, 0);
    assert_eq!(rows(&db).await, [1, 0, 0]);
}

async fn a_change_replaces_the_password_and_ends_the_other_sessions(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let own_session = begin_session(&db, user, 101).await;
    let other_session = begin_session(&db, user, 102).await;

    let remaining_access = passwords.change(change(own_session, "first", "second")).await.unwrap();

    assert_eq!(remaining_access, Some(AppAccess::default()));
    assert_eq!(stored_hash(&db, "ada@example.org").await.as_deref(), Some("second"));
    assert!(is_live(&db, own_session).await && !is_live(&db, other_session).await);
    assert_eq!(count_audited(&db, user, "changed").await, 1);
    assert_eq!(count_audited(&db, user, "ended").await, 1);
}

async fn one_of_concurrent_changes_succeeds(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let by = SessionRef { user, session: SessionId::generate() };
    let texts: Vec<_> = (0..64).map(|it| format!("password {it}")).collect();

    let outcomes = join_all(texts.iter().map(|it| passwords.change(change(by, "first", it)))).await;

    assert_eq!(outcomes.into_iter().filter(|it| it.as_ref().unwrap().is_some()).count(), 1);
    assert_eq!(count_audited(&db, user, "changed").await, 1);
}

async fn one_of_a_concurrent_change_and_reset_succeeds(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let by = SessionRef { user, session: SessionId::generate() };

    let (changed, was_reset) = futures_util::join!(
        passwords.change(change(by, "first", "by the thief")),
        passwords.reset(reset(user, 1, "by the owner")),
    );

    // A change that comes first invalidates the token: the owner requests a new one.
    assert_ne!(changed.unwrap().is_some(), was_reset.unwrap());
}

async fn a_change_keeps_app_passwords_and_keys_and_ends_pending_flows(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let by = begin_session(&db, user, 101).await;
    put(&db, user, token(2, EmailTokenPurpose::Verification)).await;
    add_app_password(&db, user).await;
    let of_a_script = api_keys::create_key(&db, user, 8).await;

    let remaining_access = passwords.change(change(by, "first", "second")).await.unwrap();

    assert_eq!(remaining_access, Some(AppAccess { app_passwords: 1, api_keys: 1 }));
    assert_eq!(rows(&db).await, [1, 1, 1]);
    assert!(api_keys::scope(&db, of_a_script, 1).await.is_some());
    let tokens = SqlEmailTokens::new(db.clone());
    assert_eq!(tokens.owner(TokenHash([1; 32]), RESET, START).await.unwrap(), None);
}

async fn a_change_revokes_app_passwords_and_keys_on_demand(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let by = begin_session(&db, user, 101).await;
    add_app_password(&db, user).await;
    let revoked_keys =
        [api_keys::create_key(&db, user, 8).await, api_keys::create_key(&db, user, 9).await];
    let other_user = create_person(&db, "bob@example.org").await;
    let of_other = api_keys::create_key(&db, other_user, 10).await;

    let change = PasswordChange { revoke_app_access: true, ..change(by, "first", "second") };
    let remaining_access = passwords.change(change).await.unwrap();

    assert_eq!(remaining_access, Some(AppAccess::default()));
    for key in revoked_keys {
        assert!(api_keys::scope(&db, key, 1).await.is_none());
    }
    assert!(api_keys::scope(&db, of_other, 1).await.is_some());
    assert_eq!(count_audited(&db, user, "app password revoked").await, 1);
    assert_eq!(count_audited(&db, user, "key revoked").await, 2);
}

async fn a_change_of_a_deactivated_account_changes_nothing(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let by = begin_session(&db, user, 101).await;
    deactivate(&db, user).await;

    assert_eq!(passwords.change(change(by, "first", "second")).await.unwrap(), None);

    assert_eq!(count_audited(&db, user, "changed").await, 0);
}

async fn open_as_of(
    db: &Database,
    user: UserId,
    epoch: CredentialsEpoch,
    token: u8,
) -> SessionStartOutcome {
    let hash = TokenHash([token; 32]);
    let expires_at = START + Duration::from_mins(5);
    let new = NewChallenge { hash, user, epoch, expires_at };
    SqlChallenges::new(db.clone()).open(new).await.unwrap()
}

async fn a_sign_in_with_the_previous_password_is_stale(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let by = begin_session(&db, user, 101).await;
    let first_epoch = epoch(&db, user).await;

    assert!(passwords.change(change(by, "first", "second")).await.unwrap().is_some());
    let second_epoch = epoch(&db, user).await;
    put(&db, user, token(1, RESET)).await;
    assert!(passwords.reset(reset(user, 1, "third")).await.unwrap());
    let third_epoch = epoch(&db, user).await;

    for before in [first_epoch, second_epoch] {
        assert_eq!(begin_as_of(&db, user, before, 1).await, SessionStartOutcome::Stale);
        assert_eq!(open_as_of(&db, user, before, 1).await, SessionStartOutcome::Stale);
    }
    assert_eq!(begin_as_of(&db, user, third_epoch, 1).await, SessionStartOutcome::Done);
    assert_eq!(open_as_of(&db, user, third_epoch, 1).await, SessionStartOutcome::Done);
}

async fn a_reset_ends_concurrent_sign_ins_with_the_previous_password(db: Database) {
    let (user, passwords) = create_user_with_token(&db).await;
    let previous_epoch = epoch(&db, user).await;

    let (_started, was_reset, _opened) = futures_util::join!(
        join_all((0..16).map(|it| begin_as_of(&db, user, previous_epoch, it))),
        passwords.reset(reset(user, 1, "second")),
        join_all((0..16).map(|it| open_as_of(&db, user, previous_epoch, it))),
    );

    assert!(was_reset.unwrap());
    let sessions = SqlSessions::new(db.clone());
    let challenges = SqlChallenges::new(db);
    for token in (0..16).map(|it| TokenHash([it; 32])) {
        assert_eq!(sessions.session_of(token).await.unwrap(), None);
        assert_eq!(challenges.owner(token, 5, START).await.unwrap(), None);
    }
}

async fn rehashing_does_not_outdate_sign_ins(db: Database) {
    let user = create_person(&db, "ada@example.org").await;
    let accounts = SqlAccounts::new(db.clone());
    let previous_epoch = epoch(&db, user).await;

    accounts.rehash(user, &secret("first"), &secret("anew")).await.unwrap();

    assert_eq!(stored_hash(&db, "ada@example.org").await.as_deref(), Some("anew"));
    assert_eq!(begin_as_of(&db, user, previous_epoch, 1).await, SessionStartOutcome::Done);
}
