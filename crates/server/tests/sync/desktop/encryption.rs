//! Sharing of the end-to-end encryption key (e2ee sections 6 to 9).

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
pub(crate) struct AccountCreationOutcome {
    pub(crate) session: String,
    pub(crate) is_first: bool,
}

fn assert_success(answer: &TestResponse, section: &str) {
    assert!((200..300).contains(&answer.status), "{section}: {}", answer.text());
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
        assert_success(&answer, "e2ee 6");
        let body = object(&answer, "e2ee 6.1 E2EEStatusResponse");
        assert!(body["isEnabled"].is_boolean(), "e2ee 6.1 isEnabled: {}", answer.text());
        answer.body
    }

    /// Registers the device, with a fresh session.
    pub(crate) async fn register(&mut self) -> AccountCreationOutcome {
        let request = json!({
            "deviceId": self.id,
            "deviceName": "DESKTOP-42",
            "agreementPublicKey": self.keys.agreement_public(),
            "signingPublicKey": self.keys.signing_public(),
            "osVersion": "Microsoft Windows NT 10.0.22631.0",
            "appVersion": "1.4.280.0",
        });
        let answer = self.post_json("/api/e2ee/devices/register", &request).await;
        assert_success(&answer, "e2ee 6, register");

        let body = object(&answer, "e2ee 6.1 DeviceRegistrationResponse");
        let session = text(body.get("onboardingSessionId"), "e2ee 6.1 onboardingSessionId");
        text(body.get("serverChallenge"), "e2ee 12: a missing serverChallenge");
        AccountCreationOutcome { session, is_first: body["isFirstDevice"] == true }
    }

    /// Returns all devices of the account, parsed strictly.
    pub(crate) async fn devices(&mut self) -> Vec<Value> {
        let answer = self.get_json("/api/e2ee/devices").await;
        assert_success(&answer, "e2ee 6");
        let body = object(&answer, "e2ee 6.1 DeviceListResponse");
        let devices = body
            .get("devices")
            .and_then(Value::as_array)
            .expect("e2ee 12: without `devices` the client turns itself off");
        for device in devices {
            for name in ["deviceId", "deviceName", "agreementPublicKey", "signingPublicKey"] {
                text(device.get(name), &format!("e2ee 6.1 DeviceInfo {name}"));
            }
            assert!(device["status"].is_i64(), "e2ee 6.1 DeviceStatus: {device}");
            moment(device.get("createdAt"), "e2ee 6.1 DeviceInfo createdAt");
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
        let body = object(&answer, "e2ee 6.1 DeviceStatusResponse");
        text(body.get("deviceId"), "e2ee 6.1 DeviceStatusResponse deviceId");
        Some(body["status"].as_i64().expect("e2ee 6.1: the status is a number"))
    }

    /// Encrypts the account (e2ee section 8, Enable), and pushes everything again.
    pub(crate) async fn enable_encryption(&mut self) {
        self.begin_encryption().await;
        let key = self.put_proof_key().await;
        assert_success(&key, "e2ee 6, proof-key");
        self.encrypt_all().await;
    }

    /// Enables encryption without a proof key, like older clients.
    pub(crate) async fn begin_encryption(&mut self) {
        let status = self.e2ee_status().await;
        assert_eq!(status["isEnabled"], false, "e2ee 8, Enable: {status}");
        let registered = self.register().await;
        assert!(registered.is_first, "e2ee 8, Enable: isFirstDevice");

        let between = self.e2ee_status().await;
        assert_eq!(between["isEnabled"], false, "e2ee 9: only the upload encrypts");
        let umk = Umk::generate();
        self.upload_own_wrap(&umk).await;
        self.upload_recovery(&umk).await;
        let status = self.own_status().await;
        assert_eq!(status, Some(ACTIVE), "row 19: a first device becomes active by its upload");

        let after = self.e2ee_status().await;
        assert_eq!(after["isEnabled"], true, "row 19: encrypted by the upload");
        assert_eq!(after["hasRecoveryKey"], true, "e2ee 6.1: {after}");
        self.umk = Some(umk);
    }

    /// Pushes everything again, encrypted.
    pub(crate) async fn encrypt_all(&mut self) {
        let pushed = self.push_all().await;
        assert!(matches!(pushed, Pushed::Stored(_)), "row 35: {pushed:?}");
        self.backfill().await;
    }

    async fn upload_own_wrap(&mut self, umk: &Umk) {
        let salt = salt();
        let own = self.keys.agreement_public();
        let blob = json!({
            "deviceId": self.id,
            "ciphertext": self.keys.wrap(umk, &self.id, &own, &salt),
            "hkdfSalt": salt,
            "wrapVersion": 1,
            "createdByDeviceId": self.id,
            "approverSignature": null,
            "signatureVersion": 1,
            "onboardingSessionId": null,
            "createdAt": self.now().to_string(),
        });
        let path = format!("/api/e2ee/devices/{}/wrapped-umk", self.id);

        assert_success(&self.post_json(&path, &blob).await, "e2ee 6, wrapped-umk");
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
        assert_success(
            &self.post_json("/api/e2ee/recovery/wrapped-umk", &blob).await,
            "e2ee 6, recovery",
        );
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
        assert_eq!(device["status"], PENDING, "e2ee 8, Approve: {device}");
        let session = text(device.get("onboardingSessionId"), "e2ee 12: invisible for approval");
        let peer = text(device.get("agreementPublicKey"), "e2ee 6.1");
        let umk = self.umk.clone().expect("a key");
        let salt = salt();
        let wrapped = self.keys.wrap(&umk, target, &peer, &salt);
        let message = approval(signature, [&session, target, &peer, &wrapped, &salt]);
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
        assert_success(&self.call("POST", &path, &[], &[]).await, "e2ee 6, revoke");
    }

    /// Fetches the key that was wrapped for this device, as at every sign-in.
    pub(crate) async fn fetch_key(&mut self) {
        assert_eq!(self.own_status().await, Some(ACTIVE), "e2ee 8: only an active device");
        let answer = self.get_json(&format!("/api/e2ee/devices/{}/wrapped-umk", self.id)).await;
        assert_success(&answer, "e2ee 6, wrapped-umk");

        let blob = object(&answer, "e2ee 6.1 WrappedUmkBlob");
        let part = |name: &str| text(blob.get(name), &format!("e2ee 6.1 WrappedUmkBlob {name}"));
        moment(blob.get("createdAt"), "e2ee 6.1 WrappedUmkBlob createdAt");
        let wrapped = part("ciphertext");
        let salt = part("hkdfSalt");
        let by = part("createdByDeviceId");
        let own = self.keys.agreement_public();
        let maker = self.device_of(&by).await.expect("e2ee 7: the maker is among the devices");
        assert_eq!(maker["status"], ACTIVE, "e2ee 7: made by an active device: {maker}");

        let peer = text(maker.get("agreementPublicKey"), "e2ee 6.1");
        if by != self.id {
            let signature = match blob.get("signatureVersion").and_then(Value::as_i64) {
                None | Some(1) => Signature::First,
                other => {
                    assert_eq!(other, Some(2), "e2ee 7: a signature of a known version");
                    Signature::Second
                }
            };
            let session = part("onboardingSessionId");
            let message = approval(signature, [&session, &self.id, &own, &wrapped, &salt]);
            let key = text(maker.get("signingPublicKey"), "e2ee 6.1");
            let signed = signed_by(&key, &message, &part("approverSignature"));
            assert!(signed, "e2ee 7: the texts of the approval are given back as they came");
        }
        let umk = self.keys.unwrap(&wrapped, &self.id, &peer, &salt);
        self.umk = Some(umk.expect("e2ee 7: the blob is given back as it came"));
        self.onboarding = false;
    }

    /// Decrypts the recovery copy with a recovery code.
    pub(crate) async fn recover_key(&mut self, code: &str) -> Umk {
        let answer = self.get_json("/api/e2ee/recovery/wrapped-umk").await;
        assert_success(&answer, "e2ee 6, recovery");
        let blob = object(&answer, "e2ee 6.1 RecoveryWrappedUmkBlob");
        let costs = [blob["kdfMemoryCostKb"].as_i64(), blob["kdfTimeCost"].as_i64()];
        assert_eq!(costs, [Some(65536), Some(3)], "e2ee 6.1: the costs are given back");
        assert_eq!(blob["kdfParallelism"], 4, "e2ee 6.1: the costs are given back");

        let salt = text(blob.get("kdfSalt"), "e2ee 6.1 kdfSalt");
        let wrapped = text(blob.get("ciphertext"), "e2ee 6.1 ciphertext");
        let umk = decrypt(&recovery_key(code, &salt), RECOVERY_AAD, &wrapped);
        umk.and_then(|it| Umk::from_bytes(&it)).expect("e2ee 7: the blob is given back as it came")
    }

    /// Proves possession of the key (e2ee section 8, Join by recovery code).
    pub(crate) async fn activate(&mut self, umk: &Umk, session: &str, proof: &str) -> TestResponse {
        let salt = salt();
        let own = self.keys.agreement_public();
        let request = json!({
            "deviceId": self.id,
            "selfWrappedUmk": self.keys.wrap(umk, &self.id, &own, &salt),
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
            let activated = self.activate(&umk, &session, &proof(&umk, &session)).await;
            assert_success(&activated, "e2ee 6, activate");
        }
        self.umk = Some(umk);
        self.onboarding = false;
    }

    /// Checks whether the device was revoked, like the client after a pull with
    /// changes.
    pub(crate) async fn check_revoked(&mut self) -> bool {
        let id = self.id.clone();
        let own = self.device_of(&id).await;
        let gone = own.is_none_or(|it| it["status"] == REVOKED);
        if gone {
            self.umk = None;
        }
        gone
    }
}

/// Derives the recovery key. The client uses Argon2id, which the server never sees.
fn recovery_key(code: &str, salt: &str) -> [u8; 32] {
    hkdf(code.as_bytes(), salt.as_bytes(), "a test's own derivation")
}
