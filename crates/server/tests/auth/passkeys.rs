//! Passkeys: adding them, signing in with them, and removing them.

mod at_rest;
mod bad_input;
mod browser;
mod forged;
mod proofs;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::authenticator::{Authenticator, ORIGIN};
use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::credentials::{add_passkey, enrol, passkey_options, sessions};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{another_session, refresh, refresh_token};

const EMAIL: &str = "ada@example.org";

on_both_databases!(
    a_passkey_is_added_listed_used_and_removed,
    several_passkeys_each_sign_in,
    a_change_ends_all_sessions_but_its_own,
    an_account_has_at_most_twenty_passkeys,
    a_passkey_is_added_once,
    of_concurrent_completions_of_a_sign_in_one_succeeds,
    of_concurrent_completions_of_a_registration_one_succeeds,
    a_decreasing_counter_blocks_the_passkey_until_its_owner_unblocks_it,
    failures_of_a_known_passkey_are_in_its_owners_history,
);

fn setting(database: TestDatabase) -> TestConfig {
    TestConfig::on(database).with("Server__PublicUrl", ORIGIN)
}

async fn spawn(database: TestDatabase) -> TestApp {
    setting(database).start().await
}

/// Requests the options for a sign-in, as a browser.
async fn sign_in_options(app: &TestApp) -> Value {
    let response = app.anonymous().post("/auth/webauthn/login/begin", &json!({})).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body
}

async fn complete_sign_in(app: &TestApp, options: &Value, credential: &Value) -> TestResponse {
    let body = json!({ "challengeToken": options["challengeToken"], "credential": credential });
    app.anonymous().post("/auth/webauthn/login/complete", &body).await
}

async fn sign_in(app: &TestApp, key: &mut Authenticator) -> TestResponse {
    let options = sign_in_options(app).await;
    let credential = key.get(&options["publicKey"]);
    complete_sign_in(app, &options, &credential).await
}

async fn list(client: &Client) -> Vec<Value> {
    let response = client.get("/auth/webauthn/credentials").await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.body["items"].as_array().expect("a list").clone()
}

async fn remove(client: &Client, id: &str) -> TestResponse {
    client.send("DELETE", &format!("/auth/webauthn/credentials/{id}"), &[], b"").await
}

async fn outcomes(client: &Client) -> Vec<String> {
    let history = client.get("/auth/login-history").await;
    let items = history.body["items"].as_array().expect("a list").iter();
    let formatted = |it: &Value| format!("{} {}", text(&it["outcome"]), text(&it["method"]));
    items.map(formatted).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn count_status(responses: &[TestResponse], status: u16) -> usize {
    responses.iter().filter(|it| it.status == status).count()
}

async fn a_passkey_is_added_listed_used_and_removed(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::counting();

    let registration = passkey_options(&ada).await;
    let addition_response =
        add_passkey(&ada, &registration, "  My key ", &key.create(&registration["publicKey"]))
            .await;
    let unused = list(&ada).await;
    let login = sign_in_options(&app).await;
    let credential = key.get(&login["publicKey"]);
    let envelope = complete_sign_in(&app, &login, &credential).await;
    let signed_in = app.anonymous().with_tokens(&envelope.body);
    let used_passkeys = list(&signed_in).await;
    let listed_sessions = sessions(&signed_in).await;
    let removal_response = remove(&signed_in, text(&addition_response.body["id"])).await;
    let later_response = sign_in(&app, &mut key).await;

    assert_eq!(keys(&registration), ["challengeToken", "publicKey"]);
    let public_key = &registration["publicKey"];
    assert_eq!(public_key["rp"], json!({ "name": "Pia", "id": "localhost" }));
    assert_eq!(public_key["user"]["name"], json!(EMAIL));
    assert_eq!(public_key["timeout"], 300_000);
    assert_eq!(public_key["attestation"], "none");

    let selection = &public_key["authenticatorSelection"];
    assert_eq!(selection["residentKey"], "required");
    assert_eq!(selection["requireResidentKey"], true);
    assert_eq!(selection["userVerification"], "required");
    assert_eq!(addition_response.status, 200);
    assert_eq!(keys(&addition_response.body), ["createdAt", "id", "name"]);
    assert_eq!(unused.len(), 1);
    assert_eq!(unused[0], addition_response.body);
    assert_eq!(addition_response.body["name"], "My key");
    assert_eq!(keys(&login), ["challengeToken", "publicKey"], "without mediation");
    assert_eq!(login["publicKey"]["allowCredentials"], json!([]));
    assert_eq!(login["publicKey"]["userVerification"], "required");
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    assert_eq!(keys(&envelope.body), ["accessToken", "expiresIn", "refreshToken", "user"]);
    assert_eq!(envelope.body["user"]["email"], EMAIL);
    assert!(used_passkeys[0]["lastUsedAt"].is_string(), "{used_passkeys:?}");
    assert_eq!(listed_sessions[0]["method"], "passkey");
    assert_eq!(removal_response.status, 200);
    assert_eq!(removal_response.body, json!({ "success": true }));
    assert_eq!(later_response.refusal(), (401, "invalid_passkey"));
    assert!(list(&signed_in).await.is_empty());
    assert_eq!(refresh(&app.anonymous(), refresh_token(&signed_in)).await.status, 200);
}

async fn several_passkeys_each_sign_in(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let eve = app.sign_up("eve@example.org").await;
    let mut phone = Authenticator::new();
    let mut laptop = Authenticator::counting();
    let mut eves = Authenticator::new();
    let first = enrol(&ada, &mut phone, "Phone").await;
    let second = enrol(&ada, &mut laptop, "Phone").await;
    enrol(&eve, &mut eves, "Phone").await;

    let options = passkey_options(&ada).await;
    let signed_in = [
        sign_in(&app, &mut phone).await,
        sign_in(&app, &mut laptop).await,
        sign_in(&app, &mut phone).await,
        sign_in(&app, &mut eves).await,
    ];
    let removal_response = remove(&ada, &first).await;
    let phone = sign_in(&app, &mut phone).await;
    let laptop = sign_in(&app, &mut laptop).await;

    let excluded = options["publicKey"]["excludeCredentials"].as_array().expect("a list");
    assert_eq!(excluded.len(), 2);
    let owners = signed_in.map(|it| text(&it.body["user"]["email"]).to_owned());
    assert_eq!(owners, [EMAIL, EMAIL, EMAIL, "eve@example.org"]);
    assert_eq!(removal_response.status, 200);
    assert_eq!(phone.status, 401);
    assert_eq!(laptop.status, 200);
    let remaining: Vec<Value> = list(&ada).await.into_iter().map(|it| it["id"].clone()).collect();
    assert_eq!(remaining, [json!(second)]);
}

async fn a_change_ends_all_sessions_but_its_own(database: TestDatabase) {
    let app = spawn(database).await;
    let first_client = app.sign_up(EMAIL).await;
    let second_client = another_session(&app.anonymous(), EMAIL).await;
    let eve = app.sign_up("eve@example.org").await;
    assert_eq!(second_client.get("/auth/me").await.status, 200);

    let id = enrol(&first_client, &mut Authenticator::new(), "Key").await;
    let after_adding = second_client.get("/auth/me").await;
    let third_client = another_session(&app.anonymous(), EMAIL).await;
    let before_removing = third_client.get("/auth/me").await;
    remove(&first_client, &id).await;

    assert_eq!(after_adding.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.anonymous(), refresh_token(&second_client)).await.status, 401);
    assert_eq!(before_removing.status, 200);
    assert_eq!(third_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(first_client.get("/auth/me").await.status, 200);
    assert_eq!(eve.get("/auth/me").await.status, 200);
}

async fn an_account_has_at_most_twenty_passkeys(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let waiting = passkey_options(&ada).await;
    for number in 0..20 {
        enrol(&ada, &mut Authenticator::new(), &format!("Key {number}")).await;
    }

    let proof = json!({ "password": PASSWORD });
    let response = ada.post("/auth/webauthn/register/begin", &proof).await;
    let credential = Authenticator::new().create(&waiting["publicKey"]);
    let addition_response = add_passkey(&ada, &waiting, "One more", &credential).await;

    assert_eq!(response.refusal(), (409, "passkey_limit_reached"));
    assert_eq!(addition_response.refusal(), (409, "passkey_limit_reached"));
    assert_eq!(response.body["limit"], 20);
    assert_eq!(addition_response.body["limit"], 20);
    assert_eq!(list(&ada).await.len(), 20);
}

async fn a_passkey_is_added_once(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let eve = app.sign_up("eve@example.org").await;
    let mut key = Authenticator::new();
    let previous_options = passkey_options(&ada).await;
    enrol(&ada, &mut key, "Key").await;

    let repeated_response =
        add_passkey(&ada, &previous_options, "Key", &key.create(&previous_options["publicKey"]))
            .await;
    let later_options = passkey_options(&ada).await;
    let excluded =
        add_passkey(&ada, &later_options, "Key", &key.create(&later_options["publicKey"])).await;
    let options = passkey_options(&eve).await;
    let others = add_passkey(&eve, &options, "Key", &key.create(&options["publicKey"])).await;

    for refused in [repeated_response, excluded, others] {
        assert_eq!(refused.refusal(), (400, "invalid_passkey_response"));
        assert_eq!(refused.body["errors"][0]["field"], "credential");
    }
    assert_eq!(list(&ada).await.len(), 1);
    assert_eq!(list(&eve).await.len(), 0);
}

async fn of_concurrent_completions_of_a_sign_in_one_succeeds(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;

    let options = sign_in_options(&app).await;
    let credential = key.get(&options["publicKey"]);
    let responses = join_all((0..16).map(|_| complete_sign_in(&app, &options, &credential))).await;

    assert_eq!(count_status(&responses, 200), 1);
    assert_eq!(count_status(&responses, 401), 15);
    assert_eq!(sessions(&ada).await.len(), 2);
}

async fn of_concurrent_completions_of_a_registration_one_succeeds(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let options = passkey_options(&ada).await;
    let credential = Authenticator::new().create(&options["publicKey"]);

    let responses =
        join_all((0..16).map(|_| add_passkey(&ada, &options, "Key", &credential))).await;

    assert_eq!(count_status(&responses, 200), 1);
    assert_eq!(count_status(&responses, 400), 15);
    assert_eq!(list(&ada).await.len(), 1);
}

async fn a_decreasing_counter_blocks_the_passkey_until_its_owner_unblocks_it(
    database: TestDatabase,
) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::counting();
    key.counter = 40;
    enrol(&ada, &mut key, "Key").await;

    let mut statuses = Vec::new();
    for counter in [41, 39, 42, 43] {
        let options = sign_in_options(&app).await;
        let credential = key.get_as(&options["publicKey"], |draft| draft.counter = counter);
        statuses.push((counter, complete_sign_in(&app, &options, &credential).await.status));
    }

    assert_eq!(statuses, [(41, 200), (39, 401), (42, 401), (43, 401)]);
    let passkey = list(&ada).await.remove(0);
    assert!(passkey["blockedAt"].is_string(), "{passkey}");

    let path = format!("/auth/webauthn/credentials/{}", passkey["id"].as_str().expect("an id"));
    let patch = async |body: Value| {
        ada.send(
            "PATCH",
            &path,
            &[pia_server_testkit::ai_client::JSON],
            body.to_string().as_bytes(),
        )
        .await
    };
    assert_eq!(patch(json!({ "blocked": true })).await.refusal(), (400, "validation_failed"));

    let wrong_body = json!({ "blocked": false, "password": "a guess" });
    assert_eq!(patch(wrong_body).await.refusal(), (403, "invalid_proof"));
    let renamed_body = patch(json!({ "name": " Work " })).await.body;
    assert_eq!(renamed_body["name"], "Work");
    assert!(renamed_body["blockedAt"].is_string());

    let unblocked = patch(json!({ "blocked": false, "password": PASSWORD })).await.body;
    assert!(unblocked["blockedAt"].is_null() && unblocked["name"] == "Work", "{unblocked}");
    let options = sign_in_options(&app).await;
    let credential = key.get_as(&options["publicKey"], |draft| draft.counter = 43);
    assert_eq!(complete_sign_in(&app, &options, &credential).await.status, 200);
}

async fn failures_of_a_known_passkey_are_in_its_owners_history(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;

    let options = sign_in_options(&app).await;
    let forged_credential =
        key.get_as(&options["publicKey"], |draft| "evil.example".clone_into(&mut draft.rp_id));
    complete_sign_in(&app, &options, &forged_credential).await;
    sign_in(&app, &mut Authenticator::new()).await;
    sign_in(&app, &mut key).await;

    let expected = ["signed_in passkey", "wrong_passkey passkey", "signed_in password"];
    assert_eq!(outcomes(&ada).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ceremony_starts_on_one_instance_and_completes_on_another() {
    let first = spawn(TestDatabase::postgres().await).await;
    let second_server = TestConfig::beside(&first).with("Server__PublicUrl", ORIGIN).start().await;
    let ada = first.sign_up(EMAIL).await;
    let remote_client =
        second_server.anonymous().with_tokens(&json!({ "accessToken": ada.access }));
    let mut key = Authenticator::counting();

    let options = passkey_options(&ada).await;
    let addition_response =
        add_passkey(&remote_client, &options, "Key", &key.create(&options["publicKey"])).await;
    let login = sign_in_options(&first).await;
    let credential = key.get(&login["publicKey"]);
    let signed_in = complete_sign_in(&second_server, &login, &credential).await;
    let replayed = complete_sign_in(&first, &login, &credential).await;

    assert_eq!(addition_response.status, 200);
    assert_eq!(signed_in.status, 200);
    assert_eq!(replayed.refusal(), (401, "invalid_passkey"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_suitable_address_every_route_reports_that_passkeys_are_unavailable() {
    for address in ["http://127.0.0.1:8080", "http://pia.example.com"] {
        let app =
            TestConfig::on(TestDatabase::sqlite()).with("Server__PublicUrl", address).start().await;
        let ada = app.sign_up(EMAIL).await;

        let body = json!({ "challengeToken": "x" });
        let proof = json!({ "password": PASSWORD });
        let responses = [
            ada.post("/auth/webauthn/register/begin", &proof).await,
            add_passkey(&ada, &body, "Key", &json!({})).await,
            app.anonymous().post("/auth/webauthn/login/begin", &json!({})).await,
            complete_sign_in(&app, &body, &json!({})).await,
        ];

        for refused in responses {
            assert_eq!(refused.refusal(), (409, "passkeys_unavailable"), "{address}");
        }
        assert!(list(&ada).await.is_empty());
    }
}
