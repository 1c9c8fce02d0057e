//! API keys, with which scripts call the AI proxy.

use std::sync::Arc;
use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_kernel::{Clock, SystemClock};
use pia_policy::{Feature, Terms};
use pia_server_testkit::ai_client::{CHAT, COMPLETIONS, OPTIMIZE, chat_request};
use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::credentials::{api_key_client, create_api_key};
use pia_server_testkit::emails::names_to;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use pia_web::Access;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{field_errors, sign_in};

on_both_databases!(
    a_script_calls_models_with_a_key,
    a_key_is_created_returned_once_and_listed,
    a_revoked_key_is_rejected_at_once,
    the_operator_lists_and_revokes_keys,
    a_key_is_valid_until_it_expires,
    a_key_is_rejected_in_browsers,
    a_key_is_refused_what_its_owner_is_refused,
    a_key_survives_a_password_change_but_not_its_owners_account,
    no_key_is_created_without_a_proof_or_by_an_app_password,
    made_up_keys_are_rate_limited,
);

const PATH: &str = "/auth/api-keys";
const TEMPLATES: &str = "/api/ai/templates";

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

async fn remove(client: &Client, id: &str) -> TestResponse {
    client.send("DELETE", &format!("{PATH}/{id}"), &[], b"").await
}

async fn a_script_calls_models_with_a_key(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = TestConfig::on(database).with_upstream(&demo.endpoint()).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let script = api_key_client(&app, &ada).await;

    let status = script.get("/api/ai/status").await;
    let templates = script.get(TEMPLATES).await;
    let mut responses = Vec::new();
    for path in [CHAT, COMPLETIONS] {
        responses.push(script.post(path, &chat_request("good day")).await);
    }
    let optimized_response = script.post(OPTIMIZE, &json!({ "text": "good day" })).await;
    let list_response = ada.get(PATH).await;

    assert_eq!(status.status, 200);
    assert_eq!(templates.status, 200);
    assert_eq!(optimized_response.status, 200);
    for response in responses {
        let content = &response.body["choices"][0]["message"]["content"];
        assert_eq!(response.status, 200);
        assert_eq!(content, "Demo answer to: good day");
    }

    let last_use = text(&list_response.body["items"][0]["lastUsedAt"]);
    assert!(last_use.ends_with('Z'), "{last_use}");
    let hex_id = ada.user.as_deref().expect("an id").replace('-', "").to_uppercase();
    let usage = match app.database().provider() {
        pia_storage::DatabaseKind::Sqlite => format!("ai_usage WHERE hex(user_id) = '{hex_id}'"),
        pia_storage::DatabaseKind::Postgres => format!("ai_usage WHERE user_id = '{hex_id}'"),
    };
    until(async || (app.count(&usage).await == 3).then_some(())).await;
}

async fn a_key_is_created_returned_once_and_listed(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;

    let plain = create_api_key(&ada, json!({ "name": " Nightly " })).await;
    let fields = json!({
        "name": "CI", "scopes": ["ai"], "expiresAt": "2099-01-02T03:04:05Z", "weeklyCredits": 500,
    });
    let bound = create_api_key(&ada, fields).await;
    let listed_response = ada.get(PATH).await;
    let json = [("accept", "application/json")];
    let export = ada.send("GET", "/auth/account/export", &json, b"").await;

    assert_eq!(keys(&plain), ["apiKey", "createdAt", "id", "name", "scopes"]);
    let secret = text(&plain["apiKey"]);
    assert!(secret.len() == 47 && secret.starts_with("pia_"), "{secret}");

    let items = listed_response.body["items"].as_array().expect("a list");
    assert_eq!(items.iter().map(|it| text(&it["name"])).collect::<Vec<_>>(), ["Nightly", "CI"]);
    assert_eq!(keys(&items[0]), ["createdAt", "id", "name", "scopes"]);
    assert_eq!(
        keys(&items[1]),
        ["createdAt", "expiresAt", "id", "name", "scopes", "weeklyCredits"]
    );
    assert_eq!(items[1]["expiresAt"], "2099-01-02T03:04:05Z");
    assert_eq!(items[1]["weeklyCredits"], 500);
    assert_eq!(items[1]["scopes"], json!(["ai"]));
    assert_eq!(bound["id"], items[1]["id"]);

    let exported = export.body["data"]["apiKeys"].as_array().expect("keys");
    assert_eq!(exported.len(), 2);
    assert!(!listed_response.text().contains(&secret) && !export.text().contains(&secret));
    assert_eq!(bob.get(PATH).await.body, json!({ "items": [] }));
    assert_eq!(
        names_to(&app, "ada@example.org").await.iter().filter(|it| *it == "api-key-added").count(),
        2
    );

    let entries = "audit_entries WHERE action = 'ApiKey.Created' AND object LIKE 'api-key:%'";
    assert_eq!(app.count(entries).await, 2);
}

async fn a_revoked_key_is_rejected_at_once(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    let ada = app.sign_up("ada@example.org").await;
    let revoked = api_key_client(&app, &ada).await;
    let other_script = api_key_client(&app, &ada).await;
    let id = text(&ada.get(PATH).await.body["items"][0]["id"]);
    assert_eq!(revoked.get(TEMPLATES).await.status, 200);
    assert_eq!(other_script.get(TEMPLATES).await.status, 200);

    let removal_response = remove(&ada, &id.to_uppercase()).await;
    let second_response = remove(&ada, &id).await;

    assert_eq!(removal_response.status, 200);
    assert_eq!(removal_response.body, json!({ "success": true }));
    assert_eq!(second_response.refusal(), (404, "not_found"));
    assert_eq!(revoked.get(TEMPLATES).await.refusal(), (401, "unauthorized"));
    assert_eq!(other_script.get(TEMPLATES).await.status, 200);
    assert_eq!(ada.get(TEMPLATES).await.status, 200);
    assert!(names_to(&app, "ada@example.org").await.contains(&"api-key-removed".to_owned()));
    assert_eq!(app.count("audit_entries WHERE action = 'ApiKey.Revoked'").await, 1);
}

async fn the_operator_lists_and_revokes_keys(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let empty_list = app.admin("api-key list ada@example.org").await.expect("a list");
    let script = api_key_client(&app, &ada).await;
    create_api_key(
        &ada,
        json!({ "name": "CI", "weeklyCredits": 9, "expiresAt": "2099-01-01T00:00:00Z" }),
    )
    .await;
    assert_eq!(script.get(TEMPLATES).await.status, 200);

    let listed = app.admin("api-key list ADA@example.org").await.expect("a list");
    let id = listed.split(' ').next().unwrap_or_default();
    let revoked = app.admin(&format!("api-key revoke {id}")).await.expect("a key");
    let repeated_revocation =
        app.admin(&format!("api-key revoke {id}")).await.map_err(|err| err.to_string());
    let unknown = app.admin("api-key list nobody@example.org").await.map_err(|err| err.to_string());

    assert_eq!(empty_list, "User ada@example.org has no API keys\n");
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].contains(" Nightly, created ") && lines[0].contains(", last used "),
        "{listed}"
    );
    assert!(lines[1].ends_with(", expires 2099-01-01T00:00:00Z, never used, 9 credits per week"));
    assert_eq!(revoked, format!("API key {id} revoked\n"));
    assert!(repeated_revocation.is_err_and(|it| it.starts_with("no such API key")));
    assert!(unknown.is_err_and(|it| it.contains("no account has the address nobody@example.org")));
    until(async || (script.get(TEMPLATES).await.status == 401).then_some(())).await;
    let entry = "audit_identities WHERE part = 'actor' AND entry_id IN \
                 (SELECT id FROM audit_entries WHERE action = 'ApiKey.Revoked')";
    assert_eq!(app.count(entry).await, 0);
    assert_eq!(ada.get(TEMPLATES).await.status, 200);
}

async fn a_key_is_valid_until_it_expires(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock) as _).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let end = (clock.now() + Duration::from_mins(2)).to_string();
    let key = text(&create_api_key(&ada, json!({ "expiresAt": end })).await["apiKey"]);
    let script = Client { access: Some(key), ..app.anonymous() };

    clock.advance(Duration::from_mins(1));
    let previous_response = script.get(TEMPLATES).await;
    clock.advance(Duration::from_secs(66));
    let later_response = script.get(TEMPLATES).await;

    assert_eq!(previous_response.status, 200);
    assert_eq!(later_response.refusal(), (401, "unauthorized"));
    assert_eq!(ada.get(PATH).await.body["items"].as_array().map(Vec::len), Some(1));
}

async fn a_key_is_rejected_in_browsers(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let script = api_key_client(&app, &ada).await;
    assert_eq!(script.get(TEMPLATES).await.status, 200);

    for header in [("origin", "https://example.org"), ("sec-fetch-site", "same-origin")] {
        let response = script.send("GET", TEMPLATES, &[header], b"").await;
        let own_response = ada.send("GET", TEMPLATES, &[header], b"").await;
        assert_eq!(response.refusal(), (401, "unauthorized"), "{header:?}");
        assert_eq!(own_response.status, 200, "{header:?}");
    }
    // Scripts in Node.js send this header.
    let from_node = script.send("GET", TEMPLATES, &[("sec-fetch-mode", "cors")], b"").await;
    assert_eq!(from_node.status, 200);
}

async fn a_key_is_refused_what_its_owner_is_refused(database: TestDatabase) {
    let without = Terms { features: Some([Feature::Sync].into()), ..terms() };
    let first_server = TestConfig::on(database).with("RateLimits__Ai", 2).start().await;
    let ada = first_server.sign_up("ada@example.org").await;
    let script = api_key_client(&first_server, &ada).await;
    let unlicensed = TestConfig::beside(&first_server).licensed(Some(without)).start().await;
    let remote_client = Client { addr: unlicensed.addr, ..script.clone() };
    assert_eq!(script.get(TEMPLATES).await.status, 200);

    let feature = remote_client.get(TEMPLATES).await;
    let own_response = ada.post(CHAT, &json!({})).await;
    let own_again = ada.post(CHAT, &json!({})).await;
    let budget = script.post(CHAT, &json!({})).await;
    first_server.reload(&json!({ "LocalAuth": { "RequireBusinessDeclaration": true } }));
    let undeclared_response = script.get(TEMPLATES).await;
    first_server.reload(&json!({ "LocalAuth": { "RequireEmailVerification": true } }));
    let unverified = script.get(TEMPLATES).await;

    assert_eq!(feature.refusal(), (403, "feature_not_licensed"));
    assert_eq!(own_response.status, 400);
    assert_eq!(own_again.status, 400);
    assert_eq!(budget.refusal(), (429, "rate_limited"), "its owner has used it up");
    assert_eq!(undeclared_response.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(unverified.refusal(), (403, "email_not_verified"));
}

async fn a_key_survives_a_password_change_but_not_its_owners_account(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    let of_ada = api_key_client(&app, &ada).await;
    let of_bob = api_key_client(&app, &bob).await;
    let new_password = "another good passphrase of mine";

    let change = json!({ "currentPassword": PASSWORD, "newPassword": new_password });
    let change_response = ada.post("/auth/password", &change).await;
    let after_change = of_ada.get(TEMPLATES).await;
    app.admin("deactivate ada@example.org").await.expect("a deactivated account");
    let confirmation = json!({ "confirm": "DELETE", "password": PASSWORD });
    let deletion_response = bob.post("/auth/account/delete", &confirmation).await;

    assert_eq!(change_response.status, 200, "{}", change_response.text());
    assert_eq!(after_change.status, 200);
    assert_eq!(deletion_response.status, 200, "{}", deletion_response.text());
    assert_eq!(of_bob.get(TEMPLATES).await.status, 401);
    until(async || (of_ada.get(TEMPLATES).await.status == 401).then_some(())).await;
    app.admin("reactivate ada@example.org").await.expect("a reactivated account");
    assert_eq!(of_ada.get(TEMPLATES).await.status, 200, "keys remain valid, as app passwords do");
}

async fn made_up_keys_are_rate_limited(database: TestDatabase) {
    let app = TestConfig::on(database).with("RateLimits__Global", "4").start().await;
    let ada = app.sign_up("ada@example.org").await;
    let key_client = api_key_client(&app, &ada).await;
    assert_eq!(key_client.get(TEMPLATES).await.status, 200);

    let mut refused = Vec::new();
    for n in 0..8 {
        let made_up = format!("pia_{}", char::from(b'a' + n).to_string().repeat(43));
        let stranger = Client { access: Some(made_up), ..app.anonymous() };
        refused.push(stranger.get(TEMPLATES).await.status);
    }

    assert_eq!(refused.first(), Some(&401));
    assert_eq!(refused.last(), Some(&429));
    assert_eq!(
        key_client.get(TEMPLATES).await.status,
        200,
        "a known key counts towards its owner's limit"
    );
}

async fn no_key_is_created_without_a_proof_or_by_an_app_password(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let new_body = json!({ "name": "Desktop", "password": PASSWORD });
    let password = text(&ada.post("/auth/app-passwords", &new_body).await.body["appPassword"]);
    let envelope = sign_in(&app.anonymous(), "ada@example.org", &password).await;
    let desktop = app.anonymous().with_tokens(&envelope.body);
    let script = api_key_client(&app, &ada).await;

    let unproved = ada.post(PATH, &json!({ "name": "a" })).await;
    let wrong_response =
        ada.post(PATH, &json!({ "name": "a", "password": "a wrong password" })).await;
    let by_app = desktop.post(PATH, &new_body).await;
    let by_script = script.post(PATH, &new_body).await;

    assert_eq!(unproved.refusal(), (400, "validation_failed"));
    assert_eq!(wrong_response.refusal(), (403, "invalid_proof"));
    assert_eq!(by_app.refusal(), (403, "app_password_refused"));
    assert_eq!(by_script.refusal(), (401, "unauthorized"));
    assert_eq!(ada.get(PATH).await.body["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_gives_access_to_the_ai_routes_only() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Knowledge__IngestApiKey", "kb-9f2c4e7a1b3d5f60")
        .start()
        .await;
    let ada = app.sign_up("ada@example.org").await;
    let script = api_key_client(&app, &ada).await;
    let all = pia_server::routes().into_iter();
    let mut opened_count = 0;
    let mut closed_count = 0;

    for route in all.filter(|it| it.access != Access::Operator) {
        let id = Uuid::now_v7().to_string();
        let path = route
            .path
            .split('/')
            .map(|it| if it.starts_with('{') { &id } else { it })
            .collect::<Vec<_>>()
            .join("/");
        let response = script.send(route.method.as_str(), &path, &[], b"").await;
        if route.access == Access::Anonymous {
            let stranger = app.anonymous().send(route.method.as_str(), &path, &[], b"").await;
            assert_eq!(response.status, stranger.status, "{path}");
        } else if route.access == Access::Bearer
            && ["/api/ai/", "/v1/", "/kb/", "/mcp"].iter().any(|it| path.starts_with(it))
        {
            assert_ne!(response.status, 401, "{path}");
            opened_count += 1;
        } else {
            assert_eq!(response.refusal(), (401, "unauthorized"), "{path}");
            closed_count += 1;
        }
    }

    assert!(opened_count >= 5 && closed_count >= 30, "{opened_count} {closed_count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_keys_are_rejected() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada@example.org").await;
    let valid_key = api_key_client(&app, &ada).await.access.expect("a key");
    let last_char = if valid_key.ends_with('A') { 'B' } else { 'A' };

    for token in [
        format!("{}{last_char}", valid_key.split_at(46).0),
        valid_key.to_uppercase(),
        valid_key.replace("pia_", "pia-"),
        valid_key.replace("pia_", ""),
        format!("{valid_key}A"),
        format!("pia_{}", "A".repeat(43)),
        "pia_".to_owned(),
    ] {
        let client = Client { access: Some(token.clone()), ..app.anonymous() };
        assert_eq!(client.get(TEMPLATES).await.refusal(), (401, "unauthorized"), "{token}");
    }

    let basic = [("authorization", &*format!("Basic {valid_key}"))];
    let basic = app.anonymous().send("GET", TEMPLATES, &basic, b"").await;
    assert_eq!(basic.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_fields_of_a_key_are_reported() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for (field, value, code) in [
        ("name", json!("  "), "required"),
        ("name", json!("x".repeat(65)), "too_long"),
        ("scopes", json!(["sync"]), "invalid"),
        ("scopes", json!([]), "invalid"),
        ("expiresAt", json!("2020-01-01T00:00:00Z"), "invalid"),
        ("weeklyCredits", json!(-1), "invalid"),
    ] {
        let body = json!({ "name": "a", "password": PASSWORD, field: value });
        let response = ada.post(PATH, &body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{field}");
        assert_eq!(field_errors(&response), [(field, code)]);
    }
    for (field, value) in
        [("name", json!(5)), ("expiresAt", json!("soon")), ("weeklyCredits", json!("many"))]
    {
        let body = json!({ "name": "a", "password": PASSWORD, field: value });
        let response = ada.post(PATH, &body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{field}");
        assert_eq!(response.body["errors"][0]["field"], field);
    }
    assert_eq!(ada.get(PATH).await.body, json!({ "items": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_at_most_twenty_keys() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    for _ in 0..20 {
        create_api_key(&ada, json!({})).await;
    }

    let full_response = ada.post(PATH, &json!({ "name": "more", "password": PASSWORD })).await;

    assert_eq!(full_response.refusal(), (409, "api_key_limit_reached"));
    assert_eq!(full_response.body["limit"], 20);
}
