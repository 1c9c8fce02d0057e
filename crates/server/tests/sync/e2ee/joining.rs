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
    the_list_has_the_data_of_devices_that_others_need,
    one_of_many_concurrent_approvals_is_accepted,
    a_rejected_device_may_register_again,
    an_active_device_stays_active_when_it_registers_again,
    a_session_ends_after_ten_minutes,
    any_other_signature_is_refused,
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
        let joining = Machine::new();
        let session = joining.start_onboarding(&ada).await;
        let waiting = devices(&ada).await.pop().expect("a device");

        let approval_response =
            ada.post(APPROVE, &first_machine.approval(&joining, &session, version)).await;
        let second_response =
            ada.post(APPROVE, &first_machine.approval(&joining, &session, version)).await;

        assert_eq!(waiting["status"], 0);
        assert_eq!(waiting["onboardingSessionId"], json!(session));
        assert_eq!(approval_response.status, 200, "{}", approval_response.text());
        assert_eq!(second_response.refusal(), (409, "device_not_pending"));
        assert_eq!(device_status(&ada, &joining.id).await, 1);
        let key = ada.get(&joining.path("wrapped-umk")).await.body;
        let version = version.unwrap_or(1);
        assert_eq!(key["ciphertext"], json!(text(7, 60)));
        assert_eq!(key["hkdfSalt"], json!(text(8, 32)));
        assert_eq!(key["createdByDeviceId"], json!(first_machine.id));
        assert_eq!(key["onboardingSessionId"], json!(session));
        assert_eq!(key["signatureVersion"], version);
        assert_eq!(key["approverSignature"].as_str().map(str::len), Some(88));
        let now = devices(&ada).await.pop().expect("a device");
        assert!(now.get("onboardingSessionId").is_none(), "{now}");

        // A key that it wraps for itself later has no signature of an approver.
        assert_eq!(joining.store_own_key(&ada, 5).await.status, 200);
        let own_body = ada.get(&joining.path("wrapped-umk")).await.body;
        assert_eq!(own_body["ciphertext"], json!(text(5, 60)));
        assert_eq!(own_body["createdByDeviceId"], json!(joining.id));
        assert!(
            own_body.get("approverSignature").is_none()
                && own_body.get("onboardingSessionId").is_none()
        );
    }
}

async fn the_list_has_the_data_of_devices_that_others_need(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;

    let list = ada.get("/api/e2ee/devices").await.body;

    assert_eq!(keys(&list), ["devices", "hasRecoveryKey", "umkVersion"]);
    assert_eq!(list["hasRecoveryKey"], true);
    assert_eq!(list["umkVersion"], 1);

    let listed = &list["devices"][0];
    let expected = [
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
    assert_eq!(keys(listed), expected);
    assert_eq!(listed["deviceId"], json!(first_machine.id));
    assert_eq!(listed["agreementPublicKey"], first_machine.public_key());
    assert_eq!(listed["fingerprint"].as_str().map(str::len), Some(19));
}

async fn one_of_many_concurrent_approvals_is_accepted(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;
    let approval = first_machine.approval(&joining, &session, Some(2));

    let answers = join_all((0..8).map(|_| ada.post(APPROVE, &approval))).await;

    assert_eq!(answers.iter().filter(|it| it.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|it| it.error() == "device_not_pending").count(), 7);
}

async fn a_rejected_device_may_register_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining = Machine::new();
    let spent = joining.start_onboarding(&ada).await;

    // Without a body, like the client.
    let rejection_response = ada.send("POST", &joining.path("revoke"), &[], b"").await;
    let revoked = device_status(&ada, &joining.id).await;
    let late_response = ada.post(APPROVE, &first_machine.approval(&joining, &spent, Some(2))).await;
    let session = joining.start_onboarding(&ada).await;
    let by_spent = ada.post(APPROVE, &first_machine.approval(&joining, &spent, Some(2))).await;
    let approval_response =
        ada.post(APPROVE, &first_machine.approval(&joining, &session, Some(2))).await;

    assert_eq!(rejection_response.status, 200);
    assert_eq!(revoked, 2);
    assert_eq!(late_response.refusal(), (409, "device_not_pending"));
    assert_eq!(by_spent.refusal(), (400, "invalid_onboarding_session"));
    assert_eq!(approval_response.status, 200, "{}", approval_response.text());
    assert_eq!(devices(&ada).await.len(), 2);

    // An active device can be revoked too, and approves no others then.
    ada.send("POST", &first_machine.path("revoke"), &[], b"").await;
    let third_machine = Machine::new();
    let session = third_machine.start_onboarding(&ada).await;
    let by_revoked =
        ada.post(APPROVE, &first_machine.approval(&third_machine, &session, Some(2))).await;

    assert_eq!(by_revoked.refusal(), (403, "device_not_active"));
    assert_eq!(
        ada.post(APPROVE, &joining.approval(&third_machine, &session, Some(2))).await.status,
        200
    );
}

async fn an_active_device_stays_active_when_it_registers_again(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let mut forging = Machine::new();
    forging.id.clone_from(&first_machine.id);

    let again = first_machine.register(&ada).await;
    let by_others = ada.post("/api/e2ee/devices/register", &forging.registration()).await;

    assert_eq!(again["isFirstDevice"], false);
    assert_eq!(by_others.refusal(), (409, "device_keys_differ"));
    assert_eq!(device_status(&ada, &first_machine.id).await, 1);
    assert_eq!(devices(&ada).await[0]["signingPublicKey"], first_machine.public_key());
    assert_eq!(ada.get(&first_machine.path("wrapped-umk")).await.status, 200);
}

async fn a_session_ends_after_ten_minutes(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;

    clock.advance(Duration::from_mins(10));
    let waiting = devices(&ada).await.pop().expect("a device");
    let approved = ada.post(APPROVE, &first_machine.approval(&joining, &session, Some(2))).await;
    let activation = joining.activation(&session, "any");
    let activated = ada.post("/api/e2ee/recovery/activate", &activation).await;

    assert_eq!(waiting["status"], 0);
    assert!(waiting.get("onboardingSessionId").is_none(), "{waiting}");
    for refused in [approved, activated] {
        assert_eq!(refused.refusal(), (400, "invalid_onboarding_session"));
        let message = refused.body["message"].as_str().expect("a message");
        assert!(message.contains("onboarding session"), "{message}");
    }
    let renewed = joining.start_onboarding(&ada).await;
    assert_eq!(
        ada.post(APPROVE, &first_machine.approval(&joining, &renewed, None)).await.status,
        200
    );
}

async fn any_other_signature_is_refused(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let bobs = encrypt(&bob).await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;
    let valid_approval = first_machine.approval(&joining, &session, Some(2));
    let changed = |field: &str, value: Value| {
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
        let response = ada.post(APPROVE, &changed(field, value)).await;
        assert_eq!(response.refusal(), (400, "invalid_signature"), "{field}");
    }

    let by_bobs = ada.post(APPROVE, &bobs.approval(&joining, &session, Some(2))).await;
    let by_bob = bob.post(APPROVE, &bobs.approval(&joining, &session, Some(2))).await;
    let itself = ada.post(APPROVE, &joining.approval(&joining, &session, Some(2))).await;
    let unknown_response =
        ada.post(APPROVE, &first_machine.approval(&Machine::new(), &session, Some(2))).await;

    assert_eq!(
        by_bobs.refusal(),
        (403, "device_not_active"),
        "only a device of the account approves"
    );
    assert_eq!(by_bob.refusal(), (404, "not_found"), "the other account has no such device");
    assert_eq!(itself.refusal(), (403, "device_not_active"));
    assert_eq!(by_bob.bytes, unknown_response.bytes);
    assert_eq!(unknown_response.status, 404);
    assert_eq!(device_status(&ada, &joining.id).await, 0);
    assert_eq!(ada.post(APPROVE, &valid_approval).await.status, 200);
}
