//! Sharing of the end-to-end encryption key: how devices enable encryption, join and recover.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pia_server_testkit::client::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use super::device::Device;
use super::keys::{Umk, decrypt, encrypt, hkdf, proof, proof_key, salt, signed_by};
use super::push::Pushed;
use super::read::{moment, object, text};

pub(crate) const PENDING: i64 = 0;
pub(crate) const ACTIVE: i64 = 1;
pub(crate) const REVOKED: i64 = 2;

const RECOVERY_AAD: &str = "pia-recovery-wrap-v1";

/// Version of the message that an approval signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signature {
    /// Clients up to 1.4.278, which send no version.
    First,
    Second,
}

/// Response to a registration.
pub(crate) struct DeviceRegistration {
    pub(crate) session: String,
    pub(crate) is_first: bool,
}

pub(super) fn assert_success(response: &TestResponse, request: &str) {
    let is_success = (200..300).contains(&response.status);
    assert!(is_success, "{request}: {} {}", response.status, response.text());
}

/// Returns the message that an approval signs, of texts as on the wire.
fn approval(signature: Signature, texts: [&str; 5]) -> String {
    let [session, device, key, wrapped, salt] = texts;
    match signature {
        Signature::First => format!("{session}:{device}:{key}"),
        Signature::Second => {
            format!("pia-approval-v2:{session}:{device}:{key}:{wrapped}:{salt}")
        }
    }
}

impl Device {
    pub(crate) async fn e2ee_status(&mut self) -> Value {
        let answer = self.get_json("/api/e2ee/status").await;
        assert_success(&answer, "the status of encryption");
        let body = object(&answer, "the status of encryption");
        assert!(body["isEnabled"].is_boolean(), "isEnabled is a boolean: {}", answer.text());
        answer.body
    }

    /// Registers the device, with a fresh session.
    pub(crate) async fn register(&mut self) -> DeviceRegistration {
        let request = json!({
            "deviceId": self.id,
            "deviceName": "DESKTOP-42",
            "agreementPublicKey": self.keys.agreement_public(),
            "signingPublicKey": self.keys.signing_public(),
            "osVersion": "Microsoft Windows NT 10.0.22631.0",
            "appVersion": "1.4.280.0",
        });
        let answer = self.post_json("/api/e2ee/devices/register", &request).await;
        assert_success(&answer, "a registration");

        let body = object(&answer, "a registration");
        let session = text(body.get("onboardingSessionId"), "onboardingSessionId");
        text(body.get("serverChallenge"), "serverChallenge, without which the client fails");
        DeviceRegistration { session, is_first: body["isFirstDevice"] == true }
    }

    /// Returns all devices of the account, parsed strictly.
    pub(crate) async fn devices(&mut self) -> Vec<Value> {
        let answer = self.get_json("/api/e2ee/devices").await;
        assert_success(&answer, "the list of devices");
        let body = object(&answer, "the list of devices");

        let devices = body
            .get("devices")
            .and_then(Value::as_array)
            .expect("without `devices` the client ends encryption");
        for device in devices {
            for name in ["deviceId", "deviceName", "agreementPublicKey", "signingPublicKey"] {
                text(device.get(name), name);
            }
            assert!(device["status"].is_i64(), "the status is a number: {device}");
            moment(device.get("createdAt"), "createdAt of a device");
        }
        devices.clone()
    }

    async fn device_of(&mut self, id: &str) -> Option<Value> {
        self.devices().await.into_iter().find(|it| it["deviceId"] == id)
    }

    pub(crate) async fn own_status(&mut self) -> Option<i64> {
        let id = self.id.clone();
        let answer = self.get_json(&format!("/api/e2ee/devices/{id}/status")).await;
        if answer.status != 200 {
            return None;
        }
        let body = object(&answer, "the status of a device");
        text(body.get("deviceId"), "deviceId of a status");
        Some(body["status"].as_i64().expect("the status is a number"))
    }

    /// Encrypts the account, and pushes everything again.
    pub(crate) async fn enable_encryption(&mut self) {
        self.begin_encryption().await;
        let response = self.put_proof_key().await;
        assert_success(&response, "the upload of the proof key");
        self.encrypt_all().await;
    }

    /// Enables encryption without a proof key, like older clients.
    pub(crate) async fn begin_encryption(&mut self) {
        let initial_status = self.e2ee_status().await;
        assert_eq!(initial_status["isEnabled"], false, "{initial_status}");

        let registration = self.register().await;
        assert!(registration.is_first, "no other device is active");
        let registered_status = self.e2ee_status().await;
        assert_eq!(registered_status["isEnabled"], false, "only the upload of a key encrypts");

        let umk = Umk::generate();
        self.upload_own_wrap(&umk).await;
        self.upload_recovery(&umk).await;
        let device_status = self.own_status().await;
        assert_eq!(device_status, Some(ACTIVE), "a first device becomes active by its upload");
        let encrypted_status = self.e2ee_status().await;
        assert_eq!(encrypted_status["isEnabled"], true, "the upload of a key encrypts");
        assert_eq!(encrypted_status["hasRecoveryKey"], true, "{encrypted_status}");
        self.umk = Some(umk);
    }

    /// Pushes everything again, encrypted.
    pub(crate) async fn encrypt_all(&mut self) {
        let pushed = self.push_all().await;
        assert!(
            matches!(pushed, Pushed::Stored(_)),
            "encrypted rows replace plain ones: {pushed:?}"
        );
        self.backfill().await;
    }

    async fn upload_own_wrap(&mut self, umk: &Umk) {
        let salt = salt();
        let agreement_key = self.keys.agreement_public();
        let blob = json!({
            "deviceId": self.id,
            "ciphertext": self.keys.wrap(umk, &self.id, &agreement_key, &salt),
            "hkdfSalt": salt,
            "wrapVersion": 1,
            "createdByDeviceId": self.id,
            "approverSignature": null,
            "signatureVersion": 1,
            "onboardingSessionId": null,
            "createdAt": self.now().to_string(),
        });
        let path = format!("/api/e2ee/devices/{}/wrapped-umk", self.id);

        let response = self.post_json(&path, &blob).await;
        assert_success(&response, "the upload of a key");
    }

    async fn upload_recovery(&mut self, umk: &Umk) {
        let code = Uuid::now_v7().simple().to_string().to_uppercase();
        let salt = salt();
        let blob = json!({
            "ciphertext": encrypt(&recovery_key(&code, &salt), RECOVERY_AAD, &umk.0),
            "kdfSalt": salt,
            "kdfMemoryCostKb": 65536,
            "kdfTimeCost": 3,
            "kdfParallelism": 4,
            "wrapVersion": 1,
            "umkVersion": 1,
            "createdAt": self.now().to_string(),
        });
        let response = self.post_json("/api/e2ee/recovery/wrapped-umk", &blob).await;
        assert_success(&response, "the upload of a recovery copy");
        self.recovery_code = Some(code);
    }

    /// Uploads the proof key, as an update does for an older encrypted account.
    pub(crate) async fn put_proof_key(&mut self) -> TestResponse {
        let umk = self.umk.clone().expect("a key");
        let body = json!({ "proofKey": STANDARD.encode(proof_key(&umk)), "version": 1 });
        self.send_json("PUT", "/api/e2ee/recovery/proof-key", &body).await
    }

    /// Approves another device.
    pub(crate) async fn approve(&mut self, target: &str, signature: Signature) -> TestResponse {
        let device = self.device_of(target).await.expect("a pending device");
        assert_eq!(device["status"], PENDING, "{device}");
        let session = text(device.get("onboardingSessionId"), "session of a pending device");
        let target_key = text(device.get("agreementPublicKey"), "agreementPublicKey");

        let umk = self.umk.clone().expect("a key");
        let salt = salt();
        let wrapped = self.keys.wrap(&umk, target, &target_key, &salt);
        let message = approval(signature, [&session, target, &target_key, &wrapped, &salt]);

        let mut request = json!({
            "onboardingSessionId": session,
            "targetDeviceId": target,
            "wrappedUmk": wrapped,
            "hkdfSalt": salt,
            "approverSignature": self.keys.sign(&message),
            "approverDeviceId": self.id,
        });
        if signature == Signature::Second {
            request["signatureVersion"] = json!(2);
        }
        self.post_json("/api/e2ee/devices/approve", &request).await
    }

    pub(crate) async fn revoke(&mut self, target: &str) {
        let path = format!("/api/e2ee/devices/{target}/revoke");
        let response = self.call("POST", &path, &[], &[]).await;
        assert_success(&response, "a revocation");
    }

    /// Fetches the key that was wrapped for this device, as at every sign-in.
    pub(crate) async fn fetch_key(&mut self) {
        assert_eq!(self.own_status().await, Some(ACTIVE), "only an active device has a key");
        let answer = self.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", self.id)).await;
        assert_success(&answer, "the device's key");

        let blob = object(&answer, "the device's key");
        let text_of = |name: &str| text(blob.get(name), name);
        moment(blob.get("createdAt"), "createdAt of a key");
        let wrapped = text_of("ciphertext");
        let salt = text_of("hkdfSalt");
        let creator_id = text_of("createdByDeviceId");
        let creator = self.device_of(&creator_id).await.expect("the creator is listed");
        assert_eq!(creator["status"], ACTIVE, "a key is created by an active device: {creator}");

        if creator_id != self.id {
            let signature = match blob.get("signatureVersion").and_then(Value::as_i64) {
                None | Some(1) => Signature::First,
                Some(2) => Signature::Second,
                Some(version) => panic!("a signature of the unknown version {version}"),
            };
            let session = text_of("onboardingSessionId");
            let agreement_key = self.keys.agreement_public();
            let message =
                approval(signature, [&session, &self.id, &agreement_key, &wrapped, &salt]);
            let signing_key = text(creator.get("signingPublicKey"), "signingPublicKey");
            let is_signed = signed_by(&signing_key, &message, &text_of("approverSignature"));
            assert!(is_signed, "the texts of an approval are returned as they were sent");
        }
        let creator_key = text(creator.get("agreementPublicKey"), "agreementPublicKey");
        let umk = self.keys.unwrap(&wrapped, &self.id, &creator_key, &salt);
        self.umk = Some(umk.expect("a wrapped key is returned as it was sent"));
        self.onboarding = false;
    }

    /// Decrypts the recovery copy with a recovery code.
    pub(crate) async fn recover_key(&mut self, code: &str) -> Umk {
        let answer = self.get_json("/api/e2ee/recovery/wrapped-umk").await;
        assert_success(&answer, "the recovery copy");
        let blob = object(&answer, "the recovery copy");
        assert_eq!(blob["kdfMemoryCostKb"], 65536);
        assert_eq!(blob["kdfTimeCost"], 3);
        assert_eq!(blob["kdfParallelism"], 4);

        let salt = text(blob.get("kdfSalt"), "kdfSalt");
        let wrapped = text(blob.get("ciphertext"), "ciphertext");
        let umk = decrypt(&recovery_key(code, &salt), RECOVERY_AAD, &wrapped);
        umk.and_then(|it| Umk::from_bytes(&it)).expect("the copy is returned as it was sent")
    }

    /// Activates the device by a proof that it has the key.
    pub(crate) async fn activate(&mut self, umk: &Umk, session: &str, proof: &str) -> TestResponse {
        let salt = salt();
        let agreement_key = self.keys.agreement_public();
        let request = json!({
            "deviceId": self.id,
            "selfWrappedUmk": self.keys.wrap(umk, &self.id, &agreement_key, &salt),
            "hkdfSalt": salt,
            "proofOfPossession": proof,
            "onboardingSessionId": session,
        });
        self.post_json("/api/e2ee/recovery/activate", &request).await
    }

    pub(crate) async fn join_by_code(&mut self, code: &str) {
        let session = self.register().await.session;
        let umk = self.recover_key(code).await;
        if self.own_status().await == Some(ACTIVE) {
            self.upload_own_wrap(&umk).await;
        } else {
            let response = self.activate(&umk, &session, &proof(&umk, &session)).await;
            assert_success(&response, "an activation");
        }
        self.umk = Some(umk);
        self.onboarding = false;
    }

    /// Checks whether the device was revoked, like the client after a pull with
    /// changes.
    pub(crate) async fn check_revoked(&mut self) -> bool {
        let id = self.id.clone();
        let device = self.device_of(&id).await;
        let is_revoked = device.is_none_or(|it| it["status"] == REVOKED);
        if is_revoked {
            self.umk = None;
        }
        is_revoked
    }
}

/// Derives the recovery key. The client uses Argon2id, which the server never sees.
fn recovery_key(code: &str, salt: &str) -> [u8; 32] {
    hkdf(code.as_bytes(), salt.as_bytes(), "a test's own derivation")
}
