//! SCIM tokens: creation, verification, revocation.

use pia_testkit::FixedClock;

use super::*;
use crate::ports::MockScimTokenStore;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn tokens(store: MockScimTokenStore) -> ScimTokens {
    ScimTokens::new(Arc::new(store), Arc::new(FixedClock(NOW)))
}

fn options(name: &str) -> ScimTokenOptions {
    ScimTokenOptions { name: Some(name.to_owned()), ..ScimTokenOptions::default() }
}

fn entry(expires_at: Timestamp, used_at: Option<Timestamp>) -> ScimTokenEntry {
    ScimTokenEntry {
        id: ScimTokenId::generate(),
        name: "Entra".to_owned(),
        scopes: vec![ScimScope::Users],
        created_at: NOW,
        expires_at,
        used_at,
    }
}

#[tokio::test]
async fn only_the_hash_of_a_new_token_is_stored_and_it_authenticates() {
    let mut store = MockScimTokenStore::new();
    let stored_row = Arc::new(std::sync::Mutex::new(None));
    let by = UserId::generate();
    let rows = Arc::clone(&stored_row);
    store.expect_add().once().returning(move |new, max, effects| {
        assert_eq!(max, 20);
        assert_eq!(new.created_by, by);
        assert_eq!(effects.audit[0].actor, Some(by));
        assert_eq!(effects.audit[0].action, "ScimToken.Created");
        *rows.lock().unwrap() = Some(new);
        Ok(true)
    });
    let rows = Arc::clone(&stored_row);
    store.expect_find().returning(move |hash| {
        let new = rows.lock().unwrap().clone();
        Ok(new.filter(|it| it.hash == hash).map(|it| it.entry))
    });
    store.expect_record_use().once().returning(|_, _, _| Ok(()));
    let tokens = tokens(store);

    let new_token = tokens.create(by, options("Entra")).await.unwrap();

    assert_eq!(new_token.entry.scopes, ScimScope::ALL);
    assert_eq!(new_token.entry.expires_at, NOW + DEFAULT_LIFETIME);
    let client = tokens.authenticate(&new_token.token).await.unwrap().unwrap();
    assert_eq!(client.token, new_token.entry.id);
    assert_eq!(client.name, "Entra");
}

#[tokio::test]
async fn an_expired_token_and_anything_else_authenticate_nobody() {
    let mut store = MockScimTokenStore::new();
    store.expect_find().returning(|_| Ok(Some(entry(NOW, None))));
    let tokens = tokens(store);

    for presented in [
        format!("{PREFIX}{}", "a".repeat(43)),
        format!("pia_{}", "a".repeat(43)),
        "a".repeat(43),
        String::new(),
    ] {
        let client = tokens.authenticate(&Secret::new(presented.clone())).await.unwrap();
        assert_eq!(client, None, "{presented}");
    }
}

#[tokio::test]
async fn the_use_of_a_token_is_stored_once_a_minute() {
    let mut store = MockScimTokenStore::new();
    let just_now = NOW - Duration::from_secs(59);
    store.expect_find().returning(move |_| Ok(Some(entry(NOW + USE_INTERVAL, Some(just_now)))));
    store.expect_record_use().never();

    let token = Secret::new(format!("{PREFIX}{}", "a".repeat(43)));
    assert!(tokens(store).authenticate(&token).await.unwrap().is_some());
}

#[tokio::test]
async fn every_invalid_option_is_reported() {
    let wrong_options = ScimTokenOptions {
        name: Some(" ".to_owned()),
        scopes: Some(vec!["admin".to_owned()]),
        expires_at: Some(NOW),
    };

    let err = tokens(MockScimTokenStore::new()).create(UserId::generate(), wrong_options).await;

    let Err(CreateScimTokenError::Invalid(violations)) = err else { panic!("{err:?}") };
    let fields: Vec<_> = violations.iter().map(|it| it.field).collect();
    assert_eq!(fields, ["name", "scopes", "expiresAt"]);
}

#[tokio::test]
async fn a_token_too_many_and_an_unknown_one_are_refused() {
    let mut store = MockScimTokenStore::new();
    store.expect_add().returning(|_, _, _| Ok(false));
    store.expect_remove().returning(|_, _| Ok(false));
    let tokens = tokens(store);
    let by = UserId::generate();

    let creation_result = tokens.create(by, options("Okta")).await;
    let outcome = tokens.revoke(by, ScimTokenId::generate()).await;

    assert!(matches!(creation_result, Err(CreateScimTokenError::Full { limit: 20 })));
    assert!(matches!(outcome, Err(RevokeScimTokenError::Unknown)));
}
