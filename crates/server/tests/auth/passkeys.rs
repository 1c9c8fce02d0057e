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
use pia_server_testkit::client::{Answer, Client, keys};
use pia_server_testkit::credentials::{add_passkey, enrol, passkey_options, sessions};
use pia_server_testkit::harness::{PASSWORD, Setting, TestApp};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{another_session, refresh, spent};

const EMAIL: &str = "ada@example.org";

on_both_databases!(
    a_passkey_is_added_listed_used_and_removed,
    several_passkeys_each_sign_in,
    a_change_ends_all_sessions_but_its_own,
    an_account_has_twenty_passkeys_at_most,
    a_passkey_is_added_once,
    of_many_completions_with_one_answer_one_signs_in,
    of_many_additions_with_one_answer_one_is_taken,
    a_counter_that_goes_back_blocks_its_passkey_until_its_owner_decides,
    failures_of_a_known_passkey_are_in_its_owners_history,
);

fn setting(database: TestDatabase) -> Setting {
    Setting::on(database).with("Server__PublicUrl", ORIGIN)
}

async fn spawn(database: TestDatabase) -> TestApp {
    setting(database).start().await
}

/// Requests the options for signing in, as a browser.
async fn ask_to_sign_in(app: &TestApp) -> Value {
    let requested = app.stranger().post("/auth/webauthn/login/begin", &json!({})).await;
    assert_eq!(requested.status, 200, "{}", requested.text());
    requested.body
}

async fn answer(app: &TestApp, requested: &Value, credential: &Value) -> Answer {
    let body = json!({ "challengeToken": requested["challengeToken"], "credential": credential });
    app.stranger().post("/auth/webauthn/login/complete", &body).await
}

async fn sign_in(app: &TestApp, key: &mut Authenticator) -> Answer {
    let requested = ask_to_sign_in(app).await;
    let credential = key.get(&requested["publicKey"]);
    answer(app, &requested, &credential).await
}

async fn list(client: &Client) -> Vec<Value> {
    let answer = client.get("/auth/webauthn/credentials").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body["items"].as_array().expect("a list").clone()
}

async fn remove(client: &Client, id: &str) -> Answer {
    client.send("DELETE", &format!("/auth/webauthn/credentials/{id}"), &[], b"").await
}

async fn outcomes(client: &Client) -> Vec<String> {
    let history = client.get("/auth/login-history").await;
    let items = history.body["items"].as_array().expect("a list").iter();
    let reported = |it: &Value| format!("{} {}", text(&it["outcome"]), text(&it["method"]));
    items.map(reported).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn statuses(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|it| it.status == status).count()
}

async fn a_passkey_is_added_listed_used_and_removed(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::counting();

    let requested = passkey_options(&ada).await;
    let added =
        add_passkey(&ada, &requested, "  My key ", &key.create(&requested["publicKey"])).await;
    let unused = list(&ada).await;
    let to_sign = ask_to_sign_in(&app).await;
    let credential = key.get(&to_sign["publicKey"]);
    let envelope = answer(&app, &to_sign, &credential).await;
    let signed_in = app.stranger().with_tokens(&envelope.body);
    let used = list(&signed_in).await;
    let sessions = sessions(&signed_in).await;
    let removed = remove(&signed_in, text(&added.body["id"])).await;
    let after = sign_in(&app, &mut key).await;

    assert_eq!(keys(&requested), ["challengeToken", "publicKey"]);
    let options = &requested["publicKey"];
    assert_eq!(options["rp"], json!({ "name": "Pia", "id": "localhost" }));
    assert_eq!((&options["user"]["name"], &options["timeout"]), (&json!(EMAIL), &json!(300_000)));
    assert_eq!(options["attestation"], "none");
    let selection = &options["authenticatorSelection"];
    assert_eq!(selection["residentKey"], "required");
    assert_eq!(selection["requireResidentKey"], true);
    assert_eq!(selection["userVerification"], "required");
    assert_eq!((added.status, keys(&added.body)), (200, vec!["createdAt", "id", "name"]));
    assert_eq!((unused.len(), &unused[0]), (1, &added.body));
    assert_eq!(added.body["name"], "My key");
    assert_eq!(keys(&to_sign), ["challengeToken", "publicKey"], "without mediation");
    assert_eq!(to_sign["publicKey"]["allowCredentials"], json!([]));
    assert_eq!(to_sign["publicKey"]["userVerification"], "required");
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    assert_eq!(keys(&envelope.body), ["accessToken", "expiresIn", "refreshToken", "user"]);
    assert_eq!(envelope.body["user"]["email"], EMAIL);
    assert!(used[0]["lastUsedAt"].is_string(), "{used:?}");
    assert_eq!(sessions[0]["method"], "passkey");
    assert_eq!((removed.status, &removed.body), (200, &json!({ "success": true })));
    assert_eq!(after.refusal(), (401, "invalid_passkey"));
    assert!(list(&signed_in).await.is_empty());
    assert_eq!(refresh(&app.stranger(), spent(&signed_in)).await.status, 200);
}

async fn several_passkeys_each_sign_in(database: TestDatabase) {
    let app = spawn(database).await;
    let (ada, eve) = (app.sign_up(EMAIL).await, app.sign_up("eve@example.org").await);
    let (mut phone, mut laptop) = (Authenticator::new(), Authenticator::counting());
    let mut eves = Authenticator::new();
    let first = enrol(&ada, &mut phone, "Phone").await;
    let second = enrol(&ada, &mut laptop, "Phone").await;
    enrol(&eve, &mut eves, "Phone").await;

    let requested = passkey_options(&ada).await;
    let signed_in = [
        sign_in(&app, &mut phone).await,
        sign_in(&app, &mut laptop).await,
        sign_in(&app, &mut phone).await,
        sign_in(&app, &mut eves).await,
    ];
    let removed = remove(&ada, &first).await;
    let phone = sign_in(&app, &mut phone).await;
    let laptop = sign_in(&app, &mut laptop).await;

    let excluded = requested["publicKey"]["excludeCredentials"].as_array().expect("a list");
    assert_eq!(excluded.len(), 2);
    let whose = signed_in.map(|it| text(&it.body["user"]["email"]).to_owned());
    assert_eq!(whose, [EMAIL, EMAIL, EMAIL, "eve@example.org"]);
    assert_eq!((removed.status, phone.status, laptop.status), (200, 401, 200));
    let left: Vec<Value> = list(&ada).await.into_iter().map(|it| it["id"].clone()).collect();
    assert_eq!(left, [json!(second)]);
}

async fn a_change_ends_all_sessions_but_its_own(database: TestDatabase) {
    let app = spawn(database).await;
    let first = app.sign_up(EMAIL).await;
    let second = another_session(&app.stranger(), EMAIL).await;
    let eve = app.sign_up("eve@example.org").await;
    assert_eq!(second.get("/auth/me").await.status, 200);

    let id = enrol(&first, &mut Authenticator::new(), "Key").await;
    let after_adding = second.get("/auth/me").await;
    let third = another_session(&app.stranger(), EMAIL).await;
    let before_removing = third.get("/auth/me").await;
    remove(&first, &id).await;

    assert_eq!(after_adding.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.stranger(), spent(&second)).await.status, 401);
    assert_eq!(before_removing.status, 200);
    assert_eq!(third.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(first.get("/auth/me").await.status, 200);
    assert_eq!(eve.get("/auth/me").await.status, 200);
}

async fn an_account_has_twenty_passkeys_at_most(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let waiting = passkey_options(&ada).await;
    for number in 0..20 {
        enrol(&ada, &mut Authenticator::new(), &format!("Key {number}")).await;
    }

    let proof = json!({ "password": PASSWORD });
    let requested = ada.post("/auth/webauthn/register/begin", &proof).await;
    let credential = Authenticator::new().create(&waiting["publicKey"]);
    let added = add_passkey(&ada, &waiting, "One more", &credential).await;

    assert_eq!(requested.refusal(), (409, "passkey_limit_reached"));
    assert_eq!(added.refusal(), (409, "passkey_limit_reached"));
    assert_eq!((&requested.body["limit"], &added.body["limit"]), (&json!(20), &json!(20)));
    assert_eq!(list(&ada).await.len(), 20);
}

async fn a_passkey_is_added_once(database: TestDatabase) {
    let app = spawn(database).await;
    let (ada, eve) = (app.sign_up(EMAIL).await, app.sign_up("eve@example.org").await);
    let mut key = Authenticator::new();
    let before = passkey_options(&ada).await;
    enrol(&ada, &mut key, "Key").await;

    let again = add_passkey(&ada, &before, "Key", &key.create(&before["publicKey"])).await;
    let after = passkey_options(&ada).await;
    let excluded = add_passkey(&ada, &after, "Key", &key.create(&after["publicKey"])).await;
    let requested = passkey_options(&eve).await;
    let others = add_passkey(&eve, &requested, "Key", &key.create(&requested["publicKey"])).await;

    for refused in [again, excluded, others] {
        assert_eq!(refused.refusal(), (400, "invalid_passkey_response"));
        assert_eq!(refused.body["errors"][0]["field"], "credential");
    }
    assert_eq!((list(&ada).await.len(), list(&eve).await.len()), (1, 0));
}

async fn of_many_completions_with_one_answer_one_signs_in(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;

    let requested = ask_to_sign_in(&app).await;
    let credential = key.get(&requested["publicKey"]);
    let answers = join_all((0..16).map(|_| answer(&app, &requested, &credential))).await;

    assert_eq!((statuses(&answers, 200), statuses(&answers, 401)), (1, 15));
    assert_eq!(sessions(&ada).await.len(), 2);
}

async fn of_many_additions_with_one_answer_one_is_taken(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let requested = passkey_options(&ada).await;
    let credential = Authenticator::new().create(&requested["publicKey"]);

    let answers =
        join_all((0..16).map(|_| add_passkey(&ada, &requested, "Key", &credential))).await;

    assert_eq!((statuses(&answers, 200), statuses(&answers, 400)), (1, 15));
    assert_eq!(list(&ada).await.len(), 1);
}

async fn a_counter_that_goes_back_blocks_its_passkey_until_its_owner_decides(
    database: TestDatabase,
) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::counting();
    key.counter = 40;
    enrol(&ada, &mut key, "Key").await;

    let mut tried = Vec::new();
    for counter in [41, 39, 42, 43] {
        let requested = ask_to_sign_in(&app).await;
        let credential = key.get_as(&requested["publicKey"], |draft| draft.counter = counter);
        tried.push((counter, answer(&app, &requested, &credential).await.status));
    }

    assert_eq!(tried, [(41, 200), (39, 401), (42, 401), (43, 401)]);
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
    let wrong = json!({ "blocked": false, "password": "a guess" });
    assert_eq!(patch(wrong).await.refusal(), (403, "invalid_proof"));
    let renamed = patch(json!({ "name": " Work " })).await.body;
    assert_eq!((&renamed["name"], renamed["blockedAt"].is_string()), (&json!("Work"), true));
    let freed = patch(json!({ "blocked": false, "password": PASSWORD })).await.body;
    assert!(freed["blockedAt"].is_null() && freed["name"] == "Work", "{freed}");
    let requested = ask_to_sign_in(&app).await;
    let credential = key.get_as(&requested["publicKey"], |draft| draft.counter = 43);
    assert_eq!(answer(&app, &requested, &credential).await.status, 200);
}

async fn failures_of_a_known_passkey_are_in_its_owners_history(database: TestDatabase) {
    let app = spawn(database).await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;

    let requested = ask_to_sign_in(&app).await;
    let forged =
        key.get_as(&requested["publicKey"], |draft| "evil.example".clone_into(&mut draft.rp_id));
    answer(&app, &requested, &forged).await;
    sign_in(&app, &mut Authenticator::new()).await;
    sign_in(&app, &mut key).await;

    let reported = ["signed_in passkey", "wrong_passkey passkey", "signed_in password"];
    assert_eq!(outcomes(&ada).await, reported);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_begun_on_one_instance_is_completed_on_another() {
    let first = spawn(TestDatabase::postgres().await).await;
    let second = Setting::beside(&first).with("Server__PublicUrl", ORIGIN).start().await;
    let ada = first.sign_up(EMAIL).await;
    let there = second.stranger().with_tokens(&json!({ "accessToken": ada.access }));
    let mut key = Authenticator::counting();

    let requested = passkey_options(&ada).await;
    let added = add_passkey(&there, &requested, "Key", &key.create(&requested["publicKey"])).await;
    let to_sign = ask_to_sign_in(&first).await;
    let credential = key.get(&to_sign["publicKey"]);
    let signed_in = answer(&second, &to_sign, &credential).await;
    let replayed = answer(&first, &to_sign, &credential).await;

    assert_eq!((added.status, signed_in.status), (200, 200));
    assert_eq!(replayed.refusal(), (401, "invalid_passkey"));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_address_allows_no_passkeys_all_states_so() {
    for address in ["http://127.0.0.1:8080", "http://pia.example.com"] {
        let setting = Setting::on(TestDatabase::sqlite()).with("Server__PublicUrl", address);
        let app = setting.start().await;
        let ada = app.sign_up(EMAIL).await;

        let (some, proof) = (json!({ "challengeToken": "x" }), json!({ "password": PASSWORD }));
        let answers = [
            ada.post("/auth/webauthn/register/begin", &proof).await,
            add_passkey(&ada, &some, "Key", &json!({})).await,
            app.stranger().post("/auth/webauthn/login/begin", &json!({})).await,
            answer(&app, &some, &json!({})).await,
        ];

        for refused in answers {
            assert_eq!(refused.refusal(), (409, "passkeys_unavailable"), "{address}");
        }
        assert!(list(&ada).await.is_empty());
    }
}
