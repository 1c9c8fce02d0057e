//! Tests of the hosted routes, which are aliases of the local ones.

use pia_server_testkit::client::keys;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::refresh_token;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_one_account_under_both_names() {
    let app = TestApp::spawn().await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let stranger = app.anonymous();

    let registration_response = stranger.post("/api/auth/register", &credentials).await;
    let response = stranger.post("/auth/register", &credentials).await;
    let hosted = stranger.post("/api/auth/login", &credentials).await;
    let local = stranger.post("/auth/login/local", &credentials).await;

    assert_eq!(registration_response.status, 200);
    assert_eq!(registration_response.body["success"].as_bool(), Some(true));
    assert_eq!(response.refusal(), (409, "email_exists"));
    assert_eq!(hosted.status, 200);
    assert_eq!(keys(&hosted.body), keys(&local.body));
    assert_eq!(hosted.body["user"], local.body["user"]);
    let client = stranger.clone().with_tokens(&hosted.body);
    assert_eq!(client.get("/auth/me").await.status, 200);
    assert_eq!(super::refresh(&stranger, refresh_token(&client)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_identical_under_both_names() {
    let app = TestApp::spawn().await;
    let stranger = app.anonymous();

    for (hosted, local) in
        [("/api/auth/register", "/auth/register"), ("/api/auth/login", "/auth/login/local")]
    {
        for body in [
            json!({}),
            json!([]),
            json!({ "email": 5, "password": PASSWORD }),
            json!({ "email": "ada@example.org", "password": null }),
            json!({ "email": "ada@example.org", "password": "short" }),
        ] {
            let hosted_response = stranger.post(hosted, &body).await;
            let local_response = stranger.post(local, &body).await;
            assert_eq!(hosted_response.status, local_response.status, "{hosted} {body}");
            assert_eq!(hosted_response.bytes, local_response.bytes, "{hosted} {body}");
            assert!(hosted_response.status >= 400, "{hosted} {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_names_share_one_budget() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("RateLimits__LocalAuth", 2)
        .with("RateLimits__Auth", 2)
        .start()
        .await;
    let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
    let call = async |path| app.anonymous().post(path, &credentials).await.status;

    let registered = [
        call("/api/auth/register").await,
        call("/auth/register").await,
        call("/api/auth/register").await,
    ];
    let signed_in = [
        call("/api/auth/login").await,
        call("/auth/login/local").await,
        call("/api/auth/login").await,
    ];

    assert_eq!(registered, [200, 409, 429]);
    assert_eq!(signed_in, [200, 200, 429]);
}
