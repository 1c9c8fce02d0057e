//! Tests of second factors in the database.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_storage::schema::{
    audit_entries, audit_identities, factor_challenges, person_salts, recovery_codes, totp_factors,
};
use pia_storage::{Database, DbError, DbUid, on_conn};
use uuid::Uuid;

use super::*;

const ANOTHER_KEY: &str = "b81d64f07a2c9e35d1f80b6c47a3e92f5d0c8b7164e3f29a0d5b8c7e61f4a392";

on_both_databases!(
    secrets_codes_and_tokens_are_not_stored_in_plain_text,
    a_modified_or_moved_secret_accepts_no_codes,
    without_the_salt_the_secret_is_lost,
    each_step_is_audited,
);

fn open(app: &TestApp) -> Database {
    let startup = app.config.latest().database.startup.clone();
    Database::open(&startup.target, startup.options).expect("a database")
}

fn id(client: &Client) -> DbUid {
    let user = client.user.as_deref().and_then(|it| it.parse::<Uuid>().ok());
    DbUid(user.expect("an id"))
}

async fn sealed(db: &Database, user: DbUid) -> Vec<u8> {
    let secret = totp_factors::table.find(user).select(totp_factors::secret);
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| secret.first(conn).await?);
    result.expect("a row")
}

async fn replace(db: &Database, user: DbUid, secret: Vec<u8>) {
    let update =
        diesel::update(totp_factors::table.find(user)).set(totp_factors::secret.eq(secret));
    let result: Result<usize, DbError> = on_conn!(db.writer(), |conn| update.execute(conn).await?);
    assert_eq!(result.expect("a row"), 1);
}

/// Returns all stored bytes of second factors.
async fn dump_tables(db: &Database) -> Vec<u8> {
    let result: Result<_, DbError> = on_conn!(db.reader(), |conn| {
        let factors: Vec<Vec<u8>> =
            totp_factors::table.select(totp_factors::secret).load(conn).await?;
        let codes: Vec<Vec<u8>> =
            recovery_codes::table.select(recovery_codes::hash).load(conn).await?;
        let tokens: Vec<Vec<u8>> =
            factor_challenges::table.select(factor_challenges::hash).load(conn).await?;
        [factors, codes, tokens].concat().concat()
    });
    result.expect("rows")
}

fn contains(dump: &[u8], value: &[u8]) -> bool {
    dump.windows(value.len()).any(|it| it == value)
}

async fn secrets_codes_and_tokens_are_not_stored_in_plain_text(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let token = ada.challenge().await;
    let waiting_client = ada.app.sign_up("bob@example.org").await;
    let setup = waiting_client.post("/auth/mfa/totp/begin", &owner_proof()).await;
    let bobs = Totp::from_url(setup.body["otpauthUri"].as_str().expect("a URI")).expect("TOTP");

    let mut dump = dump_tables(&open(&ada.app)).await;
    assert!(dump.len() > 10 * 32, "the dump has data");
    // For SQLite also all pages and the log, including deleted data.
    for path in ada.app.database_files() {
        dump.extend(std::fs::read(path).expect("a file"));
    }

    for totp in [&ada.totp, &bobs] {
        assert!(!contains(&dump, totp.secret().as_bytes()));
        assert!(!contains(&dump, totp.secret().to_base32().as_bytes()));
    }
    for code in &ada.codes {
        assert!(
            !contains(&dump, code.as_bytes()) && !contains(&dump, code.replace('-', "").as_bytes())
        );
    }
    assert!(!contains(&dump, token.as_bytes()));
}

async fn a_modified_or_moved_secret_accepts_no_codes(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let eve = ada.app.sign_up("eve@example.org").await;
    let setup = eve.post("/auth/mfa/totp/begin", &owner_proof()).await;
    let eves = Totp::from_url(setup.body["otpauthUri"].as_str().expect("a URI")).expect("TOTP");
    let db = open(&ada.app);
    let right = sealed(&db, id(&ada.client)).await;
    let mut flipped = right.clone();
    *flipped.last_mut().expect("a byte") ^= 1;
    let now = u64::try_from(ada.clock.now().micros() / 1_000_000).expect("a time");

    replace(&db, id(&ada.client), flipped).await;
    let change_response = submit_code(&ada.app, &ada.challenge().await, &ada.code()).await;
    replace(&db, id(&ada.client), sealed(&db, id(&eve)).await).await;
    let move_response =
        submit_code(&ada.app, &ada.challenge().await, &eves.generate(now).to_string()).await;
    let by_recovery_code =
        submit_recovery_code(&ada.app, &ada.challenge().await, &ada.codes[0]).await;
    replace(&db, id(&ada.client), right).await;
    let restoration_response = submit_code(&ada.app, &ada.challenge().await, &ada.code()).await;

    assert_eq!(change_response.refusal(), (401, "invalid_mfa_code"));
    assert_eq!(move_response.refusal(), (401, "invalid_mfa_code"));
    assert_eq!(by_recovery_code.status, 200);
    assert_eq!(restoration_response.status, 200);
}

async fn without_the_salt_the_secret_is_lost(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let db = open(&ada.app);
    let deletion = diesel::delete(person_salts::table.find(id(&ada.client)));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| deletion.execute(conn).await?);

    let answered = submit_code(&ada.app, &ada.challenge().await, &ada.code()).await;

    assert_eq!(result.expect("a row"), 1);
    assert_eq!(answered.refusal(), (401, "invalid_mfa_code"));
}

async fn each_step_is_audited(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let envelope = submit_recovery_code(&ada.app, &ada.challenge().await, &ada.codes[0]).await;
    let client = ada.app.anonymous().with_tokens(&envelope.body);
    let proof = json!({ "password": PASSWORD });

    client.post("/auth/mfa/recovery-codes/regenerate", &proof).await;
    client.post("/auth/mfa/disable", &proof).await;

    let db = open(&ada.app);
    let entries = audit_entries::table
        .inner_join(audit_identities::table)
        .filter(audit_identities::user_id.eq(id(&ada.client)))
        .order(audit_entries::id)
        .select(audit_entries::action);
    let result: Result<Vec<String>, DbError> =
        on_conn!(db.reader(), |conn| entries.load(conn).await?);
    let expected = [
        "account.registered",
        "session.started",
        "factor.enabled",
        "recovery_code.used",
        "session.started",
        "recovery_codes.regenerated",
        "session.ended",
        "factor.disabled",
    ];

    assert_eq!(result.expect("entries"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_outlives_a_change_of_the_master_key() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let changed_config = TestConfig::beside(&ada.app)
        .at(Arc::<ManualClock>::clone(&ada.clock))
        .with("Encryption__MasterKey", ANOTHER_KEY);
    let rotating_server = changed_config
        .with("Encryption__PreviousMasterKey", pia_server_testkit::harness::MASTER_KEY)
        .start()
        .await;

    let response =
        submit_code(&rotating_server, &challenge(&rotating_server).await, &ada.code()).await;
    // A right code seals the secret under the new key, so the old one may go.
    ada.clock.advance(Duration::from_secs(30));
    let new_server = TestConfig::beside(&rotating_server)
        .at(Arc::<ManualClock>::clone(&ada.clock))
        .with("Encryption__MasterKey", ANOTHER_KEY)
        .start()
        .await;
    let later_response = submit_code(&new_server, &challenge(&new_server).await, &ada.code()).await;

    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(later_response.status, 200, "{}", later_response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_codes_work_after_the_master_key_was_lost() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let at = || Arc::<ManualClock>::clone(&ada.clock);
    let lost_server = TestConfig::beside(&ada.app)
        .with("Encryption__MasterKey", ANOTHER_KEY)
        .with("Encryption__AcceptNewMasterKey", true)
        .at(at())
        .start()
        .await;

    let by_app = submit_code(&lost_server, &challenge(&lost_server).await, &ada.code()).await;
    let by_recovery_code =
        submit_recovery_code(&lost_server, &challenge(&lost_server).await, &ada.codes[0]).await;
    let client = lost_server.anonymous().with_tokens(&by_recovery_code.body);
    let proof = json!({ "recoveryCode": ada.codes[1] });
    let disabled = client.post("/auth/mfa/disable", &proof).await;
    let setup = client.post("/auth/mfa/totp/begin", &owner_proof()).await;

    assert_eq!(by_app.refusal(), (401, "invalid_mfa_code"));
    assert_eq!(by_recovery_code.status, 200);
    assert_eq!(disabled.status, 200);
    assert_eq!(setup.status, 200);
}
