//! Tests of the desktop client with the certified provider.

use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::credentials::sessions;
use pia_server_testkit::harness::TestApp;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use url::Url;

use super::browser::Browser;
use super::node::NodeProvider;
use super::{
    VERIFIER, desktop_login, location, login, parameter, path_of, redeem, redirect_code,
    redirect_error, with_provider,
};
use crate::{log_out, refresh, refresh_token};

on_both_databases!(
    the_client_signs_in_refreshes_and_signs_out,
    signing_in_again_opens_the_same_account,
    a_denied_sign_in_is_reported_and_can_be_retried,
    without_a_target_the_browser_receives_the_tokens,
);

fn accounts() -> Value {
    json!({
        "ada": { "email": "Ada@example.org", "email_verified": true, "name": "Ada Lovelace" },
        "eve": { "email": "eve@example.org", "email_verified": false },
    })
}

async fn with_node(database: TestDatabase) -> (NodeProvider, TestApp) {
    let node = NodeProvider::start(&accounts()).await;
    let app = with_provider(database, &node.issuer).start().await;
    (node, app)
}

/// Follows a redirect to the provider, answers its interaction with this query,
/// and returns the path of the callback.
async fn at_provider(redirect: &TestResponse, interaction: &str) -> String {
    let start = location(redirect);
    let address = start.socket_addrs(|| None).expect("an address")[0];
    let mut browser = Browser::at(Client::new(address));
    let mut path = path_of(&start);
    let mut hops = 0;
    loop {
        hops += 1;
        assert!(hops < 6, "the provider never redirects to the callback");
        let response = browser.get(&path).await;
        let next = response.header("location").expect("a location");
        let next = start.join(next).expect("a URL");
        if next.path() == "/auth/callback" {
            return path_of(&next);
        }
        path = path_of(&next);
        if next.path().starts_with("/interaction/") {
            path = format!("{path}?{interaction}");
        }
    }
}

async fn sign_in_with(app: &TestApp, start: &str, interaction: &str) -> TestResponse {
    let mut browser = Browser::of(app);
    let redirect = browser.get(start).await;
    let callback = at_provider(&redirect, interaction).await;
    browser.get(&callback).await
}

async fn the_client_signs_in_refreshes_and_signs_out(database: TestDatabase) {
    let (_node, app) = with_node(database).await;

    let arrived = sign_in_with(&app, &desktop_login(), "login=ada").await;
    let envelope = redeem(&app.anonymous(), &redirect_code(&arrived), VERIFIER).await;

    assert_eq!(envelope.status, 200, "{}", envelope.text());
    assert_eq!(keys(&envelope.body), ["accessToken", "expiresIn", "refreshToken", "user"]);
    let user = &envelope.body["user"];
    assert_eq!(keys(user), ["displayName", "email", "id", "provider", "requiresBusinessProfile"]);
    assert_eq!(user["email"], "Ada@example.org");
    assert_eq!(user["provider"], "oidc");
    assert_eq!(user["displayName"], "Ada Lovelace");

    let ada = app.anonymous().with_tokens(&envelope.body);
    assert_eq!(ada.get("/auth/me").await.status, 200);
    let history = ada.get("/auth/login-history").await;
    assert_eq!(history.body["items"][0]["method"], "identity_provider");

    let refresh_response = refresh(&app.anonymous(), refresh_token(&ada)).await;
    assert_eq!(refresh_response.status, 200, "{}", refresh_response.text());
    let ada = ada.with_tokens(&refresh_response.body);
    assert_eq!(sessions(&ada).await.len(), 1);
    assert_eq!(log_out(&app.anonymous(), refresh_token(&ada)).await.status, 200);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

async fn signing_in_again_opens_the_same_account(database: TestDatabase) {
    let (_node, app) = with_node(database).await;
    let user = async || {
        let arrived = sign_in_with(&app, &desktop_login(), "login=ada").await;
        let envelope = redeem(&app.anonymous(), &redirect_code(&arrived), VERIFIER).await;
        envelope.body["user"]["id"].clone()
    };

    let first = user().await;
    let second = user().await;

    assert!(first.is_string());
    assert_eq!(first, second);
}

async fn a_denied_sign_in_is_reported_and_can_be_retried(database: TestDatabase) {
    let (_node, app) = with_node(database).await;

    let denied = sign_in_with(&app, &desktop_login(), "deny").await;
    let unverified = sign_in_with(&app, &desktop_login(), "login=eve").await;
    let repeated_response = sign_in_with(&app, &desktop_login(), "login=ada").await;

    assert_eq!(redirect_error(&denied), "access_denied");
    assert_eq!(redirect_error(&unverified), "email_not_verified");
    assert_eq!(redirect_code(&repeated_response).len(), 43);
}

async fn without_a_target_the_browser_receives_the_tokens(database: TestDatabase) {
    let (_node, app) = with_node(database).await;
    let start = login(&[("provider", "oidc")]);

    let response = sign_in_with(&app, &start, "login=ada").await;
    let denied = sign_in_with(&app, &start, "deny").await;

    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.body["user"]["email"], "Ada@example.org");
    let page: Url = location(&denied);
    assert_eq!(page.path(), "/auth/error");
    assert_eq!(parameter(&page, "reason").as_deref(), Some("access_denied"));
}
