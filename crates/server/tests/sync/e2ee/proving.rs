//! Tests of operations that require a fresh proof, as sessions may be stolen.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::machine::{
    Machine, encrypt, proof_key, put_proof_key, recovery_copy, text,
};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::{device_status, status};

on_both_databases!(
    a_stolen_session_resets_nothing_and_adds_no_first_device,
    a_stolen_session_adds_no_device_and_changes_no_key,
);

const ACTIVATE: &str = "/api/e2ee/recovery/activate";
const COPY: &str = "/api/e2ee/recovery/wrapped-umk";

/// Returns a user with an encrypted account who signed in eleven minutes ago.
async fn signed_in_earlier(database: TestDatabase) -> (TestApp, Client) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    encrypt(&ada).await;
    clock.advance(Duration::from_mins(11));
    (app, ada)
}

async fn reset(client: &Client, proof: &Value) -> TestResponse {
    let headers = [("content-type", "application/json")];
    client.send("DELETE", "/api/sync/reset", &headers, proof.to_string().as_bytes()).await
}

/// Returns the body with additional keys.
fn with(mut body: Value, keys: &Value) -> Value {
    let fields = body.as_object_mut().expect("an object");
    fields.extend(keys.as_object().expect("an object").clone());
    body
}

async fn a_stolen_session_resets_nothing_and_adds_no_first_device(database: TestDatabase) {
    let (app, ada) = signed_in_earlier(database).await;
    let program = program_of_ada(&app, &ada).await;

    let response_to_program = program.send("DELETE", "/api/sync/reset", &[], b"").await;
    let response_without_proof = ada.send("DELETE", "/api/sync/reset", &[], b"").await;
    let response_to_guess = reset(&ada, &json!({ "password": "guessed" })).await;
    assert_eq!(response_to_program.refusal(), (403, "app_password_refused"));
    assert_eq!(response_without_proof.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(response_to_guess.refusal(), (403, "invalid_proof"));
    assert_eq!(status(&ada).await["isEnabled"], true, "nothing was reset");

    let proof = json!({ "password": PASSWORD });
    let reset_response = reset(&ada, &proof).await;
    assert_eq!(reset_response.status, 200, "{}", reset_response.text());

    let thief = Machine::new();
    thief.register(&ada).await;
    for client in [&ada, &program] {
        let response = thief.store_own_key(client, 1).await;
        assert_eq!(response.refusal(), (403, "fresh_sign_in_required"));
    }
    assert_eq!(device_status(&ada, &thief.id).await, 0);

    let proven_key = with(thief.own_key(1), &proof);
    let response = ada.post(&thief.path("wrapped-umk"), &proven_key).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(device_status(&ada, &thief.id).await, 1);
}

/// Signs in a program of Ada's with an app password.
async fn program_of_ada(app: &TestApp, ada: &Client) -> Client {
    let request = json!({ "name": "Desktop", "password": PASSWORD });
    let creation_response = ada.post("/auth/app-passwords", &request).await;
    let credentials =
        json!({ "email": "ada@example.org", "password": creation_response.body["appPassword"] });
    let envelope = app.anonymous().post("/auth/login/local", &credentials).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    app.anonymous().with_tokens(&envelope.body)
}

async fn a_stolen_session_adds_no_device_and_changes_no_key(database: TestDatabase) {
    let (_app, ada) = signed_in_earlier(database).await;
    let proof = json!({ "password": PASSWORD });
    let thief = Machine::new();
    let session = thief.start_onboarding(&ada).await;
    let activation = thief.activation(&session, &text(0, 32));
    let copy_of_version = |number: i32| with(recovery_copy(), &json!({ "umkVersion": number }));

    let activation_response = ada.post(ACTIVATE, &activation).await;
    let same_version_response = ada.post(COPY, &recovery_copy()).await;
    let next_version_response = ada.post(COPY, &copy_of_version(2)).await;
    let proof_key_response = put_proof_key(&ada, &proof_key()).await;
    for response in [activation_response, next_version_response, proof_key_response] {
        assert_eq!(response.refusal(), (403, "fresh_sign_in_required"));
    }
    assert_eq!(same_version_response.status, 200);

    let skipping_response = ada.post(COPY, &with(copy_of_version(3), &proof)).await;
    let proven_copy_response = ada.post(COPY, &with(copy_of_version(2), &proof)).await;
    let proven_activation_response = ada.post(ACTIVATE, &with(activation, &proof)).await;
    let proven_key_response = put_proof_key(&ada, &with(proof_key(), &proof)).await;
    assert_eq!(skipping_response.body["errors"][0]["field"], "umkVersion");
    assert_eq!(proven_copy_response.status, 200);
    assert_eq!(proven_activation_response.status, 200);
    assert_eq!(proven_key_response.status, 204, "{}", proven_key_response.text());
    assert_eq!(status(&ada).await["umkVersion"], 2);
}
