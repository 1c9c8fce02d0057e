//! Tests of devices that join by the recovery code.

use futures_util::future::join_all;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::{
    Machine, encrypt, proof, proof_key, put_proof_key, recovery_copy, text,
};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::device_status;

on_both_databases!(
    a_proof_of_the_decrypted_copy_admits_a_device_once,
    without_a_proof_key_any_proof_is_accepted,
    the_first_proof_key_is_permanent_and_locks_the_copy,
    without_a_copy_there_is_nothing_to_recover,
    an_active_device_recovers_by_wrapping_its_own_key,
);

const COPY: &str = "/api/e2ee/recovery/wrapped-umk";
const ACTIVATE: &str = "/api/e2ee/recovery/activate";

async fn a_proof_of_the_decrypted_copy_admits_a_device_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    assert_eq!(put_proof_key(&ada, &proof_key()).await.status, 204);
    ada.send("POST", &first_machine.path("revoke"), &[], b"").await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;

    for wrong in [proof("another session"), text(0, 32), "x".to_owned(), proof(&session) + "="] {
        let response = ada.post(ACTIVATE, &joining.activation(&session, &wrong)).await;
        assert_eq!(response.refusal(), (400, "invalid_proof"), "{wrong}");
    }
    let foreign_response = ada.post(ACTIVATE, &joining.activation("c2Vzc2lvbg==", "x")).await;
    let activation = joining.activation(&session, &proof(&session));
    let answers = join_all((0..4).map(|_| ada.post(ACTIVATE, &activation))).await;

    assert_eq!(foreign_response.refusal(), (400, "invalid_onboarding_session"));
    assert_eq!(answers.iter().filter(|it| it.status == 200).count(), 1);
    assert_eq!(
        answers.iter().filter(|it| (it.status, it.error()) == (404, "not_found")).count(),
        3
    );
    assert_eq!(device_status(&ada, &joining.id).await, 1);

    let key = ada.get(&joining.path("wrapped-umk")).await.body;
    assert_eq!(key["ciphertext"], json!(text(9, 60)));
    assert_eq!(key["createdByDeviceId"], json!(joining.id));
    assert!(key.get("approverSignature").is_none(), "{key}");

    // A used session is invalid for the same device too.
    ada.send("POST", &joining.path("revoke"), &[], b"").await;
    joining.start_onboarding(&ada).await;
    let spending_response = ada.post(ACTIVATE, &activation).await;
    assert_eq!(spending_response.refusal(), (400, "invalid_onboarding_session"));
}

async fn without_a_proof_key_any_proof_is_accepted(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    encrypt(&ada).await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;

    let activated = ada.post(ACTIVATE, &joining.activation(&session, &text(0, 32))).await;

    assert_eq!(activated.status, 200);
    assert_eq!(activated.body, json!({ "success": true }));
    assert_eq!(device_status(&ada, &joining.id).await, 1);
}

async fn the_first_proof_key_is_permanent_and_locks_the_copy(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    encrypt(&ada).await;
    let other_key = json!({ "proofKey": text(1, 32), "version": 1 });

    let replacement_response = ada.post(COPY, &recovery_copy()).await;
    let malformed = put_proof_key(&ada, &json!({ "proofKey": text(1, 31), "version": 1 })).await;
    let later = put_proof_key(&ada, &json!({ "proofKey": text(1, 32), "version": 2 })).await;
    let empty_response = put_proof_key(&ada, &json!({ "proofKey": null })).await;
    let put = put_proof_key(&ada, &proof_key()).await;
    let second_response = put_proof_key(&ada, &proof_key()).await;
    let conflict = put_proof_key(&ada, &other_key).await;
    let locked_response = ada.post(COPY, &recovery_copy()).await;

    for refused in [malformed, later, empty_response] {
        assert_eq!(refused.refusal(), (400, "invalid_proof_key"));
        assert_eq!(refused.body["errors"][0]["field"], "proofKey");
    }
    assert_eq!(replacement_response.status, 200);
    assert_eq!(put.status, 204);
    assert_eq!(second_response.status, 204);
    assert_eq!(conflict.refusal(), (409, "proof_key_conflict"));
    assert_eq!(locked_response.refusal(), (409, "recovery_key_locked"));
}

async fn without_a_copy_there_is_nothing_to_recover(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = Machine::new();
    let session = first_machine.start_onboarding(&ada).await;

    let copied = ada.post(COPY, &recovery_copy()).await;
    let response = ada.get(COPY).await;
    let activated = ada.post(ACTIVATE, &first_machine.activation(&session, &text(0, 32))).await;
    let early_response = put_proof_key(&ada, &proof_key()).await;
    first_machine.store_own_key(&ada, 1).await;
    let guarded = put_proof_key(&ada, &proof_key()).await;

    assert_eq!(copied.refusal(), (403, "device_not_active"));
    assert_eq!(response.refusal(), (404, "recovery_not_set_up"));
    for refused in [activated, early_response, guarded] {
        assert_eq!(refused.refusal(), (409, "recovery_not_set_up"));
    }
}

async fn an_active_device_recovers_by_wrapping_its_own_key(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    put_proof_key(&ada, &proof_key()).await;

    first_machine.start_onboarding(&ada).await;
    let copy = ada.get(COPY).await;
    let unchanged = device_status(&ada, &first_machine.id).await;
    let uploaded = first_machine.store_own_key(&ada, 6).await;

    assert_eq!(copy.status, 200);
    assert_eq!(unchanged, 1);
    assert_eq!(uploaded.status, 200);
    let key = ada.get(&first_machine.path("wrapped-umk")).await.body;
    assert_eq!(key["ciphertext"], text(6, 60));
}
