//! The declaration as a business, if the operator requires one.

use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{log_out, refresh, refresh_token, sign_in};

const REQUIRED: &str = "LocalAuth__RequireBusinessDeclaration";

/// Types of customers on the wire.
const UNDECLARED: i32 = 0;
const BUSINESS: i32 = 1;
const CONSUMER: i32 = 2;

on_both_databases!(only_signing_in_works_before_the_declaration);

fn declaration() -> Value {
    json!({ "companyName": " Ada & Co ", "actingAsBusiness": true })
}

fn registration(customer_type: i32, company: Option<&str>) -> Value {
    let mut registration = json!({
        "email": format!("{}@example.org", uuid::Uuid::now_v7()),
        "password": PASSWORD,
        "customerType": customer_type,
    });
    if let Some(company) = company {
        registration["companyName"] = json!(company);
    }
    registration
}

/// Returns a client whose account is older than the requirement of a declaration.
async fn undeclared(database: TestDatabase) -> (TestApp, Client) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    app.reload(&json!({ "LocalAuth": { "RequireBusinessDeclaration": true } }));
    (app, ada)
}

async fn only_signing_in_works_before_the_declaration(database: TestDatabase) {
    let (app, ada) = undeclared(database).await;

    let chat = ada.post("/api/ai/chat", &json!({})).await;
    let templates = ada.get("/api/ai/templates").await;
    let managed_bases = ada.get("/api/kb-manager/knowledge-bases").await;
    let me = ada.get("/auth/me").await;
    let envelope = sign_in(&app.anonymous(), "ada@example.org", PASSWORD).await;
    let refresh_response = refresh(&app.anonymous(), refresh_token(&ada)).await;
    let capabilities = ada.get("/api/capabilities").await;
    let declaration_response = ada.post("/auth/business-profile", &declaration()).await;

    assert_eq!(chat.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(templates.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(managed_bases.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(me.status, 200);
    assert_eq!(me.body["requiresBusinessProfile"], true);
    assert_eq!(envelope.body["user"]["requiresBusinessProfile"], true);
    assert_eq!(refresh_response.status, 200);
    assert_eq!(capabilities.status, 200);
    assert_eq!(declaration_response.status, 200);
    assert_eq!(declaration_response.body, json!({ "success": true }));

    // The same token was refused before.
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);
    let declared_account = ada.get("/auth/me").await.body;
    assert_eq!(declared_account["requiresBusinessProfile"], false);
    assert_eq!(declared_account["customerType"], BUSINESS);
    assert_eq!(declared_account["companyName"], "Ada & Co");
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_needs_no_declaration() {
    let (app, ada) = undeclared(TestDatabase::sqlite()).await;

    assert_eq!(log_out(&app.anonymous(), refresh_token(&ada)).await.status, 200);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_declaration_is_rejected() {
    let (_app, ada) = undeclared(TestDatabase::sqlite()).await;

    for (body, field) in [
        (json!({ "actingAsBusiness": true }), "companyName"),
        (json!({ "companyName": "  ", "actingAsBusiness": true }), "companyName"),
        (json!({ "companyName": "Ada & Co" }), "actingAsBusiness"),
        (json!({ "companyName": "Ada & Co", "actingAsBusiness": false }), "actingAsBusiness"),
    ] {
        let response = ada.post("/auth/business-profile", &body).await;

        assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(response.body["errors"][0]["field"], field, "{body}");
    }
    assert_eq!(ada.get("/api/ai/templates").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_requires_the_declaration() {
    let app = TestConfig::on(TestDatabase::sqlite()).with(REQUIRED, true).start().await;

    for (body, refused_field) in [
        (registration(UNDECLARED, None), Some("customerType")),
        (registration(BUSINESS, None), Some("companyName")),
        (registration(BUSINESS, Some("  ")), Some("companyName")),
        (registration(BUSINESS, Some("Ada & Co")), None),
        (registration(CONSUMER, None), None),
    ] {
        let response = app.anonymous().post("/auth/register", &body).await;

        match refused_field {
            Some(field) => {
                assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
                assert_eq!(response.body["errors"][0]["field"], field, "{body}");
            }
            None => assert_eq!(response.status, 200, "{body}: {}", response.text()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_need_no_declaration() {
    let app = TestConfig::on(TestDatabase::sqlite()).with(REQUIRED, true).start().await;
    let bob = registration(CONSUMER, Some("not kept"));
    app.anonymous().post("/auth/register", &bob).await;

    let email = bob["email"].as_str().expect("an address");
    let envelope = sign_in(&app.anonymous(), email, PASSWORD).await;
    let client = app.anonymous().with_tokens(&envelope.body);

    assert_eq!(envelope.body["user"]["requiresBusinessProfile"], false);
    assert_eq!(client.get("/api/ai/templates").await.status, 200);
    let me = client.get("/auth/me").await.body;
    assert_eq!(me["customerType"], CONSUMER);
    assert_eq!(me.get("companyName"), None);
}
