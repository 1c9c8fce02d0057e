//! Tests of the audit log.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{
    AuditFilter, AuditLog as _, AuditPerson, AuditRecord, AuditSide, Clock as _, LiveSetting,
    PageRequest, SystemClock, UserId,
};
use pia_sealing::{MasterKeys, ServerSeal};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_storage::schema::{audit_entries, audit_identities};
use pia_storage::{Database, DbError, on_conn};
use pia_storage_lifecycle::SqlAuditLog;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    every_entry_records_actor_address_client_and_request,
    addresses_are_taken_from_trusted_proxies_only,
    entries_of_deleted_accounts_are_anonymous,
    entries_are_deleted_after_the_retention_period,
);

const AGENT: &str = "an audited agent/1.0";
const FROM: (&str, &str) = ("x-forwarded-for", "198.51.100.7");

fn open(app: &TestApp) -> Database {
    let config = app.config.latest();
    let startup = config.database.startup.clone();
    let keys = MasterKeys { current: config.encryption.master_key.clone(), previous: None };
    let db = Database::open(&startup.target, startup.options).expect("a database");
    db.with_effects(ServerSeal::new(keys), LiveSetting::new(false))
}

async fn list_entries(app: &TestApp) -> Vec<AuditRecord> {
    let page = PageRequest { after: None, limit: 100 };
    SqlAuditLog::new(open(app)).page(&AuditFilter::default(), page).await.expect("entries")
}

/// Sends a request with a known agent and address, and returns its id too.
async fn send(client: &Client, path: &str, body: &Value) -> (TestResponse, String) {
    let headers = [("content-type", "application/json"), ("user-agent", AGENT), FROM];
    let response = client.send("POST", path, &headers, body.to_string().as_bytes()).await;
    let id = response.header("x-request-id").expect("an id").to_owned();
    (response, id)
}

fn user(client: &Client) -> UserId {
    let id = client.user.as_ref().expect("an id");
    serde_json::from_value(json!(id)).expect("an id")
}

fn by(user: Option<UserId>) -> AuditSide {
    let address = Some(FROM.1.parse().expect("an address"));
    AuditSide::Known(AuditPerson { user, address, agent: Some(AGENT.to_owned()) })
}

async fn every_entry_records_actor_address_client_and_request(database: TestDatabase) {
    let app = TestConfig::on(database).with("Server__TrustedProxies", "127.0.0.1").start().await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let stranger = app.anonymous();

    let (_, registered) = send(&stranger, "/auth/register", &credentials).await;
    let (envelope, signed_in) = send(&stranger, "/auth/login/local", &credentials).await;
    let ada = app.anonymous().with_tokens(&envelope.body);
    let (_, other) = send(&stranger, "/auth/login/local", &credentials).await;
    let (setup, _) = send(&ada, "/auth/mfa/totp/begin", &json!({ "password": PASSWORD })).await;
    let url = setup.body["otpauthUri"].as_str().expect("a URI");
    let totp = totp_rs::Totp::from_url(url).expect("TOTP");
    let now = u64::try_from(SystemClock.now().micros() / 1_000_000).expect("a time");
    let code = json!({ "code": totp.generate(now).to_string() });
    let (enabled, verified) = send(&ada, "/auth/mfa/totp/verify", &code).await;
    let (_, disabled) = send(&ada, "/auth/mfa/disable", &json!({ "password": PASSWORD })).await;
    let log_out = json!({ "refreshToken": refresh_token(&ada) });
    let (_, signed_out) = send(&stranger, "/auth/logout", &log_out).await;
    let wrong_body = json!({ "email": "ada@example.org", "password": "not her passphrase" });
    let (_, failed) = send(&stranger, "/auth/login/local", &wrong_body).await;

    assert_eq!(enabled.status, 200, "{}", enabled.text());
    let mut records = list_entries(&app).await;
    records.reverse();
    let actual: Vec<_> =
        records.iter().map(|it| (&*it.action, it.request.as_deref().unwrap_or_default())).collect();
    let expected = [
        ("account.registered", &registered),
        ("session.started", &signed_in),
        ("session.started", &other),
        ("factor.enabled", &verified),
        ("session.ended", &verified),
        ("factor.disabled", &disabled),
        ("session.ended", &signed_out),
        ("sign_in.failed", &failed),
    ];
    assert_eq!(actual, expected.map(|(action, request)| (action, request.as_str())));
    for entry in list_entries(&app).await {
        let sides = [&entry.actor, &entry.subject];
        let is_known = sides.iter().any(|it| match it {
            AuditSide::Known(it) => it.user == Some(user(&ada)),
            AuditSide::Nobody | AuditSide::Forgotten => false,
        });
        assert!(is_known, "{entry:?}");
        assert!([by(Some(user(&ada))), by(None)].contains(&entry.actor), "{entry:?}");
    }
}

async fn addresses_are_taken_from_trusted_proxies_only(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });

    send(&app.anonymous(), "/auth/register", &credentials).await;

    let entries = list_entries(&app).await;
    let AuditSide::Known(actor) = &entries[0].actor else { panic!("an actor") };
    assert_eq!(actor.address, Some("127.0.0.1".parse().expect("an address")));
}

async fn entries_of_deleted_accounts_are_anonymous(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    let confirmation = json!({ "confirm": "DELETE", "password": PASSWORD });

    let (response, deleted) = send(&ada, "/auth/account/delete", &confirmation).await;

    assert_eq!(response.status, 200, "{}", response.text());
    let entries = list_entries(&app).await;
    assert_eq!(&*entries[0].action, "account.deleted");
    assert_eq!(entries[0].request.as_deref(), Some(&*deleted));
    assert_eq!(entries[0].actor, AuditSide::Nobody);
    assert_eq!(entries[0].subject, AuditSide::Nobody);

    let (his, hers): (Vec<_>, Vec<_>) = entries[1..].iter().partition(|it| match &it.actor {
        AuditSide::Known(it) => it.user == Some(user(&bob)),
        AuditSide::Nobody | AuditSide::Forgotten => false,
    });
    assert_eq!(his.len(), 2);
    assert_eq!(hers.len(), 2);
    assert!(hers.iter().all(|it| it.actor == AuditSide::Forgotten), "{hers:?}");
}

async fn entries_are_deleted_after_the_retention_period(database: TestDatabase) {
    let day = Duration::from_hours(24);
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    app.sign_up("ada@example.org").await;
    app.admin("audit checkpoint").await.expect("a chain");
    clock.advance(day * 2);
    app.sign_up("bob@example.org").await;
    clock.advance(day * 2);

    // An instance deletes old entries when it starts.
    let _beside = TestConfig::beside(&app)
        .at(Arc::<ManualClock>::clone(&clock))
        .with("Audit__RetentionDays", 3)
        .start()
        .await;

    pia_server_testkit::polling::until(async || {
        (list_entries(&app).await.len() == 2).then_some(())
    })
    .await;
    let db = open(&app);
    let rows: Result<(i64, i64), DbError> = on_conn!(db.reader(), |conn| {
        let entries = audit_entries::table.count().get_result(conn).await?;
        (entries, audit_identities::table.count().get_result(conn).await?)
    });

    assert_eq!(rows.expect("rows"), (2, 2));
}
