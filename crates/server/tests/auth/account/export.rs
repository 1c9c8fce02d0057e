//! Exports of all stored data of an account.

use std::io::{Cursor, Read as _};
use std::sync::Arc;
use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::Terms;
use pia_server_testkit::harness::{PASSWORD, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::program::{Invocation, peak};
use pia_storage::{Database, DatabaseKind, DatabaseOptions, DatabaseTarget, DbError, on_conn};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use tokio::io::AsyncReadExt as _;
use zip::ZipArchive;

use super::*;

on_both_databases!(
    an_export_is_an_archive_of_all_stored_data,
    json_is_the_same_data_in_one_document,
    an_export_contains_no_data_of_other_users,
    an_outage_midway_aborts_the_connection,
    a_head_request_exports_nothing,
);

const MIB: usize = 1 << 20;

type Archive = ZipArchive<Cursor<Vec<u8>>>;

fn open_archive(response: &TestResponse) -> Archive {
    assert_eq!(response.status, 200, "{}", response.text());
    ZipArchive::new(Cursor::new(response.bytes.clone())).expect("an archive")
}

fn file(archive: &mut Archive, name: &str) -> Value {
    let mut text = String::new();
    archive.by_name(name).expect(name).read_to_string(&mut text).expect("text");
    serde_json::from_str(&text).expect("JSON")
}

async fn as_json(client: &Client) -> TestResponse {
    client.send("GET", EXPORT, &[("accept", "application/json")], b"").await
}

async fn a_head_request_exports_nothing(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    for (accept, kind) in [("*/*", "application/zip"), ("application/json", "application/json")] {
        let head = ada.send("HEAD", EXPORT, &[("accept", accept)], b"").await;

        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some(kind));
        assert!(head.header("content-disposition").is_some() && head.bytes.is_empty());
    }
    assert_eq!(app.count("audit_entries WHERE action = 'account.exported'").await, 0);
    let stranger = app.anonymous().send("HEAD", EXPORT, &[], b"").await;
    assert_eq!(stranger.status, 401);
}

async fn an_export_is_an_archive_of_all_stored_data(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("Ada@example.org").await;
    sign_in(&app.anonymous(), "ada@example.org", "a wrong one").await;
    ada.post("/auth/mfa/totp/begin", &json!({ "password": PASSWORD })).await;

    let response = ada.get(EXPORT).await;

    assert_eq!(response.header("content-type"), Some("application/zip"));
    let name = "attachment; filename=\"pia-export.zip\"";
    assert_eq!(response.header("content-disposition"), Some(name));
    assert_eq!(response.header("content-encoding"), None);

    let mut archive = open_archive(&response);
    let account = file(&mut archive, "account.json");
    assert_eq!(account[0]["email"], "Ada@example.org");
    assert_eq!(account[0]["group"], "Default");
    assert_eq!(account[0]["role"], "user");

    let outcomes = file(&mut archive, "loginHistory.json");
    let outcomes: Vec<_> =
        outcomes.as_array().expect("rows").iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes, ["wrong_password", "signed_in"]);
    assert_eq!(file(&mut archive, "sessions.json")[0]["method"], "password");
    assert_eq!(file(&mut archive, "secondFactor.json")[0]["recoveryCodesLeft"], 0);

    let audit = file(&mut archive, "audit.json");
    assert_eq!(audit[0]["action"], "account.exported");
    assert_eq!(audit[0]["actor"]["id"], ada.user.as_deref().expect("an id"));
    assert_eq!(audit[0]["requestId"], response.header("x-request-id").expect("an id"));

    let manifest = file(&mut archive, "manifest.json");
    assert_eq!(manifest["accountId"], ada.user.as_deref().expect("an id"));
    let files = manifest["files"].as_array().expect("files");
    assert_eq!(files.len() + 1, archive.len());
    for listed in files {
        let rows = file(&mut archive, listed["name"].as_str().expect("a name"));
        assert_eq!(listed["rows"], rows.as_array().expect("rows").len(), "{listed}");
    }
}

async fn json_is_the_same_data_in_one_document(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let document = as_json(&ada).await;
    let mut archive = open_archive(&ada.get(EXPORT).await);

    assert_eq!(document.header("content-type"), Some("application/json"));
    let data = document.body["data"].as_object().expect("an object");
    assert_eq!(data.len() + 1, archive.len());
    for (section, rows) in data.iter().filter(|(it, _)| *it != "audit") {
        assert_eq!(*rows, file(&mut archive, &format!("{section}.json")), "{section}");
    }

    // The second export contains the audit entry of the first.
    let audit = file(&mut archive, "audit.json");
    let before = audit.as_array().and_then(|it| it.get(1..));
    assert_eq!(before, data["audit"].as_array().map(Vec::as_slice));

    let manifest = file(&mut archive, "manifest.json");
    assert_eq!(document.body["manifest"]["leftOut"], manifest["leftOut"]);
}

async fn an_export_contains_no_data_of_other_users(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;

    let hers = as_json(&ada).await.text();

    let his = [bob.user.as_deref().expect("an id"), "bob@example.org"];
    assert!(his.iter().all(|it| !hers.contains(it)), "{hers}");
    let secrets = ["$argon2", refresh_token(&ada), ada.access.as_deref().expect("a token")];
    assert!(secrets.iter().all(|it| !hers.contains(it)), "{hers}");
}

async fn an_outage_midway_aborts_the_connection(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    execute(&app, "DROP TABLE ai_usage").await;

    for accept in ["application/zip", "application/json"] {
        let mut socket = ada.begin("GET", EXPORT, &[("accept", accept)], b"").await;
        let mut raw = Vec::new();
        let read = socket.read_to_end(&mut raw).await;

        assert!(read.is_err() || !raw.ends_with(b"0\r\n\r\n"), "{accept}");
        let response = pia_server_testkit::client::parse(&raw);
        assert!(ZipArchive::new(Cursor::new(response.bytes.clone())).is_err());
        assert_eq!(response.body, Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_requires_neither_licence_nor_declaration() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let now = clock.now();
    let ends = Duration::from_hours(1);
    let app = TestConfig::on(TestDatabase::sqlite())
        .at(Arc::<ManualClock>::clone(&clock))
        .with("LocalAuth__RequireBusinessDeclaration", true)
        .licensed(Some(Terms { expires_at: Some(now + ends), ..terms() }))
        .start()
        .await;
    let registration =
        json!({ "email": "ada@example.org", "password": PASSWORD, "customerType": 2 });
    assert_eq!(app.anonymous().post("/auth/register", &registration).await.status, 200);

    let ada = another_session(&app.anonymous(), "ada@example.org").await;
    execute(&app, "UPDATE accounts SET customer_type = 0").await;
    clock.advance(ends + Duration::from_secs(1));
    let ada = app.anonymous().with_tokens(&refresh(&ada, refresh_token(&ada)).await.body);

    let export = ada.get(EXPORT).await;
    let deletion_response = delete_account(&ada, PASSWORD).await;

    assert_eq!(export.status, 200);
    assert_eq!(deletion_response.status, 200, "{}", deletion_response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_password_neither_exports_nor_deletes() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada@example.org").await;
    let statements = "INSERT INTO app_passwords (id, user_id, name, hash, created_at)
            SELECT id, id, 'an app', id, created_at FROM accounts;
        UPDATE sessions SET app_password_id = user_id";
    execute(&app, statements).await;

    let export = ada.get(EXPORT).await;
    let deletion_response = delete_account(&ada, PASSWORD).await;

    assert_eq!(export.refusal(), (403, "app_password_refused"));
    assert_eq!(deletion_response.refusal(), (403, "app_password_refused"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_exported_in_little_memory() {
    let call = Invocation::new().licensed();
    let program = call.start().await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let stranger = program.anonymous();
    assert_eq!(stranger.post("/auth/register", &credentials).await.status, 200);
    let ada = another_session(&stranger, "ada@example.org").await;
    let url = format!("sqlite://{}/pia.db", call.dir().display());
    let target = DatabaseTarget::parse(DatabaseKind::Sqlite, &url).expect("a file");
    let db = Database::open(&target, DatabaseOptions::default()).expect("a database");
    let insert = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO sign_ins (id, at, user_id, outcome, method, address, user_agent)
        SELECT randomblob(16), i, (SELECT id FROM accounts), 'wrong_password', 'password',
            '192.0.2.7', hex(randomblob(64)) FROM n";
    let result: Result<(), DbError> =
        on_conn!(db.writer(), |conn| conn.batch_execute(insert).await?);
    result.expect("rows");
    let previous_peak = peak(&program);

    // Read in pieces, so that the test needs little memory too.
    let json = [("accept", "application/json")];
    let mut socket = ada.begin("GET", EXPORT, &json, b"").await;
    let mut read = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = socket.read(&mut buffer).await.expect("a piece");
        read += count;
        if count == 0 {
            break;
        }
    }
    let growth = peak(&program) - previous_peak;

    assert!(read > 20 * MIB, "{read} bytes are not the full export");
    assert!(growth < 16 * MIB, "{} KiB for {} MiB", growth >> 10, read / MIB);
}
