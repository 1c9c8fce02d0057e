//! Tests of devices that other devices approve or reject.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, keys};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::machine::{Machine, encrypt, text};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

use super::device_status;

on_both_databases!(
    a_device_is_approved_by_the_signature_of_another,
    a_key_that_a_device_wraps_for_itself_has_no_approver,
    the_list_has_the_data_of_devices_that_others_need,
    one_of_many_concurrent_approvals_is_accepted,
    a_rejected_device_may_register_again,
    a_revoked_device_approves_no_others,
    an_active_device_stays_active_when_it_registers_again,
    a_session_ends_after_ten_minutes,
    any_other_signature_is_refused,
    only_active_devices_of_the_account_approve,
);

const APPROVE: &str = "/api/e2ee/devices/approve";

async fn devices(client: &Client) -> Vec<Value> {
    let answer = client.get("/api/e2ee/devices").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body["devices"].as_array().expect("a list").clone()
}

async fn a_device_is_approved_by_the_signature_of_another(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    for version in [None, Some(1), Some(2)] {
        let joining_machine = Machine::new();
        let session = joining_machine.start_onboarding(&ada).await;
        let pending_device = devices(&ada).await.pop().expect("a device");
        assert_eq!(pending_device["status"], 0);
        assert_eq!(pending_device["onboardingSessionId"], json!(session));

        let approval = first_machine.approval(&joining_machine, &session, version);
        let approval_response = ada.post(APPROVE, &approval).await;
        let repeated_response = ada.post(APPROVE, &approval).await;

        assert_eq!(approval_response.status, 200, "{}", approval_response.text());
        assert_eq!(repeated_response.refusal(), (409, "device_not_pending"));
        assert_eq!(device_status(&ada, &joining_machine.id).await, 1);
        let active_device = devices(&ada).await.pop().expect("a device");
        assert!(active_device.get("onboardingSessionId").is_none(), "{active_device}");

        let key = ada.get(&joining_machine.path("wrapped-umk")).await.body;
        assert_eq!(key["ciphertext"], json!(text(7, 60)));
        assert_eq!(key["hkdfSalt"], json!(text(8, 32)));
        assert_eq!(key["createdByDeviceId"], json!(first_machine.id));
        assert_eq!(key["onboardingSessionId"], json!(session));
        assert_eq!(key["signatureVersion"], version.unwrap_or(1));
        assert_eq!(key["approverSignature"].as_str().map(str::len), Some(88));
    }
}

async fn a_key_that_a_device_wraps_for_itself_has_no_approver(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining_machine = Machine::new();
    let session = joining_machine.start_onboarding(&ada).await;
    let approval = first_machine.approval(&joining_machine, &session, Some(2));
    assert_eq!(ada.post(APPROVE, &approval).await.status, 200);

    let response = joining_machine.store_own_key(&ada, 5).await;

    assert_eq!(response.status, 200);
    let own_key = ada.get(&joining_machine.path("wrapped-umk")).await.body;
    assert_eq!(own_key["ciphertext"], json!(text(5, 60)));
    assert_eq!(own_key["createdByDeviceId"], json!(joining_machine.id));
    assert!(own_key.get("approverSignature").is_none());
    assert!(own_key.get("onboardingSessionId").is_none());
}

async fn the_list_has_the_data_of_devices_that_others_need(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;

    let list = ada.get("/api/e2ee/devices").await.body;

    assert_eq!(keys(&list), ["devices", "hasRecoveryKey", "umkVersion"]);
    assert_eq!(list["hasRecoveryKey"], true);
    assert_eq!(list["umkVersion"], 1);

    let device = &list["devices"][0];
    let expected_keys = [
        "activatedAt",
        "agreementPublicKey",
        "createdAt",
        "deviceId",
        "deviceName",
        "fingerprint",
        "lastSeenAt",
        "osVersion",
        "signingPublicKey",
        "status",
    ];
    assert_eq!(keys(device), expected_keys);
    assert_eq!(device["deviceId"], json!(first_machine.id));
    assert_eq!(device["agreementPublicKey"], first_machine.public_key());
    assert_eq!(device["fingerprint"].as_str().map(str::len), Some(19));
}

async fn one_of_many_concurrent_approvals_is_accepted(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining_machine = Machine::new();
    let session = joining_machine.start_onboarding(&ada).await;
    let approval = first_machine.approval(&joining_machine, &session, Some(2));

    let answers = join_all((0..8).map(|_| ada.post(APPROVE, &approval))).await;

    assert_eq!(answers.iter().filter(|it| it.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|it| it.error() == "device_not_pending").count(), 7);
}

async fn a_rejected_device_may_register_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining_machine = Machine::new();
    let spent_session = joining_machine.start_onboarding(&ada).await;

    // Without a body, like the client.
    let rejection_response = ada.send("POST", &joining_machine.path("revoke"), &[], b"").await;
    let status_after_rejection = device_status(&ada, &joining_machine.id).await;
    let spent_approval = first_machine.approval(&joining_machine, &spent_session, Some(2));
    let late_response = ada.post(APPROVE, &spent_approval).await;
    let session = joining_machine.start_onboarding(&ada).await;
    let spent_response = ada.post(APPROVE, &spent_approval).await;
    let approval = first_machine.approval(&joining_machine, &session, Some(2));
    let approval_response = ada.post(APPROVE, &approval).await;

    assert_eq!(rejection_response.status, 200);
    assert_eq!(status_after_rejection, 2);
    assert_eq!(late_response.refusal(), (409, "device_not_pending"));
    assert_eq!(spent_response.refusal(), (400, "invalid_onboarding_session"));
    assert_eq!(approval_response.status, 200, "{}", approval_response.text());
    assert_eq!(devices(&ada).await.len(), 2);
}

async fn a_revoked_device_approves_no_others(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let second_machine = Machine::new();
    let second_session = second_machine.start_onboarding(&ada).await;
    let approval = first_machine.approval(&second_machine, &second_session, Some(2));
    assert_eq!(ada.post(APPROVE, &approval).await.status, 200);

    ada.send("POST", &first_machine.path("revoke"), &[], b"").await;
    let third_machine = Machine::new();
    let third_session = third_machine.start_onboarding(&ada).await;
    let revoked_approval = first_machine.approval(&third_machine, &third_session, Some(2));
    let active_approval = second_machine.approval(&third_machine, &third_session, Some(2));

    assert_eq!(ada.post(APPROVE, &revoked_approval).await.refusal(), (403, "device_not_active"));
    assert_eq!(ada.post(APPROVE, &active_approval).await.status, 200);
}

async fn an_active_device_stays_active_when_it_registers_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let mut forging_machine = Machine::new();
    forging_machine.id.clone_from(&first_machine.id);

    let registration = first_machine.register(&ada).await;
    let forged_response =
        ada.post("/api/e2ee/devices/register", &forging_machine.registration()).await;

    assert_eq!(registration["isFirstDevice"], false);
    assert_eq!(forged_response.refusal(), (409, "device_keys_differ"));
    assert_eq!(device_status(&ada, &first_machine.id).await, 1);
    assert_eq!(devices(&ada).await[0]["signingPublicKey"], first_machine.public_key());
    assert_eq!(ada.get(&first_machine.path("wrapped-umk")).await.status, 200);
}

async fn a_session_ends_after_ten_minutes(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining_machine = Machine::new();
    let session = joining_machine.start_onboarding(&ada).await;

    clock.advance(Duration::from_mins(10));
    let pending_device = devices(&ada).await.pop().expect("a device");
    let approval = first_machine.approval(&joining_machine, &session, Some(2));
    let approval_response = ada.post(APPROVE, &approval).await;
    let activation = joining_machine.activation(&session, "any");
    let activation_response = ada.post("/api/e2ee/recovery/activate", &activation).await;

    assert_eq!(pending_device["status"], 0);
    assert!(pending_device.get("onboardingSessionId").is_none(), "{pending_device}");
    for response in [approval_response, activation_response] {
        assert_eq!(response.refusal(), (400, "invalid_onboarding_session"));
        let message = response.body["message"].as_str().expect("a message");
        assert!(message.contains("onboarding session"), "{message}");
    }

    let new_session = joining_machine.start_onboarding(&ada).await;
    let new_approval = first_machine.approval(&joining_machine, &new_session, None);
    assert_eq!(ada.post(APPROVE, &new_approval).await.status, 200);
}

async fn any_other_signature_is_refused(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining_machine = Machine::new();
    let session = joining_machine.start_onboarding(&ada).await;
    let valid_approval = first_machine.approval(&joining_machine, &session, Some(2));
    let changed_approval = |field: &str, value: Value| {
        let mut approval = valid_approval.clone();
        approval[field] = value;
        approval
    };

    for (field, value) in [
        ("wrappedUmk", json!(text(1, 60))),
        ("hkdfSalt", json!(text(1, 32))),
        ("signatureVersion", json!(1)),
        ("signatureVersion", json!(null)),
        ("approverSignature", json!(text(0, 64))),
    ] {
        let response = ada.post(APPROVE, &changed_approval(field, value)).await;
        assert_eq!(response.refusal(), (400, "invalid_signature"), "{field}");
    }

    assert_eq!(device_status(&ada, &joining_machine.id).await, 0);
    assert_eq!(ada.post(APPROVE, &valid_approval).await.status, 200);
}

async fn only_active_devices_of_the_account_approve(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let machine_of_bob = encrypt(&bob).await;
    let joining_machine = Machine::new();
    let session = joining_machine.start_onboarding(&ada).await;

    let approval_of_bob = machine_of_bob.approval(&joining_machine, &session, Some(2));
    let approval_of_itself = joining_machine.approval(&joining_machine, &session, Some(2));
    let approval_of_unknown = first_machine.approval(&Machine::new(), &session, Some(2));
    for approval in [&approval_of_bob, &approval_of_itself] {
        assert_eq!(ada.post(APPROVE, approval).await.refusal(), (403, "device_not_active"));
    }
    let foreign_response = bob.post(APPROVE, &approval_of_bob).await;
    let unknown_response = ada.post(APPROVE, &approval_of_unknown).await;

    // Devices of other accounts are not distinguished from unknown ones.
    assert_eq!(foreign_response.refusal(), (404, "not_found"));
    assert_eq!(foreign_response.bytes, unknown_response.bytes);
    assert_eq!(device_status(&ada, &joining_machine.id).await, 0);
}
