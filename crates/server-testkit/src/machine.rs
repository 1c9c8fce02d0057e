//! A device of an encrypted account, such as the desktop client.
//!
//! Bodies are those that the client sends, in full, so that a test notices if the
//! server refuses one of its fields. `encrypt` sets an account up with a first
//! device.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::{Client, TestResponse};

/// Device with its keys. Its "ciphertexts" are not encrypted, as the server
/// cannot read them anyway.
pub struct Machine {
    /// Id of the device.
    pub id: String,
    signer: EcdsaKeyPair,
}

/// Returns bytes in Base64, in place of a ciphertext.
pub fn text(byte: u8, length: usize) -> String {
    STANDARD.encode(vec![byte; length])
}

/// Proof key of the recovery copy.
const PROOF_KEY: [u8; 32] = [42; 32];

/// Returns the proof key, as a device sends it.
pub fn proof_key() -> Value {
    json!({ "proofKey": STANDARD.encode(PROOF_KEY), "version": 1 })
}

/// Computes the proof of the recovery key over a session.
pub fn proof(session: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &PROOF_KEY);
    STANDARD.encode(hmac::sign(&key, session.as_bytes()))
}

/// Returns the recovery copy, as a device sends it.
pub fn recovery_copy() -> Value {
    json!({
        "ciphertext": text(3, 60),
        "kdfSalt": text(4, 32),
        "kdfMemoryCostKb": 65_536,
        "kdfTimeCost": 3,
        "kdfParallelism": 4,
        "wrapVersion": 1,
        "umkVersion": 1,
        "createdAt": "2026-11-22T00:00:00Z",
    })
}

impl Machine {
    /// Creates a device with new keys.
    pub fn new() -> Self {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let signer = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random);
        Self { id: Uuid::now_v7().to_string(), signer: signer.expect("a key") }
    }

    /// Returns the public key, in Base64.
    pub fn public_key(&self) -> String {
        STANDARD.encode(self.signer.public_key())
    }

    /// Returns the body of its registration, with nulls as the client sends them.
    pub fn registration(&self) -> Value {
        json!({
            "deviceId": self.id,
            "deviceName": "DESKTOP-ADA",
            "agreementPublicKey": self.public_key(),
            "signingPublicKey": self.public_key(),
            "osVersion": "Microsoft Windows NT 10.0.22631.0",
            "appVersion": null,
        })
    }

    /// Registers the device and returns the body of the response.
    pub async fn register(&self, client: &Client) -> Value {
        let response = client.post("/api/e2ee/devices/register", &self.registration()).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.body
    }

    /// Registers the device and returns its onboarding session.
    pub async fn start_onboarding(&self, client: &Client) -> String {
        let session = self.register(client).await["onboardingSessionId"].clone();
        session.as_str().expect("a session").to_owned()
    }

    /// Returns the key that it wrapped for itself.
    pub fn own_key(&self, byte: u8) -> Value {
        json!({
            "deviceId": self.id,
            "ciphertext": text(byte, 60),
            "hkdfSalt": text(byte, 32),
            "wrapVersion": 1,
            "createdByDeviceId": self.id,
            "approverSignature": null,
            "signatureVersion": 1,
            "onboardingSessionId": null,
            "createdAt": "2026-11-22T00:00:00Z",
        })
    }

    /// Stores its own wrapped key.
    pub async fn store_own_key(&self, client: &Client, byte: u8) -> TestResponse {
        client.post(&self.path("wrapped-umk"), &self.own_key(byte)).await
    }

    /// Returns the path of one of its resources.
    pub fn path(&self, resource: &str) -> String {
        format!("/api/e2ee/devices/{}/{resource}", self.id)
    }

    /// Returns the body of an approval, signed in version 1 or 2.
    pub fn approval(&self, target: &Self, session: &str, version: Option<u8>) -> Value {
        let wrapped = text(7, 60);
        let salt = text(8, 32);
        let id = &target.id;
        let key = target.public_key();
        let payload = match version {
            None | Some(1) => format!("{session}:{id}:{key}"),
            Some(_) => format!("pia-approval-v2:{session}:{id}:{key}:{wrapped}:{salt}"),
        };
        let signature = self.signer.sign(&SystemRandom::new(), payload.as_bytes());
        let mut approval = json!({
            "onboardingSessionId": session,
            "targetDeviceId": id,
            "wrappedUmk": wrapped,
            "hkdfSalt": salt,
            "approverSignature": STANDARD.encode(signature.expect("a signature")),
            "approverDeviceId": self.id,
        });

        if let Some(version) = version {
            approval["signatureVersion"] = json!(version);
        }

        approval
    }

    /// Returns the body of its activation by the recovery code.
    pub fn activation(&self, session: &str, proof: &str) -> Value {
        json!({
            "deviceId": self.id,
            "selfWrappedUmk": text(9, 60),
            "hkdfSalt": text(10, 32),
            "proofOfPossession": proof,
            "onboardingSessionId": session,
        })
    }
}

/// Encrypts the account with its first device, and sets up recovery as the
/// client does.
pub async fn encrypt(client: &Client) -> Machine {
    let first = Machine::new();
    assert_eq!(first.register(client).await["isFirstDevice"], true);
    assert_eq!(first.store_own_key(client, 1).await.status, 200);
    let copy = client.post("/api/e2ee/recovery/wrapped-umk", &recovery_copy()).await;
    assert_eq!(copy.status, 200, "{}", copy.text());
    first
}

/// Stores a proof key.
pub async fn put_proof_key(client: &Client, key: &Value) -> TestResponse {
    let headers = [("content-type", "application/json")];
    let body = key.to_string();
    client.send("PUT", "/api/e2ee/recovery/proof-key", &headers, body.as_bytes()).await
}
