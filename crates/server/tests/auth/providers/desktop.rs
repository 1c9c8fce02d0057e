//! Tests of the desktop client with the certified provider.

use pia_server_testkit::client::{Answer, Client, keys};
use pia_server_testkit::credentials::sessions;
use pia_server_testkit::harness::TestApp;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use url::Url;

use super::browser::Browser;
use super::node::NodeProvider;
use super::{
    VERIFIER, code_reported, desktop_login, error_reported, knowing, location, login, parameter,
    path_of, redeem,
};
use crate::{log_out, refresh, spent};

on_both_databases!(
    a_program_signs_in_stays_so_and_signs_out,
    whoever_comes_again_has_the_account_they_had,
    whoever_changes_their_mind_is_reported_and_may_try_again,
    without_a_target_the_browser_is_answered,
);

fn accounts() -> Value {
    json!({
        "ada": { "email": "Ada@example.org", "email_verified": true, "name": "Ada Lovelace" },
        "eve": { "email": "eve@example.org", "email_verified": false },
    })
}

async fn with_node(database: TestDatabase) -> (NodeProvider, TestApp) {
    let node = NodeProvider::start(&accounts()).await;
    let app = knowing(database, &node.issuer).start().await;
    (node, app)
}

/// Goes to the provider from where it was sent, says this there, and follows
/// to the way back.
async fn at_provider(left: &Answer, states: &str) -> String {
    let sent = location(left);
    let address = sent.socket_addrs(|| None).expect("an address")[0];
    let mut browser = Browser::at(Client::new(address));
    let mut path = path_of(&sent);
    let mut hops = 0;
    loop {
        hops += 1;
        assert!(hops < 6, "the provider sends nobody back");
        let answer = browser.get(&path).await;
        let next = answer.header("location").expect("the way on");
        let next = sent.join(next).expect("a URL");
        if next.path() == "/auth/callback" {
            return path_of(&next);
        }
        path = path_of(&next);
        if next.path().starts_with("/interaction/") {
            path = format!("{path}?{states}");
        }
    }
}

async fn through(app: &TestApp, start: &str, states: &str) -> Answer {
    let mut browser = Browser::of(app);
    let left = browser.get(start).await;
    let back = at_provider(&left, states).await;
    browser.get(&back).await
}

async fn a_program_signs_in_stays_so_and_signs_out(database: TestDatabase) {
    let (_node, app) = with_node(database).await;

    let arrived = through(&app, &desktop_login(), "login=ada").await;
    let envelope = redeem(&app.stranger(), &code_reported(&arrived), VERIFIER).await;

    assert_eq!(envelope.status, 200, "{}", envelope.text());
    assert_eq!(keys(&envelope.body), ["accessToken", "expiresIn", "refreshToken", "user"]);
    let user = &envelope.body["user"];
    assert_eq!(keys(user), ["displayName", "email", "id", "provider", "requiresBusinessProfile"]);
    assert_eq!((&user["email"], &user["provider"]), (&json!("Ada@example.org"), &json!("oidc")));
    assert_eq!(user["displayName"], "Ada Lovelace");
    let ada = app.stranger().with_tokens(&envelope.body);
    assert_eq!(ada.get("/auth/me").await.status, 200);
    let history = ada.get("/auth/login-history").await;
    assert_eq!(history.body["items"][0]["method"], "identity_provider");
    let next = refresh(&app.stranger(), spent(&ada)).await;
    assert_eq!(next.status, 200, "{}", next.text());
    let ada = ada.with_tokens(&next.body);
    assert_eq!(sessions(&ada).await.len(), 1);
    assert_eq!(log_out(&app.stranger(), spent(&ada)).await.status, 200);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

async fn whoever_comes_again_has_the_account_they_had(database: TestDatabase) {
    let (_node, app) = with_node(database).await;
    let user = async || {
        let arrived = through(&app, &desktop_login(), "login=ada").await;
        let envelope = redeem(&app.stranger(), &code_reported(&arrived), VERIFIER).await;
        envelope.body["user"]["id"].clone()
    };

    let (first, second) = (user().await, user().await);

    assert!(first.is_string());
    assert_eq!(first, second);
}

async fn whoever_changes_their_mind_is_reported_and_may_try_again(database: TestDatabase) {
    let (_node, app) = with_node(database).await;

    let denied = through(&app, &desktop_login(), "deny").await;
    let unverified = through(&app, &desktop_login(), "login=eve").await;
    let again = through(&app, &desktop_login(), "login=ada").await;

    assert_eq!(error_reported(&denied), "access_denied");
    assert_eq!(error_reported(&unverified), "email_not_verified");
    assert_eq!(code_reported(&again).len(), 43);
}

async fn without_a_target_the_browser_is_answered(database: TestDatabase) {
    let (_node, app) = with_node(database).await;
    let start = login(&[("provider", "oidc")]);

    let answered = through(&app, &start, "login=ada").await;
    let denied = through(&app, &start, "deny").await;

    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(answered.body["user"]["email"], "Ada@example.org");
    let page: Url = location(&denied);
    assert_eq!(page.path(), "/auth/error");
    assert_eq!(parameter(&page, "reason").as_deref(), Some("access_denied"));
}
