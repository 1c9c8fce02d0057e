//! Tests of the tokens of identity providers, and of their scopes.

use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, Terms};
use pia_server_testkit::harness::terms;
use pia_server_testkit::on_both_databases;

use super::*;

const TOKENS: &str = "/api/admin/scim-tokens";

on_both_databases!(
    a_token_opens_what_its_scopes_name_until_it_is_revoked,
    a_token_opens_nothing_else_and_nothing_else_opens_scim,
    invalid_tokens_are_not_created,
    without_the_feature_there_is_no_scim,
    the_server_describes_what_it_supports,
);

async fn a_token_opens_what_its_scopes_name_until_it_is_revoked(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let request = json!({ "name": "Users only", "scopes": ["users"] });
    let creation_response = server.console.write("POST", TOKENS, request).await;
    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    let token = creation_response.body["token"].as_str().map(str::to_owned);
    let users_only = Client { access: token, ..server.app.anonymous() };

    assert_eq!(users_only.get(USERS).await.status, 200);
    let groups = users_only.get(GROUPS).await;
    assert_eq!(groups.status, 403);
    assert_eq!(groups.header("content-type"), Some("application/scim+json"));
    let list = server.console.get(TOKENS).await.body;
    assert_eq!(list[1]["name"], "Users only");
    assert_eq!(list[1].get("token"), None);
    assert!(list[1]["usedAt"].is_string(), "{list}");

    let path = format!("{TOKENS}/{}", id_of(&creation_response.body));
    assert_eq!(server.console.write("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(users_only.get(USERS).await.refusal(), (401, "unauthorized"));
    let missing_response = server.console.write("DELETE", &path, Value::Null).await;
    assert_eq!(missing_response.refusal(), (404, "not_found"));
}

async fn a_token_opens_nothing_else_and_nothing_else_opens_scim(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let eve = server.app.sign_up("eve@example.org").await;

    for path in ["/auth/me", "/api/sync/pull", "/api/ai/status", "/api/admin/groups", TOKENS] {
        assert_eq!(server.provider.get(path).await.refusal(), (401, "unauthorized"), "{path}");
    }
    for client in [&eve, &server.app.anonymous()] {
        assert_eq!(client.get(USERS).await.refusal(), (401, "unauthorized"));
    }
    assert_eq!(server.console.get(USERS).await.refusal(), (401, "unauthorized"));
}

async fn invalid_tokens_are_not_created(database: TestDatabase) {
    let server = Provisioned::on(database).await;
    let in_three_years = SystemClock.now() + Duration::from_hours(24 * 365 * 3);

    for (request, field) in [
        (json!({}), "name"),
        (json!({ "name": "x".repeat(300) }), "name"),
        (json!({ "name": "IdP", "scopes": [] }), "scopes"),
        (json!({ "name": "IdP", "scopes": ["admin"] }), "scopes"),
        (json!({ "name": "IdP", "expiresAt": "2020-01-01T00:00:00Z" }), "expiresAt"),
        (json!({ "name": "IdP", "expiresAt": in_three_years }), "expiresAt"),
    ] {
        let response = server.console.write("POST", TOKENS, request).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{}", response.text());
        assert_eq!(response.body["errors"][0]["field"], field);
    }

    for _ in 0..19 {
        server.console.write("POST", TOKENS, json!({ "name": "IdP" })).await;
    }
    let full_response = server.console.write("POST", TOKENS, json!({ "name": "IdP" })).await;
    assert_eq!(full_response.refusal(), (409, "quota_exceeded"));
}

async fn without_the_feature_there_is_no_scim(database: TestDatabase) {
    let community = Terms::new("A test", Edition::Community, terms().issued_at);
    let app = TestConfig::on(database).licensed(Some(community)).start().await;

    let refusal = app.anonymous().get("/scim/v2/ServiceProviderConfig").await;

    assert_eq!(refusal.status, 403, "{}", refusal.text());
    assert_eq!(refusal.body["schemas"][0], "urn:ietf:params:scim:api:messages:2.0:Error");
}

async fn the_server_describes_what_it_supports(database: TestDatabase) {
    let server = Provisioned::on(database).await;

    let config = server.app.anonymous().get("/scim/v2/ServiceProviderConfig").await;
    assert_eq!(config.status, 200);
    assert_eq!(config.body["patch"]["supported"], true);
    for path in ["/scim/v2/ResourceTypes", "/scim/v2/Schemas"] {
        let list_response = server.app.anonymous().get(path).await;
        assert_eq!(list_response.body["totalResults"], json!(2), "{path}");
        for it in list_response.body["Resources"].as_array().expect("resources") {
            let response = server.app.anonymous().get(&path_of(it)).await;
            assert_eq!(response.status, 200);
            assert_eq!(&response.body, it);
        }
    }

    let unknown_response = server.app.anonymous().get("/scim/v2/Schemas/urn:nothing").await;
    assert_eq!(unknown_response.refusal(), (404, "not_found"));
}
