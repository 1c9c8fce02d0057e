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

fn with(mut body: Value, proof: &Value) -> Value {
    let body_map = body.as_object_mut().expect("an object");
    body_map.extend(proof.as_object().expect("an object").clone());
    body
}

async fn a_stolen_session_resets_nothing_and_adds_no_first_device(database: TestDatabase) {
    let (app, ada) = signed_in_earlier(database).await;
    let proof = json!({ "password": PASSWORD });
    let new_body = json!({ "name": "Desktop", "password": PASSWORD });
    let app_password = ada.post("/auth/app-passwords", &new_body).await.body["appPassword"].clone();
    let credentials = json!({ "email": "ada@example.org", "password": app_password });
    let envelope = app.anonymous().post("/auth/login/local", &credentials).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    let program = app.anonymous().with_tokens(&envelope.body);

    let by_app_password = program.send("DELETE", "/api/sync/reset", &[], b"").await;
    let bare = ada.send("DELETE", "/api/sync/reset", &[], b"").await;
    let guessed = reset(&ada, &json!({ "password": "guessed" })).await;
    let unchanged = status(&ada).await["isEnabled"].clone();
    let by_owner = reset(&ada, &proof).await;
    let thief = Machine::new();
    thief.register(&ada).await;
    let first = thief.store_own_key(&ada, 1).await;
    let by_program = thief.store_own_key(&program, 1).await;
    let waiting = device_status(&ada, &thief.id).await;
    let own_response = ada.post(&thief.path("wrapped-umk"), &with(thief.own_key(1), &proof)).await;

    assert_eq!(by_app_password.refusal(), (403, "app_password_refused"));
    assert_eq!(bare.refusal(), (403, "fresh_sign_in_required"));
    assert_eq!(guessed.refusal(), (403, "invalid_proof"));
    assert_eq!(unchanged, true);
    assert_eq!(by_owner.status, 200, "{}", by_owner.text());
    for refused in [first, by_program] {
        assert_eq!(refused.refusal(), (403, "fresh_sign_in_required"));
    }
    assert_eq!(waiting, 0);
    assert_eq!(own_response.status, 200, "{}", own_response.text());
    assert_eq!(device_status(&ada, &thief.id).await, 1);
}

async fn a_stolen_session_adds_no_device_and_changes_no_key(database: TestDatabase) {
    let (_app, ada) = signed_in_earlier(database).await;
    let proof = json!({ "password": PASSWORD });
    let thief = Machine::new();
    let session = thief.start_onboarding(&ada).await;
    let activation = thief.activation(&session, &text(0, 32));
    let activate = "/api/e2ee/recovery/activate";
    let copy = "/api/e2ee/recovery/wrapped-umk";
    let version = |number: i32| with(recovery_copy(), &json!({ "umkVersion": number }));

    let activated = ada.post(activate, &activation).await;
    let replacement_response = ada.post(copy, &recovery_copy()).await;
    let raised = ada.post(copy, &version(2)).await;
    let skipped = ada.post(copy, &with(version(3), &proof)).await;
    let by_owner = ada.post(copy, &with(version(2), &proof)).await;
    let guarded = put_proof_key(&ada, &proof_key()).await;
    let activated_by_owner = ada.post(activate, &with(activation, &proof)).await;
    let guarded_by_owner = put_proof_key(&ada, &with(proof_key(), &proof)).await;

    for refused in [activated, raised, guarded] {
        assert_eq!(refused.refusal(), (403, "fresh_sign_in_required"));
    }
    assert_eq!(skipped.body["errors"][0]["field"], "umkVersion");
    assert_eq!(replacement_response.status, 200);
    assert_eq!(by_owner.status, 200);
    assert_eq!(activated_by_owner.status, 200);
    assert_eq!(guarded_by_owner.status, 204, "{}", guarded_by_owner.text());
    assert_eq!(status(&ada).await["umkVersion"], 2);
}
