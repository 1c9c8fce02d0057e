//! Tests of the licence: missing, installed, replaced and expired.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock};
use pia_policy::{Feature, Terms};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::administrator;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, licence, terms};
use pia_server_testkit::licences::{ended, foreign, forged};
use pia_server_testkit::polling::until;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

async fn unlicensed() -> TestApp {
    TestConfig::on(TestDatabase::sqlite()).licensed(None).start().await
}

/// Starts a server with this content of its licence file.
async fn unlicensed_with(file: &[u8]) -> TestApp {
    TestConfig::on(TestDatabase::sqlite()).licence_file(file).start().await
}

fn token(app: &TestApp) -> String {
    std::fs::read_to_string(app.dir.join(".setup-token")).expect("a token").trim().to_owned()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// Uploads a body as `curl --data-binary` does.
async fn upload(app: &TestApp, token: &str, text: &str) -> TestResponse {
    let headers = [("x-setup-token", token), ("content-type", "application/x-www-form-urlencoded")];
    app.anonymous().send("POST", "/admin/setup/license", &headers, text.as_bytes()).await
}

async fn submit(app: &TestApp, token: &str, text: &str) -> TestResponse {
    let form: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("token", token)
        .append_pair("license", text)
        .finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    app.anonymous().send("POST", "/admin/setup", &headers, form.as_bytes()).await
}

/// Starts a server whose licence ends in a minute of its clock.
async fn ending() -> (TestApp, Client, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let end = Some(clock.now() + Duration::from_mins(1));
    let app = TestConfig::on(TestDatabase::sqlite())
        .licensed(Some(Terms { expires_at: end, ..terms() }))
        .at(Arc::<ManualClock>::clone(&clock))
        .with_upstream("http://127.0.0.1:9/v1")
        .start()
        .await;
    let ada = app.sign_up("ada@example.org").await;
    (app, ada, clock)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_licence_only_probes_and_set_up_are_open() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .licensed(None)
        .with("Server__PublicUrl", "https://pia.example.com/pia")
        .start()
        .await;
    let stranger = app.anonymous();

    for (method, path) in [
        ("GET", "/auth/me"),
        ("POST", "/auth/login/local"),
        ("POST", "/auth/register"),
        ("POST", "/auth/logout"),
        ("GET", "/api/capabilities"),
        ("GET", "/openapi/v1.json"),
        ("POST", "/api/ai/chat"),
        ("DELETE", "/auth/me"),
        ("GET", "/"),
        ("GET", "/nowhere"),
        ("POST", "/admin/elsewhere"),
    ] {
        let answer = stranger.send(method, path, &[], b"").await;
        assert_eq!(answer.refusal(), (403, "no_license"), "{method} {path}");
        assert_eq!(answer.body["setupUrl"], "https://pia.example.com/pia/admin/setup");
    }
    for path in ["/health", "/ready", "/metrics", "/admin/setup", "/admin/setup/style.css"] {
        assert_eq!(stranger.get(path).await.status, 200, "{path}");
    }

    let html = [("accept", "text/html")];
    let browser = stranger.send("GET", "/?lang=de", &html, b"").await;
    assert_eq!(browser.status, 302);
    assert_eq!(browser.header("location"), Some("admin/setup?lang=de"));
    assert_eq!(stranger.get("/ready").await.body["license"], "missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_setup_token_authorises_the_installation_of_a_licence() {
    let app = unlicensed().await;
    let file = app.dir.join("license.lic");
    assert_eq!(mode(&app.dir.join(".setup-token")), 0o600);

    let text = licence(&terms());
    let answer = upload(&app, &token(&app), &text).await;

    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.body["licensee"], "A test");
    assert_eq!(answer.body["edition"], "Enterprise");
    assert!(answer.body["features"].as_array().is_some_and(|it| it.contains(&json!("AiProxy"))));
    assert_eq!(app.anonymous().get("/ready").await.body["license"], "valid");
    assert_eq!(app.signed_in().await.get("/auth/me").await.status, 200);
    assert_eq!(mode(&file), 0o600);
    assert_eq!(std::fs::read_to_string(&file).expect("a file").trim(), text);

    let second_response = upload(&app, &token(&app), &text).await;
    assert_eq!(
        second_response.refusal(),
        (409, "already_licensed"),
        "what is left is the administrator"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installed_licence_survives_a_restart() {
    let app = unlicensed().await;
    let text = licence(&terms());
    upload(&app, &token(&app), &text).await;

    let stored = std::fs::read(app.dir.join("license.lic")).expect("a file");
    let next_server = unlicensed_with(&stored).await;

    assert_eq!(String::from_utf8_lossy(&stored).trim(), text);
    assert_eq!(next_server.anonymous().get("/ready").await.body["license"], "valid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_licence_is_installed_with_a_form_too() {
    let app = unlicensed().await;
    let page = app.anonymous().get("/admin/setup").await;

    let refusal = submit(&app, "wrong", &licence(&terms())).await;
    let wrapped: String = licence(&terms()).chars().flat_map(|it| [it, '\n']).collect();
    let response = submit(&app, &token(&app), &wrapped).await;

    let kind = page.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/html") && page.text().contains("<form"), "{}", page.text());
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert!(
        page.header("content-security-policy").is_some_and(|it| it.contains("default-src 'none'"))
    );
    assert_eq!(refusal.status, 403, "{}", refusal.text());
    assert_eq!(response.status, 303, "{}", response.text());
    assert_eq!(response.header("location"), Some("setup"));
    assert_eq!(app.anonymous().get("/api/capabilities").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_reveals_nothing() {
    let app = unlicensed().await;
    let correct_token = token(&app);
    let truncated_text = correct_token.get(..correct_token.len() - 1).unwrap_or_default();

    for wrong in ["", "wrong", truncated_text] {
        for text in [licence(&terms()), forged(), "nonsense".to_owned()] {
            let answer = upload(&app, wrong, &text).await;
            assert_eq!(answer.refusal(), (403, "invalid_setup_token"), "{wrong}");
        }
    }
    assert_eq!(token(&app), correct_token);
    assert_eq!(app.anonymous().get("/api/capabilities").await.error(), "no_license");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_error_of_a_licence_has_a_distinct_code() {
    let app = unlicensed().await;
    let valid_licence = licence(&terms());
    let truncated_text =
        valid_licence.get(..valid_licence.len() / 2).unwrap_or_default().to_owned();

    for (text, code) in [
        (forged(), "license_forged"),
        (foreign(), "license_foreign"),
        (truncated_text, "license_truncated"),
        (String::new(), "license_truncated"),
        ("nonsense".to_owned(), "license_truncated"),
        (ended(), "license_expired"),
    ] {
        let answer = upload(&app, &token(&app), &text).await;
        assert_eq!(answer.refusal(), (400, code), "{text}");
    }
    assert!(!app.dir.join("license.lic").exists());
    assert_eq!(upload(&app, &token(&app), &valid_licence).await.status, 200);

    let second_response = upload(&app, "whatever", &valid_licence).await;
    assert_eq!(second_response.refusal(), (409, "already_licensed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_licence_file_counts_as_missing() {
    for text in [forged(), foreign(), "nonsense".to_owned()] {
        let app = unlicensed_with(text.as_bytes()).await;

        assert_eq!(app.anonymous().get("/ready").await.body["license"], "refused");
        assert_eq!(app.anonymous().get("/api/capabilities").await.refusal(), (403, "no_license"));
        assert_eq!(upload(&app, &token(&app), &licence(&terms())).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_file_takes_effect_without_a_restart() {
    let app = unlicensed().await;
    let file = app.dir.join("license.lic");
    let licensed = async || app.anonymous().get("/ready").await.body["license"].clone();

    std::fs::write(&file, licence(&terms())).expect("a file");
    until(async || (licensed().await == "valid").then_some(())).await;
    let ada = app.signed_in().await;
    assert_eq!(ada.get("/api/ai/templates").await.status, 200);

    let smaller = Terms { features: Some([Feature::Sync].into()), ..terms() };
    std::fs::write(&file, licence(&smaller)).expect("a file");
    let refusal = until(async || {
        let answer = ada.get("/api/ai/templates").await;
        (answer.status != 200).then_some(answer)
    });
    assert_eq!(refusal.await.refusal(), (403, "feature_not_licensed"));

    std::fs::write(&file, foreign()).expect("a file");
    until(async || (licensed().await == "refused").then_some(())).await;
    assert_eq!(ada.get("/auth/me").await.refusal(), (403, "no_license"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_licence_permits_sign_in_and_reading() {
    let (app, ada, clock) = ending().await;
    clock.advance(Duration::from_mins(2));
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });

    let envelope = app.anonymous().post("/auth/login/local", &person).await;
    let refreshed =
        app.anonymous().post("/auth/refresh", &json!({ "refreshToken": ada.refresh })).await;
    let refreshed_client = app.anonymous().with_tokens(&refreshed.body);

    assert_eq!(envelope.status, 200);
    assert_eq!(refreshed.status, 200);
    for path in [
        "/auth/me",
        "/api/capabilities",
        "/api/ai/status",
        "/api/ai/templates",
        "/api/v1/chats",
        "/api/conversations",
        "/ready",
    ] {
        assert_eq!(refreshed_client.get(path).await.status, 200, "{path}");
    }
    assert_eq!(app.anonymous().get("/ready").await.body["license"], "expired");

    let out = app
        .anonymous()
        .post("/auth/logout", &json!({ "refreshToken": refreshed_client.refresh }))
        .await;
    assert_eq!(out.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_licence_stops_writes_and_ai_calls() {
    let (app, ada, clock) = ending().await;
    clock.advance(Duration::from_mins(2));

    for path in [
        "/auth/register",
        "/auth/business-profile",
        "/api/ai/optimize",
        "/api/ai/chat",
        "/api/ai/chat/completions",
        "/api/conversations/sync",
    ] {
        let answer = ada.post(path, &json!({})).await;
        assert_eq!(answer.refusal(), (403, "license_expired"), "{path}");
        assert_eq!(
            app.anonymous().post(path, &json!({})).await.error(),
            "license_expired",
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_reported_as_unavailable_after_the_licence_expired() {
    let (_app, ada, clock) = ending().await;

    let before = ada.get("/api/ai/status").await.body;
    clock.advance(Duration::from_mins(2));
    let after = ada.get("/api/ai/status").await.body;

    assert_eq!(before["available"], true);
    assert_eq!(after["available"], false);
    assert_eq!(after["modes"], before["modes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_licence_stops_changes_but_not_what_secures_an_account() {
    const NOTHING: &str = "018f0000-0000-7000-8000-00000000dead";
    let (_app, ada, clock) = ending().await;
    let json_body = ("content-type", "application/json");
    clock.advance(Duration::from_mins(2));

    for (method, path) in [
        ("POST", "/auth/api-keys".to_owned()),
        ("POST", "/auth/app-passwords".to_owned()),
        ("PUT", "/api/admin/settings/LocalAuth:Registration".to_owned()),
        ("DELETE", "/api/admin/settings/LocalAuth:Registration".to_owned()),
        ("PATCH", format!("/api/admin/ai-feedback/{NOTHING}")),
        ("POST", "/admin/settings/LocalAuth:Registration/change".to_owned()),
        ("POST", "/admin/first-steps/registration".to_owned()),
        ("POST", format!("/admin/feedback/{NOTHING}/triage")),
        ("POST", "/account/name".to_owned()),
        ("POST", "/account/email".to_owned()),
        ("POST", "/account/api-keys".to_owned()),
        ("POST", "/account/app-passwords".to_owned()),
    ] {
        let answer = ada.send(method, &path, &[], b"").await;
        assert_eq!(answer.refusal(), (403, "license_expired"), "{path}");
    }
    for (method, path, expected) in [
        ("DELETE", format!("/auth/api-keys/{NOTHING}"), (404, "not_found")),
        ("DELETE", format!("/auth/app-passwords/{NOTHING}"), (404, "not_found")),
        ("DELETE", format!("/auth/sessions/{NOTHING}"), (404, "not_found")),
        // Its caller has no session in a browser.
        ("POST", format!("/account/api-keys/{NOTHING}/revoke"), (401, "unauthorized")),
        ("POST", format!("/admin/users/{NOTHING}/deactivate"), (401, "unauthorized")),
        ("PUT", "/api/admin/license".to_owned(), (401, "unauthorized")),
    ] {
        let answer = ada.send(method, &path, &[json_body], b"{}").await;
        assert_eq!(answer.refusal(), expected, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_licence_is_renewed_like_a_first_one() {
    let (app, ada, clock) = ending().await;
    clock.advance(Duration::from_mins(2));
    let token = until(async || {
        let token = std::fs::read_to_string(app.dir.join(".setup-token")).ok()?;
        (!token.trim().is_empty()).then(|| token.trim().to_owned())
    });

    let answer = upload(&app, &token.await, &licence(&terms())).await;

    assert_eq!(answer.status, 200, "{}", answer.text());
    let declaration = json!({ "companyName": "Ada & Co", "actingAsBusiness": true });
    assert_eq!(ada.post("/auth/business-profile", &declaration).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feature_without_licence_is_refused_by_its_name() {
    let without = Terms { features: Some([Feature::Sync, Feature::E2ee].into()), ..terms() };
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(Some(without)).start().await;
    let ada = app.signed_in().await;

    for (method, path) in [
        ("GET", "/api/ai/status"),
        ("GET", "/api/ai/templates"),
        ("POST", "/api/ai/optimize"),
        ("POST", "/api/ai/chat"),
        ("POST", "/api/ai/chat/completions"),
    ] {
        let answer = ada.send(method, path, &[], b"").await;
        assert_eq!(answer.refusal(), (403, "feature_not_licensed"), "{path}");
        assert_eq!(answer.body["feature"], "AiProxy", "{path}");
        let stranger = app.anonymous().send(method, path, &[], b"").await;
        assert_eq!(stranger.refusal(), (401, "unauthorized"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_public_url_the_setup_url_is_a_path() {
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(None).start().await;

    let refusal = app.anonymous().get("/auth/me").await;

    assert_eq!(refusal.body["setupUrl"], "/admin/setup");
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_replace_a_licence_also_after_it_has_expired() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let end = clock.now() + Duration::from_mins(5);
    let config = TestConfig::on(TestDatabase::sqlite())
        .licensed(Some(Terms { expires_at: Some(end), ..terms() }))
        .at(Arc::<ManualClock>::clone(&clock));
    let (app, _, console) = administrator(config).await;
    let replace = async |text: String| {
        console.write("PUT", "/api/admin/license", json!({ "license": text })).await
    };

    let mut refused = Vec::new();
    for text in [forged(), foreign(), ended(), String::new()] {
        refused.push(replace(text).await.error().to_owned());
    }
    let smaller =
        Terms { features: Some([Feature::Sync].into()), expires_at: Some(end), ..terms() };
    let replacement_response = replace(licence(&smaller)).await;
    clock.advance(Duration::from_mins(6));
    let expired = app.anonymous().get("/ready").await.body["license"].clone();
    let renewal_response = replace(licence(&terms())).await;

    let codes = ["license_forged", "license_foreign", "license_expired", "license_truncated"];
    assert_eq!(refused, codes);
    assert_eq!(replacement_response.status, 200);
    assert_eq!(replacement_response.body["features"], json!(["Sync"]));
    assert_eq!(expired, "expired");
    assert_eq!(renewal_response.status, 200, "{}", renewal_response.text());
    assert_eq!(renewal_response.body.get("expiresAt"), None);
    assert_eq!(app.anonymous().get("/ready").await.body["license"], "valid");
    assert_eq!(app.count("audit_entries WHERE action = 'Licence.Replaced'").await, 2);
}
