//! Tests of the use cases under their hosted names.

use pia_server_testkit::client::keys;
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp};
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::spent;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_one_account_under_both_names() {
    let app = TestApp::spawn().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    let stranger = app.stranger();

    let made = stranger.post("/api/auth/register", &person).await;
    let taken = stranger.post("/auth/register", &person).await;
    let hosted = stranger.post("/api/auth/login", &person).await;
    let local = stranger.post("/auth/login/local", &person).await;

    assert_eq!((made.status, made.body["success"].as_bool()), (200, Some(true)));
    assert_eq!(taken.refusal(), (409, "email_exists"));
    assert_eq!((hosted.status, keys(&hosted.body)), (200, keys(&local.body)));
    assert_eq!(hosted.body["user"], local.body["user"]);
    let client = stranger.clone().with_tokens(&hosted.body);
    assert_eq!(client.get("/auth/me").await.status, 200);
    assert_eq!(super::refresh(&stranger, spent(&client)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_reported_alike_under_both_names() {
    let app = TestApp::spawn().await;
    let stranger = app.stranger();

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
            let (one, other) =
                (stranger.post(hosted, &body).await, stranger.post(local, &body).await);
            assert_eq!((one.status, &one.bytes), (other.status, &other.bytes), "{hosted} {body}");
            assert!(one.status >= 400, "{hosted} {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_names_share_one_budget() {
    let setting = Setting::on(TestDatabase::sqlite()).with("RateLimits__LocalAuth", 2);
    let app = setting.with("RateLimits__Auth", 2).start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    let call = async |path| app.stranger().post(path, &person).await.status;

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
