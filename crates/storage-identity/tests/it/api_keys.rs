//! Contract tests of API keys.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use pia_identity::{
    AccountStore, ApiKeyEntry, ApiKeyHash, ApiKeyRef, ApiKeyRemoval, ApiKeyStore,
    CredentialStoreOutcome, KeyScope, KeyUse, NewApiKey, RecoveryHash, SessionRef, SessionScope,
    SessionStore, Step, TokenHash, VerifiedProof,
};
use pia_kernel::{ApiKeyId, SessionId, SideEffects, UserId};
use pia_storage::schema::api_keys;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_storage_identity::{SqlAccounts, SqlApiKeys, SqlSessions};

use crate::people::{
    START, count_audited, create_person, deactivate, fresh, new_session, nothing, remove,
};

pia_testkit::contract! {
    a_key_is_found_by_its_hash_and_listed_for_its_owner_only,
    concurrent_keys_respect_the_limit,
    a_consumed_proof_creates_no_key,
    an_ended_or_foreign_session_creates_no_key,
    a_key_authenticates_its_owner_until_it_expires,
    a_key_of_a_deactivated_account_is_rejected,
    a_key_with_unknown_scopes_is_rejected,
    the_use_of_a_key_is_recorded_at_intervals,
    a_key_is_deleted_once_and_by_its_owner_only,
    one_of_concurrent_deletions_is_audited,
    keys_are_deleted_with_their_account,
}

async fn begin(db: &Database, user: UserId, token: u8) -> SessionId {
    let new = fresh(db, new_session(user, TokenHash([token; 32]), START)).await;
    let session = new.session;
    SqlSessions::new(db.clone()).begin(new, 100, SideEffects::default(), nothing()).await.unwrap();
    session
}

/// API key created in a session of its own.
async fn new(db: &Database, user: UserId, number: u8) -> NewApiKey {
    new_in(begin(db, user, number).await, user, number)
}

fn new_in(session: SessionId, user: UserId, number: u8) -> NewApiKey {
    let entry = ApiKeyEntry {
        id: ApiKeyId::generate(),
        name: format!("key {number}"),
        scopes: vec![KeyScope::Ai],
        weekly_credits: number.into(),
        created_at: START + Duration::from_secs(number.into()),
        expires_at: None,
        used_at: None,
    };
    NewApiKey { entry, by: SessionRef { user, session }, hash: ApiKeyHash([number; 32]) }
}

async fn add(db: &Database, new: NewApiKey, verified: VerifiedProof) -> CredentialStoreOutcome {
    let effects = SideEffects::audit(START, new.by.user, "added");
    SqlApiKeys::new(db.clone()).add(new, 3, verified, effects).await.unwrap()
}

/// Stores the API key of this number, and returns its reference.
pub(crate) async fn create_key(db: &Database, user: UserId, number: u8) -> ApiKeyRef {
    let new = new(db, user, number).await;
    let key = new.entry.id;
    assert_eq!(add(db, new, VerifiedProof::Password).await, CredentialStoreOutcome::Done);
    ApiKeyRef { user, key }
}

fn removal(key: ApiKeyRef) -> ApiKeyRemoval {
    ApiKeyRemoval { key, by: Some(key.user), at: START }
}

fn removal_effects(removal: ApiKeyRemoval, name: &str) -> SideEffects {
    assert_eq!(name, "key 1");
    SideEffects::audit(removal.at, removal.key.user, "removed")
}

pub(crate) async fn scope(db: &Database, key_ref: ApiKeyRef, second: u64) -> Option<SessionScope> {
    let now = START + Duration::from_secs(second);
    let state = SqlAccounts::new(db.clone()).key_state(key_ref, now).await.unwrap();
    state.map(|it| {
        assert_eq!(it.user, key_ref.user);
        assert_eq!(it.credential, key_ref.into());
        it.scope
    })
}

async fn a_key_is_found_by_its_hash_and_listed_for_its_owner_only(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let later_key = new(&db, ada, 2).await;
    let sooner = new(&db, ada, 1).await;
    let later = NewApiKey {
        entry: ApiKeyEntry { expires_at: Some(START + Duration::from_hours(1)), ..later_key.entry },
        ..later_key
    };
    let keys = SqlApiKeys::new(db.clone());

    add(&db, later.clone(), VerifiedProof::Password).await;
    add(&db, sooner.clone(), VerifiedProof::SignIn).await;

    let key_ref = ApiKeyRef { user: ada, key: sooner.entry.id };
    assert_eq!(keys.find(ApiKeyHash([1; 32])).await.unwrap(), Some(key_ref));
    assert_eq!(keys.find(ApiKeyHash([9; 32])).await.unwrap(), None);
    assert_eq!(keys.owner(key_ref.key).await.unwrap(), Some(ada));
    assert_eq!(keys.owner(ApiKeyId::generate()).await.unwrap(), None);
    assert_eq!(keys.list(ada).await.unwrap(), [sooner.entry, later.entry]);
    assert_eq!(keys.list(bob).await.unwrap(), []);
    assert_eq!(count_audited(&db, ada, "added").await, 2);
}

async fn concurrent_keys_respect_the_limit(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let session = begin(&db, ada, 100).await;

    let calls =
        (0..16).map(|number| add(&db, new_in(session, ada, number), VerifiedProof::Password));
    let outcomes = join_all(calls).await;

    let stored_count = outcomes.iter().filter(|it| **it == CredentialStoreOutcome::Done).count();
    let listed_count = SqlApiKeys::new(db.clone()).list(ada).await.unwrap().len();
    assert_eq!(stored_count, 3);
    assert_eq!(listed_count, 3);
    assert_eq!(outcomes.iter().filter(|it| **it == CredentialStoreOutcome::Full).count(), 13);
    assert_eq!(count_audited(&db, ada, "added").await, 3);
}

async fn a_consumed_proof_creates_no_key(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;

    let by_code = add(&db, new(&db, ada, 1).await, VerifiedProof::Code(Step(1))).await;
    let by_paper =
        add(&db, new(&db, ada, 2).await, VerifiedProof::RecoveryCode(RecoveryHash([7; 32]))).await;

    assert_eq!(by_code, CredentialStoreOutcome::Stale);
    assert_eq!(by_paper, CredentialStoreOutcome::Stale);
    assert_eq!(count_audited(&db, ada, "added").await, 0);
}

async fn an_ended_or_foreign_session_creates_no_key(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let bobs_session = begin(&db, bob, 1).await;
    let mut late = new(&db, ada, 2).await;
    late.entry.created_at = START + Duration::from_hours(2);
    let deactivated = new(&db, bob, 3).await;
    deactivate(&db, bob).await;

    let unknown = new_in(SessionId::generate(), ada, 4);
    for new_key in [unknown, new_in(bobs_session, ada, 5), late, deactivated] {
        assert_eq!(add(&db, new_key, VerifiedProof::Password).await, CredentialStoreOutcome::Gone);
    }
}

async fn a_key_authenticates_its_owner_until_it_expires(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let endless = create_key(&db, ada, 1).await;
    let mut short = new(&db, ada, 2).await;
    short.entry.expires_at = Some(START + Duration::from_secs(10));
    let ending = ApiKeyRef { user: ada, key: short.entry.id };
    add(&db, short, VerifiedProof::Password).await;

    let as_key = |key_ref: ApiKeyRef, weekly_credits| {
        Some(SessionScope::Key(KeyUse { key: key_ref.key, weekly_credits }))
    };
    assert_eq!(scope(&db, endless, 1_000_000).await, as_key(endless, 1));
    assert_eq!(scope(&db, ending, 9).await, as_key(ending, 2));
    assert_eq!(scope(&db, ending, 10).await, None);
    let state = SqlAccounts::new(db.clone()).key_state(ending, START).await.unwrap();
    assert_eq!(state.unwrap().key_expires_at, Some(START + Duration::from_secs(10)));
    assert_eq!(scope(&db, ApiKeyRef { user: bob, ..endless }, 0).await, None);
    assert_eq!(scope(&db, ApiKeyRef { key: ApiKeyId::generate(), ..endless }, 0).await, None);
}

async fn a_key_of_a_deactivated_account_is_rejected(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let key_ref = create_key(&db, ada, 1).await;

    deactivate(&db, ada).await;

    assert_eq!(scope(&db, key_ref, 1).await, None);
}

async fn a_key_with_unknown_scopes_is_rejected(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let key_ref = create_key(&db, ada, 1).await;

    let newer = diesel::update(api_keys::table.find(DbUid(key_ref.key.0)))
        .set(api_keys::scopes.eq("ai some-of-it"));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| newer.execute(conn).await?);

    assert_eq!(result.unwrap(), 1);
    assert_eq!(scope(&db, key_ref, 1).await, None);
}

async fn the_use_of_a_key_is_recorded_at_intervals(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let key_ref = create_key(&db, ada, 1).await;
    let other_key = create_key(&db, ada, 2).await;
    let keys = SqlApiKeys::new(db);
    let at = |second| START + Duration::from_secs(second);
    let mut used_at = Vec::new();

    for second in [100, 159, 160, 100] {
        keys.record_use(key_ref.key, at(second), at(second - 60)).await.unwrap();
        used_at.push(keys.list(ada).await.unwrap()[0].used_at);
    }

    assert_eq!(used_at, [100, 100, 160, 160].map(|it| Some(at(it))));
    let listed_keys = keys.list(ada).await.unwrap();
    assert_eq!(listed_keys[1].id, other_key.key);
    assert_eq!(listed_keys[1].used_at, None);
}

async fn a_key_is_deleted_once_and_by_its_owner_only(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let bob = create_person(&db, "bob@example.org").await;
    let key_ref = create_key(&db, ada, 1).await;
    let other_key = create_key(&db, ada, 2).await;
    let keys = SqlApiKeys::new(db.clone());
    let remove = async |key| keys.remove(removal(key), removal_effects).await.unwrap();

    let removals = [
        remove(ApiKeyRef { user: bob, ..key_ref }).await,
        remove(key_ref).await,
        remove(key_ref).await,
    ];

    assert_eq!(removals, [false, true, false]);
    assert_eq!(scope(&db, key_ref, 1).await, None);
    assert!(scope(&db, other_key, 1).await.is_some());
    assert_eq!(count_audited(&db, ada, "removed").await, 1);
}

async fn one_of_concurrent_deletions_is_audited(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let key_ref = create_key(&db, ada, 1).await;
    let keys = SqlApiKeys::new(db.clone());

    let outcomes = join_all((0..8).map(|_| keys.remove(removal(key_ref), removal_effects))).await;

    let done_count = outcomes.into_iter().filter(|it| *it.as_ref().unwrap()).count();
    assert_eq!(done_count, 1);
    assert_eq!(count_audited(&db, ada, "removed").await, 1);
}

async fn keys_are_deleted_with_their_account(db: Database) {
    let ada = create_person(&db, "ada@example.org").await;
    let key_ref = create_key(&db, ada, 1).await;

    remove(&db, ada).await;

    let keys = SqlApiKeys::new(db);
    assert_eq!(keys.list(ada).await.unwrap(), []);
    assert_eq!(keys.find(ApiKeyHash([1; 32])).await.unwrap(), None);
    assert_eq!(keys.owner(key_ref.key).await.unwrap(), None);
}
