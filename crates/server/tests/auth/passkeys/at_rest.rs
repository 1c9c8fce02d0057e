//! Tests of passkeys in the database.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_server_testkit::credentials::{enrol, passkey_options};
use pia_storage::schema::{
    accounts, audit_entries, audit_identities, passkey_challenges, passkeys,
};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use uuid::Uuid;

use super::*;

on_both_databases!(
    each_step_is_audited,
    neither_tokens_nor_the_attestation_are_stored,
    a_deactivated_account_cannot_sign_in,
);

fn open(app: &TestApp) -> Database {
    let startup = app.config.latest().database.startup.clone();
    Database::open(&startup.target, startup.options).expect("a database")
}

fn id(client: &Client) -> DbUid {
    let user = client.user.as_deref().and_then(|it| it.parse::<Uuid>().ok());
    DbUid(user.expect("an id"))
}

async fn each_step_is_audited(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::counting();
    let passkey = enrol(&ada, &mut key, "Key").await;
    sign_in(&app, &mut key).await;
    key.counter = 1;
    sign_in(&app, &mut key).await;
    remove(&ada, &passkey).await;

    let entries = audit_entries::table
        .inner_join(audit_identities::table)
        .filter(audit_identities::user_id.eq(id(&ada)))
        .filter(audit_entries::action.like("passkey.%"))
        .order(audit_entries::id)
        .select(audit_entries::action);
    let db = open(&app);
    let result: Result<Vec<String>, DbError> =
        on_conn!(db.reader(), |conn| entries.load(conn).await?);
    let mut actions = result.expect("entries");
    actions.dedup();

    assert_eq!(actions, ["passkey.added", "passkey.used", "passkey.cloned", "passkey.removed"]);
}

async fn neither_tokens_nor_the_attestation_are_stored(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    enrol(&ada, &mut Authenticator::counting(), "Key").await;
    let tokens = [passkey_options(&ada).await, sign_in_options(&app).await];

    let db = open(&app);
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| {
        let keys: Vec<String> = passkeys::table.select(passkeys::credential).load(conn).await?;
        let hashes: Vec<Vec<u8>> =
            passkey_challenges::table.select(passkey_challenges::hash).load(conn).await?;
        let states: Vec<String> =
            passkey_challenges::table.select(passkey_challenges::state).load(conn).await?;
        (keys, hashes, states)
    });
    let (keys, hashes, states) = result.expect("rows");

    let key: Value = serde_json::from_str(&keys[0]).expect("JSON");
    assert_eq!(key["attestation"], json!({ "data": "None", "metadata": "None" }));
    assert_eq!(key["counter"], 0, "the counter has its own column");
    assert_eq!(hashes.len(), 2);
    assert_eq!(states.len(), 2);
    for token in &tokens {
        let token = text(&token["challengeToken"]);
        assert!(states.iter().all(|it| !it.contains(token)));
        assert!(hashes.iter().all(|it| it.as_slice() != token.as_bytes()));
    }
}

async fn a_deactivated_account_cannot_sign_in(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;
    let unknown_response = sign_in(&app, &mut Authenticator::new()).await;

    let now = DbInstant(SystemClock.now());
    let update =
        diesel::update(accounts::table.find(id(&ada))).set(accounts::deactivated_at.eq(now));
    let db = open(&app);
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    let response = sign_in(&app, &mut key).await;

    assert_eq!(result.expect("a row"), 1);
    assert_eq!(response.refusal(), (401, "invalid_passkey"));
    assert_eq!(response.bytes, unknown_response.bytes);
}
