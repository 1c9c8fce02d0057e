//! Tests that other users' rows are indistinguishable from missing ones.

use pia_server_testkit::authenticator::{Authenticator, ORIGIN};
use pia_server_testkit::chats::create_chat;
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::Console;
use pia_server_testkit::credentials::{
    api_key_id, app_password_id, current_session, enrol, sessions,
};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::{Machine, text};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::{Access, Route};
use serde_json::json;
use uuid::Uuid;

const BUILT_IN_PLUGIN: &str = "10000000-0000-0000-0000-000000000001";

on_both_databases!(a_foreign_id_is_answered_like_an_unknown_one);

/// Returns all routes with an id in their path, except ids of models.
fn all_routes_with_an_id() -> Vec<Route> {
    pia_server::routes()
        .into_iter()
        .filter(|it| it.path.contains('{') && !it.path.ends_with("{model}"))
        .collect()
}

/// Returns the routes whose id names a row of the caller, so none of the console.
fn routes_with_an_id() -> Vec<Route> {
    let mut routes = all_routes_with_an_id();
    let belongs_to_nobody = |it: &Route| {
        matches!(
            it.access,
            Access::Console(_)
                | Access::GroupConsole(_)
                | Access::Scim(_)
                | Access::KbManager
                | Access::Service
        ) || it.path.starts_with("/scim/")
            || is_page(it)
    };
    routes.retain(|it| !belongs_to_nobody(it));
    routes
}

/// Returns whether a row is a page: `pages/foreign.rs` opens those with ids of others.
fn is_page(route: &Route) -> bool {
    matches!(route.access, Access::ConsolePage(_) | Access::GroupPage(_) | Access::AccountPage)
}

/// Returns the id of a row of the owner that the route could name. Each new
/// route with an id requires an arm here.
async fn owned(route: &Route, owner: &Client) -> String {
    let owned = match route.path {
        "/auth/app-passwords/{appPasswordId}" => Some(app_password_id(owner).await),
        "/auth/api-keys/{apiKeyId}" => Some(api_key_id(owner).await),
        "/auth/sessions/{sessionId}" => Some(current_session(owner).await),
        "/auth/webauthn/credentials/{id}" => {
            Some(enrol(owner, &mut Authenticator::new(), "Key").await)
        }
        "/api/v1/chats/{id}" => Some(create_chat(owner).await),
        // A group's, as the tests of knowledge bases check.
        "/kb/{documentId}" => Some(Uuid::now_v7().to_string()),
        // Of a granted skill, as the tests of assignments check.
        path if path.starts_with("/api/assignments/") => Some(Uuid::now_v7().to_string()),
        // Not a user's, and without files.
        path if path.starts_with("/api/plugins/") => Some(BUILT_IN_PLUGIN.to_owned()),
        path if path.starts_with("/api/e2ee/devices/{deviceId}/") => {
            let device = Machine::new();
            device.register(owner).await;
            Some(device.id)
        }
        _ => None,
    };
    owned.expect(route.path)
}

/// Returns the expected status for a caller without such a row. Ids of chats
/// are unique within an account only: one that is stored under an id of
/// another account is new, and deleting it has no effect.
fn expected_status(route: &Route) -> u16 {
    match (route.method.as_str(), route.path) {
        ("PUT", "/api/v1/chats/{id}") => 400,
        ("DELETE", "/api/v1/chats/{id}") => 204,
        _ => 404,
    }
}

async fn call(client: &Client, route: &Route, id: &str) -> TestResponse {
    let (before, rest) = route.path.split_once('{').expect("an id");
    let (_, after) = rest.split_once('}').expect("an id");
    let path = format!("{before}{id}{after}");
    client.send(route.method.as_str(), &path, &[], &body(route)).await
}

/// Returns a schedule that is switched off, which needs no granted skill.
fn schedule() -> serde_json::Value {
    let input = json!({ "schemaVersion": 1, "prompt": "Why?" }).to_string();
    json!({ "skillName": "brief", "inputJson": input, "cron": "0 9 * * *", "isActive": false })
}

/// Returns the body that the route reads before it looks for the row.
fn body(route: &Route) -> Vec<u8> {
    let key = json!({ "ciphertext": text(1, 60), "hkdfSalt": text(1, 32) });
    match (route.method.as_str(), route.path) {
        ("POST", "/api/e2ee/devices/{deviceId}/wrapped-umk") => key.to_string().into_bytes(),
        ("PUT", "/api/assignments/schedules/{id}") => schedule().to_string().into_bytes(),
        ("PATCH", _) => json!({ "name": "Mine" }).to_string().into_bytes(),
        _ => Vec::new(),
    }
}

/// Returns an answer without its date and id, and with sorted headers.
fn comparable(answer: &TestResponse) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut headers = answer.headers.clone();
    headers.retain(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    headers.sort();
    (answer.status, headers, answer.bytes.clone())
}

async fn a_foreign_id_is_answered_like_an_unknown_one(database: TestDatabase) {
    let app = TestConfig::on(database)
        .with("Server__PublicUrl", ORIGIN)
        .with("Knowledge__ConnectionString", "embedded:vectors")
        .start()
        .await;
    let owner = app.signed_in().await;
    let stranger = app.signed_in().await;
    let routes = routes_with_an_id();

    for route in &routes {
        let foreign_response = owned(route, &owner).await;
        let unknown_response = call(&stranger, route, &Uuid::now_v7().to_string()).await;

        assert_eq!(unknown_response.status, expected_status(route), "{}", route.path);
        if unknown_response.status == 404 {
            assert_eq!(unknown_response.refusal(), (404, "not_found"), "{}", route.path);
        }
        for id in [
            &*foreign_response,
            &foreign_response.to_uppercase(),
            "5",
            "%00",
            "null",
            &"x".repeat(5000),
        ] {
            let answer = call(&stranger, route, id).await;
            assert_eq!(comparable(&answer), comparable(&unknown_response), "{} {id}", route.path);
        }
    }
    assert_eq!(sessions(&owner).await.len(), 1);
    assert!(!routes.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_every_id_is_refused_equally() {
    let app =
        TestConfig::on(TestDatabase::sqlite()).with("Server__PublicUrl", ORIGIN).start().await;
    let owner = app.signed_in().await;

    for route in &routes_with_an_id() {
        for id in [owned(route, &owner).await, Uuid::now_v7().to_string(), "5".to_owned()] {
            let answer = call(&app.anonymous(), route, &id).await;
            assert_eq!(answer.refusal(), (401, "unauthorized"), "{} {id}", route.path);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrators_malformed_or_unknown_id_is_not_found() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Admin:RequireSecondFactor", false)
        .start()
        .await;
    app.sign_up("ada@example.org").await;
    let console = Console::open(&app, "ada@example.org").await;
    let mut routes = all_routes_with_an_id();
    routes.retain(|it| matches!(it.access, Access::Console(_) | Access::GroupConsole(_)));
    // It answers whether it changed anything.
    routes.retain(|it| it.path != "/api/admin/assignments/{id}/terminate");

    for route in &routes {
        for id in [&*Uuid::now_v7().to_string(), "5", "%00", "null", &"x".repeat(5000)] {
            let path = route.path.replace("{id}", id).replace("{key}", id);
            let token = [("x-csrf-token", console.csrf_token.as_str())];
            let body = json!({ "name": "a name", "systemPrompt": "x", "groupIds": [], "pluginIds": [], "knowledgeBaseIds": [], "groupId": Uuid::nil(), "kind": "rest_api", "value": "x", "url": "https://hooks.example/", "tool": "x", "arguments": {}, "question": "x" });
            let top_up = json!({ "credits": 1 });
            let body = if route.path.ends_with("/top-ups") { top_up } else { body };
            let body = if route.body_limit > 1024 { body } else { json!(null) };
            let answer = console.send(route.method.as_str(), &path, &token, &body).await;
            assert_eq!(answer.refusal(), (404, "not_found"), "{} {path}", route.method);
        }
    }
    assert!(routes.len() >= 6, "{}", routes.len());
}
