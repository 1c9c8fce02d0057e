//! Tests of the operator's routes: probes, metrics, the API's description.

use pia_policy::{Edition, Feature, Terms};
use pia_server_testkit::harness::{TestApp, TestConfig, terms};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

const TOKEN: &str = "q7Zt3LxV9mR2cWb5Ks8N";

on_both_databases!(readiness_reports_each_component);

async fn readiness_reports_each_component(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;

    let ready = app.anonymous().get("/ready").await;

    let expected =
        json!({ "status": "ready", "database": "ok", "migrations": "ok", "license": "valid" });
    assert_eq!(ready.status, 200);
    assert_eq!(ready.body, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_are_a_capability_if_the_licence_includes_them() {
    let app = TestApp::spawn().await;
    let terms_without_chats = Terms { features: Some([Feature::E2ee].into()), ..terms() };
    let app_without_chats =
        TestConfig::on(TestDatabase::sqlite()).licensed(Some(terms_without_chats)).start().await;

    let capabilities = app.anonymous().get("/api/capabilities").await;
    let fewer_capabilities = app_without_chats.anonymous().get("/api/capabilities").await;

    assert_eq!(capabilities.body, json!({ "chats": true, "chatsSchemaVersion": 1 }));
    assert_eq!(fewer_capabilities.body, json!({ "chats": false, "chatsSchemaVersion": 1 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metrics_token_is_required_from_all_callers() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Metrics__Token", TOKEN).start().await;
    let stranger = app.anonymous();
    let correct_header = format!("Bearer {TOKEN}");
    let wrong_header = format!("Bearer {TOKEN}x");
    let get_metrics =
        async |headers: &[(&str, &str)]| stranger.send("GET", "/metrics", headers, b"").await;

    let local_response = get_metrics(&[]).await;
    let forwarded = ("x-forwarded-for", "198.51.100.7");
    let from_elsewhere = get_metrics(&[forwarded]).await;
    let through_a_proxy = get_metrics(&[("forwarded", "for=198.51.100.7")]).await;
    let with_token = get_metrics(&[forwarded, ("authorization", &correct_header)]).await;
    let with_wrong_token = get_metrics(&[forwarded, ("authorization", &wrong_header)]).await;

    assert_eq!(local_response.refusal(), (401, "unauthorized"));
    assert_eq!(from_elsewhere.refusal(), (401, "unauthorized"));
    assert_eq!(through_a_proxy.refusal(), (401, "unauthorized"));
    assert_eq!(with_token.status, 200);
    assert_eq!(with_wrong_token.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_does_not_authorise_metrics() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Metrics__Token", TOKEN).start().await;
    let ada = app.signed_in().await;

    let answer = ada.get("/metrics").await;

    assert_eq!(answer.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_requests_by_route_without_secrets() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("Metrics__Token", TOKEN).start().await;
    let ada = app.sign_up("ada@example.org").await;
    for path in ["/health", "/health", "/auth/me", "/secret-path"] {
        ada.get(path).await;
    }

    let token = format!("Bearer {TOKEN}");
    let headers = [("authorization", token.as_str())];
    let metrics = app.anonymous().send("GET", "/metrics", &headers, b"").await;

    let text = metrics.text();
    for line in [
        r#"pia_http_requests_total{method="GET",route="/health",status="200"} 2"#,
        r#"pia_http_requests_total{method="GET",route="/auth/me",status="200"} 1"#,
        r#"pia_http_requests_total{method="POST",route="/auth/register",status="200"} 1"#,
        "pia_http_requests_in_flight 1",
        "pia_ai_usage_written_total 0",
        "# EOF",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in {text}");
    }

    let kind = metrics.header("content-type").expect("a kind");
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    for private in [TOKEN, "secret-path", "ada@example.org"] {
        assert!(!text.contains(private), "{private} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_off_until_it_is_enabled() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Server__BasePath", "/pia")
        .with("Server__PublicUrl", "https://corp.example/pia")
        .start()
        .await;
    let response_while_off = app.anonymous().get("/openapi/v1.json").await;
    assert_eq!(response_while_off.refusal(), (404, "not_found"));

    app.reload(&json!({ "OpenApi": { "Enabled": true } }));
    let description = app.anonymous().get("/openapi/v1.json").await;

    assert_eq!(description.status, 200);
    assert_eq!(description.body["openapi"], "3.1.0");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let snapshot_text = std::fs::read_to_string(path).expect("the snapshot");
    let mut snapshot: serde_json::Value = serde_json::from_str(&snapshot_text).expect("JSON");
    snapshot["servers"][0]["url"] = "https://corp.example/pia".into();
    assert_eq!(description.body, snapshot);

    let paths = description.body["paths"].as_object().expect("paths");
    assert!(paths.contains_key("/api/ai/chat"));
    assert!(paths.contains_key("/auth/refresh"));
    assert!(!paths.keys().any(|it| it.starts_with("/admin") || it.starts_with("/api/admin")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_managed_service_never_publishes_its_description() {
    let terms_of_all_features = Terms { features: Some(Feature::ALL.into()), ..terms() };
    let terms_of_edition = Terms { edition: Edition::Cloud.name().to_owned(), ..terms() };

    for licence_terms in [terms_of_all_features, terms_of_edition] {
        let app = TestConfig::on(TestDatabase::sqlite())
            .with("OpenApi__Enabled", true)
            .licensed(Some(licence_terms))
            .start()
            .await;

        let answer = app.anonymous().get("/openapi/v1.json").await;

        assert_eq!(answer.refusal(), (404, "not_found"));
    }
}
