//! An authenticator in software with a browser that validates nothing: together
//! they produce valid responses, or any forgery.
//!
//! `create` and `get` answer the server's options. `create_as` and `get_as` pass a
//! `Draft` to the test before it is signed, so that a forged response is consistent
//! but for the part that the test changes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use uuid::Uuid;

/// Origin of the server's pages in tests.
pub const ORIGIN: &str = "http://localhost:8080";

/// Flag: the user was present.
pub const PRESENT: u8 = 0x01;
/// Flag: the user was verified.
pub const VERIFIED: u8 = 0x04;
const ATTESTED: u8 = 0x40;

/// Authenticator with one passkey.
#[derive(Debug)]
pub struct Authenticator {
    key: EcdsaKeyPair,
    /// Credential id, chosen at random.
    pub id: Vec<u8>,
    /// Signature counter; 0 if it does not count.
    pub counter: u32,
    /// User handle, by which the server finds the account.
    pub user: Vec<u8>,
}

/// Parts of a response, for a test to change.
pub struct Draft {
    /// Client data of the browser, which the signature covers.
    pub client_data: Value,
    /// RP ID whose hash the authenticator data contains.
    pub rp_id: String,
    /// Flags of the authenticator data.
    pub flags: u8,
    /// Signature counter that the response reports.
    pub counter: u32,
    /// Id of the credential.
    pub id: Vec<u8>,
    /// User handle that the response reports.
    pub user: Vec<u8>,
}

impl Authenticator {
    /// Creates an authenticator with a new key.
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).expect("a key");
        Self { key, id: Uuid::now_v7().as_bytes().to_vec(), counter: 0, user: Vec::new() }
    }

    /// Creates an authenticator that counts its signatures.
    pub fn counting() -> Self {
        Self { counter: 1, ..Self::new() }
    }

    /// Returns the result of `navigator.credentials.create` for these options.
    pub fn create(&mut self, options: &Value) -> Value {
        self.create_as(options, |_| {})
    }

    /// Returns a forged result of `navigator.credentials.create`.
    pub fn create_as(&mut self, options: &Value, forge: impl FnOnce(&mut Draft)) -> Value {
        self.user = unbase64(&options["user"]["id"]);
        let rp_id = options["rp"]["id"].as_str().expect("an RP id");
        let mut draft = self.draft("webauthn.create", options, rp_id);
        draft.flags |= ATTESTED;
        // Signed after the test has changed it, so the response is consistent.
        forge(&mut draft);

        let length = u16::try_from(draft.id.len()).expect("a short id");
        let mut data = authenticator_data(&draft);
        data.extend([0; 16]);
        data.extend(length.to_be_bytes());
        data.extend(&draft.id);
        data.extend(self.public_key());

        let client_data = base64(draft.client_data.to_string().as_bytes());
        let attestation = base64(&attestation_object(&data));

        json!({
            "id": base64(&draft.id),
            "rawId": base64(&draft.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": { "credProps": { "rk": true } },
            "response": {
                "clientDataJSON": client_data,
                "attestationObject": attestation,
                "transports": ["internal", "a-new-one"],
            },
        })
    }

    /// Returns the result of `navigator.credentials.get` for these options.
    pub fn get(&mut self, options: &Value) -> Value {
        self.get_as(options, |_| {})
    }

    /// Returns a forged result of `navigator.credentials.get`.
    pub fn get_as(&mut self, options: &Value, forge: impl FnOnce(&mut Draft)) -> Value {
        if self.counter > 0 {
            self.counter += 1;
        }

        let rp_id = options["rpId"].as_str().expect("an RP id");
        let mut draft = self.draft("webauthn.get", options, rp_id);
        forge(&mut draft);
        let data = authenticator_data(&draft);
        let client_data = draft.client_data.to_string();
        let signed = [&data[..], digest(&SHA256, client_data.as_bytes()).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).expect("a signature");
        json!({
            "id": base64(&draft.id),
            "rawId": base64(&draft.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": base64(client_data.as_bytes()),
                "authenticatorData": base64(&data),
                "signature": base64(signature.as_ref()),
                "userHandle": base64(&draft.user),
            },
        })
    }

    fn draft(&self, kind: &str, options: &Value, rp_id: &str) -> Draft {
        let challenge = &options["challenge"];
        Draft {
            client_data: json!({
                "type": kind, "challenge": challenge, "origin": ORIGIN, "crossOrigin": false,
            }),
            rp_id: rp_id.to_owned(),
            flags: PRESENT | VERIFIED,
            counter: self.counter,
            id: self.id.clone(),
            user: self.user.clone(),
        }
    }

    /// Encodes the key as a COSE map of five entries, `{1: 2, 3: -7, -1: 1, -2: x, -3: y}`.
    fn public_key(&self) -> Vec<u8> {
        let point = &self.key.public_key().as_ref()[1..];
        let (x, y) = point.split_at(32);
        let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
        [&head[..], x, &[0x22, 0x58, 0x20], y].concat()
    }
}

fn authenticator_data(draft: &Draft) -> Vec<u8> {
    let mut data = digest(&SHA256, draft.rp_id.as_bytes()).as_ref().to_vec();
    data.push(draft.flags);
    data.extend(draft.counter.to_be_bytes());
    data
}

/// Encodes `{"fmt": "none", "attStmt": {}, "authData": data}` in CBOR.
fn attestation_object(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("short data").to_be_bytes();
    let head = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59";
    [&head[..], &length, data].concat()
}

/// Encodes bytes in unpadded base64url, as WebAuthn does.
pub fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes a string that [`base64()`] encoded.
pub fn unbase64(text: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text.as_str().expect("a text")).expect("base64url")
}
