//! Tests of devices that join by the recovery code.

use futures_util::future::join_all;
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::{
    Machine, encrypt, proof, proof_key, put_proof_key, recovery_copy, text,
};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::device_status;

on_both_databases!(
    a_wrong_proof_or_a_foreign_session_admits_no_device,
    a_proof_of_the_decrypted_copy_admits_a_device_once,
    a_used_session_is_invalid_for_the_same_device_too,
    without_a_proof_key_any_proof_is_accepted,
    the_first_proof_key_is_permanent_and_locks_the_copy,
    an_invalid_proof_key_is_refused,
    without_a_copy_there_is_nothing_to_recover,
    an_active_device_recovers_by_wrapping_its_own_key,
);

const COPY: &str = "/api/e2ee/recovery/wrapped-umk";
const ACTIVATE: &str = "/api/e2ee/recovery/activate";

/// Starts onboarding of a device in an encrypted account that has a proof key, but
/// no active device. Returns the device and its session.
async fn start_recovery(client: &Client) -> (Machine, String) {
    let lost_machine = encrypt(client).await;
    assert_eq!(put_proof_key(client, &proof_key()).await.status, 204);
    revoke(client, &lost_machine).await;
    let machine = Machine::new();
    let session = machine.start_onboarding(client).await;
    (machine, session)
}

async fn revoke(client: &Client, machine: &Machine) {
    let response = client.send("POST", &machine.path("revoke"), &[], b"").await;
    assert_eq!(response.status, 200, "{}", response.text());
}

async fn a_wrong_proof_or_a_foreign_session_admits_no_device(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let (machine, session) = start_recovery(&ada).await;

    for wrong in [proof("another session"), text(0, 32), "x".to_owned(), proof(&session) + "="] {
        let response = ada.post(ACTIVATE, &machine.activation(&session, &wrong)).await;
        assert_eq!(response.refusal(), (400, "invalid_proof"), "{wrong}");
    }
    let response = ada.post(ACTIVATE, &machine.activation("c2Vzc2lvbg==", "x")).await;
    assert_eq!(response.refusal(), (400, "invalid_onboarding_session"));
    assert_eq!(device_status(&ada, &machine.id).await, 0);
}

async fn a_proof_of_the_decrypted_copy_admits_a_device_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let (machine, session) = start_recovery(&ada).await;
    let activation = machine.activation(&session, &proof(&session));

    let responses = join_all((0..4).map(|_| ada.post(ACTIVATE, &activation))).await;

    assert_eq!(responses.iter().filter(|it| it.status == 200).count(), 1);
    assert_eq!(responses.iter().filter(|it| it.error() == "not_found").count(), 3);
    assert_eq!(device_status(&ada, &machine.id).await, 1);

    let key = ada.get(&machine.path("wrapped-umk")).await.body;
    assert_eq!(key["ciphertext"], json!(text(9, 60)));
    assert_eq!(key["createdByDeviceId"], json!(machine.id));
    assert!(key.get("approverSignature").is_none(), "{key}");
}

async fn a_used_session_is_invalid_for_the_same_device_too(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let (machine, session) = start_recovery(&ada).await;
    let activation = machine.activation(&session, &proof(&session));
    assert_eq!(ada.post(ACTIVATE, &activation).await.status, 200);

    revoke(&ada, &machine).await;
    machine.start_onboarding(&ada).await;
    let response = ada.post(ACTIVATE, &activation).await;

    assert_eq!(response.refusal(), (400, "invalid_onboarding_session"));
}

async fn without_a_proof_key_any_proof_is_accepted(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    encrypt(&ada).await;
    let machine = Machine::new();
    let session = machine.start_onboarding(&ada).await;

    let response = ada.post(ACTIVATE, &machine.activation(&session, &text(0, 32))).await;

    assert_eq!(response.status, 200);
    assert_eq!(response.body, json!({ "success": true }));
    assert_eq!(device_status(&ada, &machine.id).await, 1);
}

async fn the_first_proof_key_is_permanent_and_locks_the_copy(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    encrypt(&ada).await;
    let other_key = json!({ "proofKey": text(1, 32), "version": 1 });

    assert_eq!(ada.post(COPY, &recovery_copy()).await.status, 200);
    for _ in 0..2 {
        assert_eq!(put_proof_key(&ada, &proof_key()).await.status, 204);
    }
    let conflicting_response = put_proof_key(&ada, &other_key).await;
    let locked_response = ada.post(COPY, &recovery_copy()).await;

    assert_eq!(conflicting_response.refusal(), (409, "proof_key_conflict"));
    assert_eq!(locked_response.refusal(), (409, "recovery_key_locked"));
}

async fn an_invalid_proof_key_is_refused(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    encrypt(&ada).await;

    for key in [
        json!({ "proofKey": text(1, 31), "version": 1 }),
        json!({ "proofKey": text(1, 32), "version": 2 }),
        json!({ "proofKey": null }),
    ] {
        let response = put_proof_key(&ada, &key).await;
        assert_eq!(response.refusal(), (400, "invalid_proof_key"), "{key}");
        assert_eq!(response.body["errors"][0]["field"], "proofKey");
    }
}

async fn without_a_copy_there_is_nothing_to_recover(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let machine = Machine::new();
    let session = machine.start_onboarding(&ada).await;

    let upload_response = ada.post(COPY, &recovery_copy()).await;
    let copy_response = ada.get(COPY).await;
    let activation_response = ada.post(ACTIVATE, &machine.activation(&session, &text(0, 32))).await;
    let pending_response = put_proof_key(&ada, &proof_key()).await;
    machine.store_own_key(&ada, 1).await;
    let active_response = put_proof_key(&ada, &proof_key()).await;

    assert_eq!(upload_response.refusal(), (403, "device_not_active"));
    assert_eq!(copy_response.refusal(), (404, "recovery_not_set_up"));
    for response in [activation_response, pending_response, active_response] {
        assert_eq!(response.refusal(), (409, "recovery_not_set_up"));
    }
}

async fn an_active_device_recovers_by_wrapping_its_own_key(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let machine = encrypt(&ada).await;
    put_proof_key(&ada, &proof_key()).await;

    machine.start_onboarding(&ada).await;
    assert_eq!(ada.get(COPY).await.status, 200);
    assert_eq!(device_status(&ada, &machine.id).await, 1, "it stays active");
    assert_eq!(machine.store_own_key(&ada, 6).await.status, 200);

    let key = ada.get(&machine.path("wrapped-umk")).await.body;
    assert_eq!(key["ciphertext"], text(6, 60));
}
