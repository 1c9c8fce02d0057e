//! Tests of enabling encryption of an account.

use pia_server_testkit::client::keys;
use pia_server_testkit::credentials::app_password_id;
use pia_server_testkit::emails::names_to;
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig, terms};
use pia_server_testkit::machine::{
    Machine, encrypt, proof_key, put_proof_key, recovery_copy, text,
};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{device_status, status};

on_both_databases!(
    the_first_device_encrypts_the_account,
    an_encrypted_account_without_a_device_cannot_start_over,
    changes_of_keys_are_emailed_and_part_of_the_export,
    a_session_has_the_name_of_its_device,
);

async fn the_first_device_encrypts_the_account(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = Machine::new();
    let previous_status = status(&ada).await;

    let registration = first_machine.register(&ada).await;
    let status_after_registration = status(&ada).await;
    let device_status_after_registration = device_status(&ada, &first_machine.id).await;
    let key_response = first_machine.store_own_key(&ada, 1).await;
    let copy_response = ada.post("/api/e2ee/recovery/wrapped-umk", &recovery_copy()).await;
    let proof_key_response = put_proof_key(&ada, &proof_key()).await;

    let not_encrypted = json!({
        "isEnabled": false, "umkVersion": 0, "hasRecoveryKey": false, "hasRecoveryProofKey": false,
    });
    assert_eq!(previous_status, not_encrypted);
    assert_eq!(status_after_registration, not_encrypted, "registering alone encrypts nothing");

    let expected_keys = ["isFirstDevice", "onboardingSessionId", "serverChallenge"];
    assert_eq!(keys(&registration), expected_keys);
    assert_eq!(registration["isFirstDevice"], true);
    assert_eq!(key_response.status, 200);
    assert_eq!(copy_response.status, 200, "{}", copy_response.text());
    assert_eq!(proof_key_response.status, 204);
    assert_eq!(proof_key_response.bytes.len(), 0);

    let encrypted = json!({
        "isEnabled": true, "umkVersion": 1, "hasRecoveryKey": true, "hasRecoveryProofKey": true,
    });
    assert_eq!(status(&ada).await, encrypted);
    assert_eq!(device_status_after_registration, 0);
    assert_eq!(device_status(&ada, &first_machine.id).await, 1);

    let key = ada.get(&first_machine.path("wrapped-umk")).await.body;
    assert_eq!(key["ciphertext"], json!(text(1, 60)));
    assert_eq!(key["hkdfSalt"], json!(text(1, 32)));
    assert_eq!(key["createdByDeviceId"], json!(first_machine.id));
    assert_eq!(key["deviceId"], json!(first_machine.id));
    assert_eq!(key["wrapVersion"], 1);
    assert_eq!(key["signatureVersion"], 1);
    assert!(key.get("approverSignature").is_none());
    assert!(key.get("onboardingSessionId").is_none());

    let copy = ada.get("/api/e2ee/recovery/wrapped-umk").await.body;
    let uploaded_copy = recovery_copy();
    for field in ["ciphertext", "kdfSalt", "kdfMemoryCostKb", "kdfTimeCost", "kdfParallelism"] {
        assert_eq!(copy[field], uploaded_copy[field], "{field}");
    }
    assert_eq!(copy["wrapVersion"], 1);
    assert_eq!(copy["umkVersion"], 1);
}

async fn an_encrypted_account_without_a_device_cannot_start_over(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;

    let revocation_response = ada.post(&first_machine.path("revoke"), &json!({})).await;
    let repeated_registration = first_machine.register(&ada).await;
    let new_registration = Machine::new().register(&ada).await;
    let key_response = first_machine.store_own_key(&ada, 2).await;

    assert_eq!(revocation_response.status, 200);
    assert_eq!(revocation_response.body, json!({ "success": true }));
    assert_eq!(repeated_registration["isFirstDevice"], false);
    assert_eq!(new_registration["isFirstDevice"], false);
    assert_eq!(key_response.refusal(), (403, "device_not_active"));
    assert_eq!(ada.get(&first_machine.path("wrapped-umk")).await.refusal(), (404, "not_found"));
    assert_eq!(status(&ada).await["isEnabled"], true);
}

async fn changes_of_keys_are_emailed_and_part_of_the_export(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    let ada = app.sign_up("ada@example.org").await;
    let first_machine = encrypt(&ada).await;
    let second_machine = Machine::new();

    second_machine.start_onboarding(&ada).await;
    second_machine.start_onboarding(&ada).await;
    ada.post(&second_machine.path("revoke"), &json!({})).await;

    let emails = names_to(&app, "ada@example.org").await;
    let emails_of_keys: Vec<_> = emails.iter().filter(|it| *it != "new-device").collect();
    assert_eq!(
        emails_of_keys,
        ["device-approved", "recovery-key-changed", "device-registered", "device-revoked"]
    );

    let accept = [("accept", "application/json")];
    let export = ada.send("GET", "/auth/account/export", &accept, b"").await;
    let devices = &export.body["data"]["devices"];
    assert_eq!(devices[0]["deviceId"], json!(second_machine.id));
    assert_eq!(devices[0]["status"], 2);
    assert_eq!(devices[1]["deviceId"], json!(first_machine.id));
    assert_eq!(devices[1]["status"], 1);
    assert_eq!(devices[1]["agreementKey"], first_machine.public_key());
    for secret in [text(1, 60), text(3, 60), text(4, 32)] {
        assert!(!export.text().contains(&secret));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_an_app_password_may_use_keys() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada@example.org").await;
    let proof = json!({ "name": "Desktop", "password": PASSWORD });
    let creation_response = ada.post("/auth/app-passwords", &proof).await;
    let credentials =
        json!({ "email": "ada@example.org", "password": creation_response.body["appPassword"] });
    let signed_in = app.anonymous().post("/auth/login/local", &credentials).await;
    let desktop = app.anonymous().with_tokens(&signed_in.body);

    let first_machine = encrypt(&desktop).await;

    assert_eq!(device_status(&ada, &first_machine.id).await, 1);
    assert!(!app_password_id(&ada).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_feature_only_the_status_is_served() {
    let without_features = pia_policy::Terms { features: Some([].into()), ..terms() };
    let app = TestConfig::on(TestDatabase::sqlite()).licensed(Some(without_features)).start().await;
    let ada = app.signed_in().await;

    let response = ada.post("/api/e2ee/devices/register", &Machine::new().registration()).await;

    assert_eq!(status(&ada).await["isEnabled"], false);
    assert_eq!(response.refusal(), (403, "feature_not_licensed"));
    assert_eq!(response.body["feature"], "E2EE");
}

async fn a_session_has_the_name_of_its_device(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let machine = Machine::new();
    let session_before = ada.get("/auth/sessions").await.body["items"][0].clone();
    machine.register(&ada).await;
    let token = json!({ "refreshToken": ada.refresh }).to_string();
    let headers = [("content-type", "application/json"), ("x-pia-device-id", &*machine.id)];

    let envelope = app.anonymous().send("POST", "/auth/refresh", &headers, token.as_bytes()).await;
    let ada = ada.with_tokens(&envelope.body);
    let session_after = ada.get("/auth/sessions").await.body["items"][0].clone();

    assert!(session_before.get("deviceName").is_none(), "{session_before}");
    assert_eq!(session_after["deviceId"], json!(machine.id));
    assert_eq!(session_after["deviceName"], "DESKTOP-ADA");
}
