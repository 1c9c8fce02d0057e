//! App passwords, for programs that do not support second factors.

use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::credentials::{create_app_password, current_session, sessions};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use pia_web::Access;
use serde_json::{Value, json};
use uuid::Uuid;

use super::factors::Ada;
use super::{log_out, refresh, refresh_token, sign_in};

on_both_databases!(
    the_desktop_client_signs_in_to_an_account_with_a_second_factor,
    an_app_password_is_created_returned_once_and_listed,
    revoking_an_app_password_ends_its_sessions,
    an_app_password_is_rejected_in_browsers,
    creating_an_app_password_requires_a_proof,
);

const PATH: &str = "/auth/app-passwords";

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

async fn remove(client: &Client, id: &str) -> TestResponse {
    client.send("DELETE", &format!("{PATH}/{id}"), &[], b"").await
}

async fn the_desktop_client_signs_in_to_an_account_with_a_second_factor(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let password = text(&create_app_password(&ada.client, "Desktop").await["appPassword"]);
    let desktop = ada.app.anonymous();
    let json_utf8 = ("content-type", "application/json; charset=utf-8");
    let device = [
        json_utf8,
        ("x-pia-device-id", "0199f0e0-0000-7000-8000-00000000000a"),
        ("x-pia-app-version", "1.4.278.0"),
        ("x-pia-os-version", "Microsoft Windows NT 10.0.22631.0"),
    ];

    let credentials = json!({ "email": "ada@example.org", "password": password }).to_string();
    let envelope =
        desktop.send("POST", "/auth/login/local", &[json_utf8], credentials.as_bytes()).await;
    let signed_in = desktop.clone().with_tokens(&envelope.body);
    let token = json!({ "refreshToken": refresh_token(&signed_in) }).to_string();
    let next_response = desktop.send("POST", "/auth/refresh", &device, token.as_bytes()).await;
    let signed_in = desktop.clone().with_tokens(&next_response.body);
    let me = signed_in.get("/auth/me").await;
    let profile = json!({ "companyName": "Ada & Co", "actingAsBusiness": true });
    let profile = signed_in.post("/auth/business-profile", &profile).await;
    let listed_sessions = sessions(&signed_in).await;
    let out = log_out(&desktop, refresh_token(&signed_in)).await;

    assert_eq!(envelope.status, 200, "{}", envelope.text());
    assert_eq!(keys(&envelope.body), ["accessToken", "expiresIn", "refreshToken", "user"]);
    assert_eq!(next_response.status, 200);
    assert_eq!(me.status, 200);
    assert_eq!(profile.status, 200);
    assert_eq!(out.status, 200);
    assert_eq!(me.body["email"], "ada@example.org");
    assert_eq!(listed_sessions[0]["method"], "app_password");
    assert_eq!(signed_in.get("/auth/me").await.refusal(), (401, "unauthorized"));

    let own_response = sign_in(&desktop, "ada@example.org", PASSWORD).await;
    assert_eq!(own_response.refusal(), (401, "mfa_required"), "the password alone is not enough");
}

async fn an_app_password_is_created_returned_once_and_listed(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;

    let new = create_app_password(&ada, " Desktop ").await;
    create_app_password(&ada, "Other").await;
    let previous_response = ada.get(PATH).await;
    let password = text(&new["appPassword"]);
    let typed = password.to_uppercase().replace('-', " ");
    let signed_in = sign_in(&app.anonymous(), "ada@example.org", &typed).await;
    let as_bob = sign_in(&app.anonymous(), "bob@example.org", &password).await;
    let later_response = ada.get(PATH).await;

    assert_eq!(keys(&new), ["appPassword", "createdAt", "id", "name"]);
    assert!(password.len() == 33 && password.starts_with("pia-"), "{password}");
    assert_eq!(signed_in.status, 200);
    assert_eq!(as_bob.refusal(), (401, "invalid_credentials"));

    let items = previous_response.body["items"].as_array().expect("a list");
    assert_eq!(items.iter().map(|it| text(&it["name"])).collect::<Vec<_>>(), ["Desktop", "Other"]);
    assert_eq!(keys(&items[0]), ["createdAt", "id", "name"]);

    let used_entry = &later_response.body["items"][0];
    assert_eq!(keys(used_entry), ["createdAt", "id", "lastUsedAt", "name"]);
    assert!(
        !previous_response.text().contains(&password) && !later_response.text().contains(&password)
    );
    assert_eq!(bob.get(PATH).await.body, json!({ "items": [] }));
}

async fn revoking_an_app_password_ends_its_sessions(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let new = create_app_password(&ada, "Desktop").await;
    let id = text(&new["id"]);
    let password = text(&new["appPassword"]);
    let envelope = sign_in(&app.anonymous(), "ada@example.org", &password).await;
    let desktop = app.anonymous().with_tokens(&envelope.body);
    assert_eq!(desktop.get("/auth/me").await.status, 200);

    let removal_response = remove(&ada, &id.to_uppercase()).await;
    let second_response = remove(&ada, &id).await;

    assert_eq!(removal_response.status, 200);
    assert_eq!(removal_response.body, json!({ "success": true }));
    assert_eq!(second_response.refusal(), (404, "not_found"));
    assert_eq!(desktop.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let refresh_response = refresh(&app.anonymous(), refresh_token(&desktop)).await;
    assert_eq!(refresh_response.refusal(), (401, "invalid_refresh_token"));
    let response = sign_in(&app.anonymous(), "ada@example.org", &password).await;
    assert_eq!(response.refusal(), (401, "invalid_credentials"));
    assert_eq!(ada.get("/auth/me").await.status, 200);
}

async fn an_app_password_is_rejected_in_browsers(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let password = text(&create_app_password(&ada, "Desktop").await["appPassword"]);
    let wrong = sign_in(&app.anonymous(), "ada@example.org", "a wrong password").await;
    let sign_in_with = async |path, password: &str, header| {
        let body = json!({ "email": "ada@example.org", "password": password }).to_string();
        let headers = [("content-type", "application/json"), header];
        app.anonymous().send("POST", path, &headers, body.as_bytes()).await
    };

    for header in [("origin", "https://example.org"), ("sec-fetch-site", "same-origin")] {
        let refusal = sign_in_with("/auth/login/local", &password, header).await;
        assert_eq!(refusal.status, 401, "{header:?}");
        assert_eq!(refusal.bytes, wrong.bytes, "{header:?}");
        let own_response = sign_in_with("/auth/login/local", PASSWORD, header).await;
        assert_eq!(own_response.status, 200, "{header:?}");
    }
    let hosted = sign_in_with("/api/auth/login", &password, ("sec-fetch-mode", "cors")).await;
    assert_eq!(hosted.refusal(), (401, "invalid_credentials"));
}

async fn creating_an_app_password_requires_a_proof(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let recovery_code = &ada.codes[0];

    let create = async |proof: Value| {
        let mut body = json!({ "name": "Desktop" });
        body.as_object_mut()
            .expect("an object")
            .extend(proof.as_object().cloned().unwrap_or_default());
        ada.client.post(PATH, &body).await
    };
    let unproved = create(json!({})).await;
    let wrong = create(json!({ "password": "a wrong password" })).await;
    let two = create(json!({ "password": PASSWORD, "code": "123456" })).await;
    let first_response = create(json!({ "recoveryCode": recovery_code })).await;
    let replayed = create(json!({ "recoveryCode": recovery_code })).await;
    let by_code = create(json!({ "code": ada.code() })).await;

    assert_eq!(unproved.refusal(), (400, "validation_failed"));
    assert_eq!(unproved.body["errors"][0]["code"], "required");
    assert_eq!(two.refusal(), (400, "validation_failed"));
    for refused in [wrong, replayed] {
        assert_eq!(refused.refusal(), (403, "invalid_proof"));
    }
    assert_eq!(first_response.status, 200);
    assert_eq!(by_code.status, 200);
    assert_eq!(ada.client.get(PATH).await.body["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_password_cannot_change_what_secures_the_account() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada@example.org").await;
    let password = text(&create_app_password(&ada, "Desktop").await["appPassword"]);
    let envelope = sign_in(&app.anonymous(), "ada@example.org", &password).await;
    let desktop = app.anonymous().with_tokens(&envelope.body);
    let owner_session = current_session(&ada).await;
    let owner_routes: Vec<_> =
        pia_server::routes().into_iter().filter(|it| it.access == Access::Owner).collect();

    for route in &owner_routes {
        for id in [owner_session.clone(), Uuid::now_v7().to_string()] {
            let path = match route.path.split_once('{') {
                Some((before, rest)) => {
                    format!("{before}{id}{}", rest.split_once('}').expect("an id").1)
                }
                None => route.path.to_owned(),
            };
            let response = desktop.send(route.method.as_str(), &path, &[], b"").await;
            assert_eq!(response.refusal(), (403, "app_password_refused"), "{path}");
        }
    }

    assert!(owner_routes.len() >= 9);
    assert_eq!(ada.get("/auth/me").await.status, 200);
    for path in ["/auth/me", "/auth/sessions", "/auth/login-history", "/api/ai/templates"] {
        assert_eq!(desktop.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_names_are_rejected() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for (name, code) in [
        (json!(null), "required"),
        (json!("  "), "required"),
        (json!("x".repeat(65)), "too_long"),
        (json!("a\u{0}b"), "invalid"),
        (json!("a\nb"), "invalid"),
        (json!(5), ""),
        (json!(["x"]), ""),
    ] {
        let response = ada.post(PATH, &json!({ "name": name, "password": PASSWORD })).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{name}");
        let error = &response.body["errors"][0];
        assert_eq!(error["field"], "name", "{name}");
        assert!(code.is_empty() || error["code"] == code, "{name}: {error}");
    }
    for field in ["password", "code", "recoveryCode"] {
        let response = ada.post(PATH, &json!({ "name": "x", field: 5 })).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{field}");
        assert_eq!(response.body["errors"][0]["field"], field);
    }
    assert_eq!(ada.get(PATH).await.body, json!({ "items": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_at_most_twenty_app_passwords() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    for number in 0..20 {
        create_app_password(&ada, &format!("app {number}")).await;
    }

    let full_response = ada.post(PATH, &json!({ "name": "more", "password": PASSWORD })).await;

    assert_eq!(full_response.refusal(), (409, "app_password_limit_reached"));
    assert_eq!(full_response.body["limit"], 20);
}
