//! The declaration as a trader, where the operator requests one.

use pia_server_testkit::client::Client;
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{log_out, refresh, sign_in, spent};

const REQUIRED: &str = "LocalAuth__RequireBusinessDeclaration";

on_both_databases!(all_but_signing_in_waits_for_the_declaration);

fn declaration() -> Value {
    json!({ "companyName": " Ada & Co ", "actingAsBusiness": true })
}

fn person(customer_type: i32, company: Option<&str>) -> Value {
    let mut person = json!({
        "email": format!("{}@example.org", uuid::Uuid::now_v7()),
        "password": PASSWORD,
        "customerType": customer_type,
    });
    if let Some(company) = company {
        person["companyName"] = json!(company);
    }
    person
}

/// Somebody whose account is older than the demand for declarations.
async fn undeclared(database: TestDatabase) -> (TestApp, Client) {
    let app = Setting::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    app.reload(&json!({ "LocalAuth": { "RequireBusinessDeclaration": true } }));
    (app, ada)
}

async fn all_but_signing_in_waits_for_the_declaration(database: TestDatabase) {
    let (app, ada) = undeclared(database).await;

    let chat = ada.post("/api/ai/chat", &json!({})).await;
    let templates = ada.get("/api/ai/templates").await;
    let me = ada.get("/auth/me").await;
    let envelope = sign_in(&app.stranger(), "ada@example.org", PASSWORD).await;
    let next = refresh(&app.stranger(), spent(&ada)).await;
    let capabilities = ada.get("/api/capabilities").await;
    let declared = ada.post("/auth/business-profile", &declaration()).await;

    assert_eq!(chat.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(templates.refusal(), (403, "business_profile_incomplete"));
    assert_eq!((me.status, &me.body["requiresBusinessProfile"]), (200, &json!(true)));
    assert_eq!(envelope.body["user"]["requiresBusinessProfile"], true);
    assert_eq!((next.status, capabilities.status), (200, 200));
    assert_eq!((declared.status, &declared.body), (200, &json!({ "success": true })));
    // With the token that was refused a moment ago.
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);
    let me = ada.get("/auth/me").await.body;
    assert_eq!(me["requiresBusinessProfile"], false);
    assert_eq!((&me["customerType"], &me["companyName"]), (&json!(1), &json!("Ada & Co")));
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_needs_no_declaration() {
    let (app, ada) = undeclared(TestDatabase::sqlite()).await;

    assert_eq!(log_out(&app.stranger(), spent(&ada)).await.status, 200);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_must_say_what_it_declares() {
    let (_app, ada) = undeclared(TestDatabase::sqlite()).await;

    for (body, field) in [
        (json!({ "actingAsBusiness": true }), "companyName"),
        (json!({ "companyName": "  ", "actingAsBusiness": true }), "companyName"),
        (json!({ "companyName": "Ada & Co" }), "actingAsBusiness"),
        (json!({ "companyName": "Ada & Co", "actingAsBusiness": false }), "actingAsBusiness"),
    ] {
        let answer = ada.post("/auth/business-profile", &body).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(answer.body["errors"][0]["field"], field, "{body}");
    }
    assert_eq!(ada.get("/api/ai/templates").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_register_declare_at_once() {
    let app = Setting::on(TestDatabase::sqlite()).with(REQUIRED, true).start().await;

    for (body, refused) in [
        (person(0, None), Some("customerType")),
        (person(1, None), Some("companyName")),
        (person(1, Some("  ")), Some("companyName")),
        (person(1, Some("Ada & Co")), None),
        (person(2, None), None),
    ] {
        let answer = app.stranger().post("/auth/register", &body).await;

        match refused {
            Some(field) => {
                assert_eq!(answer.refusal(), (400, "validation_failed"), "{body}");
                assert_eq!(answer.body["errors"][0]["field"], field, "{body}");
            }
            None => assert_eq!(answer.status, 200, "{body}: {}", answer.text()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_owe_nothing() {
    let app = Setting::on(TestDatabase::sqlite()).with(REQUIRED, true).start().await;
    let bob = person(2, Some("not kept"));
    app.stranger().post("/auth/register", &bob).await;

    let email = bob["email"].as_str().expect("an address");
    let envelope = sign_in(&app.stranger(), email, PASSWORD).await;
    let client = app.stranger().with_tokens(&envelope.body);

    assert_eq!(envelope.body["user"]["requiresBusinessProfile"], false);
    assert_eq!(client.get("/api/ai/templates").await.status, 200);
    let me = client.get("/auth/me").await.body;
    assert_eq!((&me["customerType"], me.get("companyName")), (&json!(2), None));
}
