//! Contract tests of SCIM tokens.

use std::time::Duration;

use futures_util::future::join_all;
use pia_identity::{NewScimToken, ScimScope, ScimTokenEntry, ScimTokenStore, TokenHash};
use pia_kernel::{ScimTokenId, SideEffects, UserId};
use pia_storage::Database;
use pia_storage_identity::SqlScimTokens;

use crate::people::{HOUR, START, create_person, remove};

pia_testkit::contract! {
    a_token_is_found_by_its_hash_until_it_is_removed,
    of_concurrent_additions_no_more_are_stored_than_allowed,
    the_use_of_a_token_is_stored_once_in_an_interval,
    a_token_outlives_the_administrator_who_created_it,
}

fn new_token(created_by: UserId, byte: u8) -> NewScimToken {
    let entry = ScimTokenEntry {
        id: ScimTokenId::generate(),
        name: "Entra".to_owned(),
        scopes: vec![ScimScope::Users, ScimScope::Groups],
        created_at: START,
        expires_at: START + HOUR,
        used_at: None,
    };
    NewScimToken { entry, hash: TokenHash([byte; 32]), created_by }
}

async fn add(store: &SqlScimTokens, new: NewScimToken, max: usize) -> bool {
    store.add(new, max, SideEffects::default()).await.unwrap()
}

async fn a_token_is_found_by_its_hash_until_it_is_removed(db: Database) {
    let store = SqlScimTokens::new(db.clone());
    let admin = create_person(&db, "ada@example.org").await;
    let new = new_token(admin, 1);
    assert!(add(&store, new.clone(), 20).await);

    assert_eq!(store.list().await.unwrap(), std::slice::from_ref(&new.entry));
    assert_eq!(store.find(new.hash).await.unwrap(), Some(new.entry.clone()));
    assert_eq!(store.find(TokenHash([2; 32])).await.unwrap(), None);

    let gone = [
        store.remove(new.entry.id, SideEffects::default()).await.unwrap(),
        store.remove(new.entry.id, SideEffects::default()).await.unwrap(),
    ];
    assert_eq!(gone, [true, false]);
    assert_eq!(store.find(new.hash).await.unwrap(), None);
}

async fn of_concurrent_additions_no_more_are_stored_than_allowed(db: Database) {
    let store = SqlScimTokens::new(db.clone());
    let admin = create_person(&db, "ada@example.org").await;

    let outcomes = join_all((0..16).map(|it| add(&store, new_token(admin, it), 5))).await;

    assert_eq!(outcomes.into_iter().filter(|it| *it).count(), 5);
    assert_eq!(store.list().await.unwrap().len(), 5);
}

async fn the_use_of_a_token_is_stored_once_in_an_interval(db: Database) {
    let store = SqlScimTokens::new(db.clone());
    let admin = create_person(&db, "ada@example.org").await;
    let new = new_token(admin, 1);
    add(&store, new.clone(), 20).await;
    let minute = Duration::from_mins(1);

    store.record_use(new.entry.id, START, START - minute).await.unwrap();
    let soon = START + Duration::from_secs(5);
    store.record_use(new.entry.id, soon, soon - minute).await.unwrap();
    assert_eq!(store.list().await.unwrap()[0].used_at, Some(START));
    store.record_use(new.entry.id, START + minute, START).await.unwrap();

    assert_eq!(store.list().await.unwrap()[0].used_at, Some(START + minute));
}

async fn a_token_outlives_the_administrator_who_created_it(db: Database) {
    let store = SqlScimTokens::new(db.clone());
    let admin = create_person(&db, "ada@example.org").await;
    add(&store, new_token(admin, 1), 20).await;

    remove(&db, admin).await;

    assert_eq!(store.list().await.unwrap().len(), 1);
}
