//! Tests of refusals of devices and keys, field by field.

use pia_server_testkit::client::Client;
use pia_server_testkit::harness::TestApp;
use pia_server_testkit::machine::{Machine, encrypt, recovery_copy, text};
use serde_json::{Value, json};

async fn assert_refused(client: &Client, path: &str, body: &Value, field: &str, code: &str) {
    let answer = client.post(path, body).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"), "{path} {field}: {}", answer.text());
    let error = &answer.body["errors"][0];
    assert_eq!(error["field"], json!(field), "{path}: {error}");
    assert_eq!(error["code"], json!(code), "{path}: {error}");
}

/// Returns invalid values of a Base64 field of `length` bytes.
fn bad_base64(length: usize) -> Vec<(Value, &'static str)> {
    let valid_text = text(0xFF, length);
    vec![
        (json!(null), "required"),
        (json!(""), "required"),
        (json!(text(7, length - 1)), "invalid"),
        (json!(text(7, length + 1)), "invalid"),
        (json!(format!("{valid_text} ")), "invalid"),
        (json!(valid_text.replacen('/', "\u{0}", 1)), "invalid"),
        (json!(valid_text.replacen('/', "_", 1)), "invalid"),
        (json!("x".repeat(8000)), "invalid"),
        (json!(5), "invalid"),
        (json!([valid_text]), "invalid"),
    ]
}

async fn refuse_invalid_fields(
    client: &Client,
    path: &str,
    good: &Value,
    fields: &[(&str, usize)],
) {
    for (field, length) in fields {
        for (value, code) in bad_base64(*length) {
            let mut body = good.clone();
            body[*field] = value;
            assert_refused(client, path, &body, field, code).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_are_refused_by_field() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;

    let keys = [("agreementPublicKey", 65), ("signingPublicKey", 65)];
    let new = Machine::new().registration();
    refuse_invalid_fields(&ada, "/api/e2ee/devices/register", &new, &keys).await;
    let approval = first_machine.approval(&joining, &session, Some(2));
    let parts = [("wrappedUmk", 60), ("hkdfSalt", 32), ("approverSignature", 64)];
    refuse_invalid_fields(&ada, "/api/e2ee/devices/approve", &approval, &parts).await;
    let own = [("ciphertext", 60), ("hkdfSalt", 32)];
    refuse_invalid_fields(
        &ada,
        &first_machine.path("wrapped-umk"),
        &first_machine.own_key(1),
        &own,
    )
    .await;
    let copy = [("ciphertext", 60), ("kdfSalt", 32)];
    refuse_invalid_fields(&ada, "/api/e2ee/recovery/wrapped-umk", &recovery_copy(), &copy).await;
    let activation = joining.activation(&session, &text(0, 32));
    let activated = [("selfWrappedUmk", 60), ("hkdfSalt", 32)];
    refuse_invalid_fields(&ada, "/api/e2ee/recovery/activate", &activation, &activated).await;

    let list = ada.get("/api/e2ee/devices").await;
    assert_eq!(list.body["devices"].as_array().map(Vec::len), Some(2), "{}", list.text());
    assert_eq!(ada.get(&joining.path("status")).await.body["status"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_versions_and_names_have_bounds() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let first_machine = encrypt(&ada).await;
    let joining = Machine::new();
    let session = joining.start_onboarding(&ada).await;
    let approval = first_machine.approval(&joining, &session, Some(2));
    let register = "/api/e2ee/devices/register";
    let approve = "/api/e2ee/devices/approve";
    let copy = "/api/e2ee/recovery/wrapped-umk";
    let activate = "/api/e2ee/recovery/activate";
    let new = Machine::new().registration();
    let activation = joining.activation(&session, &text(0, 32));
    let own = &*first_machine.path("wrapped-umk");

    for (path, good, field, value, code) in [
        (register, &new, "deviceId", json!(null), "required"),
        (register, &new, "deviceId", json!("a/b"), "invalid"),
        (register, &new, "deviceId", json!("x".repeat(65)), "invalid"),
        (register, &new, "deviceName", json!("  "), "required"),
        (register, &new, "deviceName", json!("x".repeat(201)), "too_long"),
        (register, &new, "deviceName", json!("a\nb"), "invalid"),
        (register, &new, "osVersion", json!("x".repeat(201)), "too_long"),
        (register, &new, "agreementPublicKey", json!(text(2, 65)), "invalid"),
        (approve, &approval, "signatureVersion", json!(3), "unknown_version"),
        (approve, &approval, "signatureVersion", json!("2"), "invalid"),
        (approve, &approval, "targetDeviceId", json!("%00"), "invalid"),
        (approve, &approval, "onboardingSessionId", json!("x".repeat(201)), "too_long"),
        (own, &first_machine.own_key(1), "wrapVersion", json!(2), "unknown_version"),
        (own, &first_machine.own_key(1), "deviceId", json!(joining.id), "mismatch"),
        (copy, &recovery_copy(), "kdfMemoryCostKb", json!(0), "out_of_range"),
        (copy, &recovery_copy(), "kdfMemoryCostKb", json!(null), "required"),
        (copy, &recovery_copy(), "kdfTimeCost", json!(-1), "out_of_range"),
        (copy, &recovery_copy(), "kdfParallelism", json!(256), "out_of_range"),
        (copy, &recovery_copy(), "umkVersion", json!(0), "out_of_range"),
        (copy, &recovery_copy(), "wrapVersion", json!(0), "unknown_version"),
        (activate, &activation, "proofOfPossession", json!(null), "required"),
        (activate, &activation, "onboardingSessionId", json!(""), "required"),
        (activate, &activation, "deviceId", json!("\u{0}"), "invalid"),
    ] {
        let mut body = good.clone();
        body[field] = value;
        assert_refused(&ada, path, &body, field, code).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_at_most_fifty_devices() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let machines: Vec<_> = (0..50).map(|_| Machine::new()).collect();
    for machine in &machines {
        machine.register(&ada).await;
    }

    let full_response =
        ada.post("/api/e2ee/devices/register", &Machine::new().registration()).await;
    machines[7].register(&ada).await;
    ada.send("POST", &machines[7].path("revoke"), &[], b"").await;
    Machine::new().register(&ada).await;

    assert_eq!(full_response.refusal(), (409, "device_limit_reached"));
    assert_eq!(full_response.body["limit"], 50);
}
