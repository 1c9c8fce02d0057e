//! Tests of malformed and tampered responses.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::Timestamp;

use super::*;

/// SHA-256 of `localhost`, the form in which authenticators identify it.
const LOCALHOST: &str = "SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2M";
/// The base point of P-256.
const X: &str = "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY";
const Y: &str = "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU";

fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// Returns a valid attestation object, in CBOR.
fn attestation() -> Vec<u8> {
    let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
    let key = [&head[..], &bytes(X), &[0x22, 0x58, 0x20], &bytes(Y)].concat();
    let data =
        [&bytes(LOCALHOST)[..], &[0x45, 0, 0, 0, 9], &[0; 16], &[0, 16], &[7; 16], &key].concat();
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    let head = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59";
    [&head[..], &length, &data].concat()
}

struct Registration {
    ceremony: WebauthnCeremony,
    state: Secret<String>,
    client_data: String,
}

fn registration() -> Registration {
    let ceremony = WebauthnCeremony::at("http://localhost:8080", "Pia").unwrap();
    let ada = "ada@example.org".to_owned();
    let account = Account::local(UserId::generate(), ada, Timestamp::UNIX_EPOCH);
    let challenge = ceremony.begin_registration(&account, Vec::new()).unwrap();
    let options: Value = serde_json::from_str(&challenge.options).unwrap();
    let client_data = json!({
        "type": "webauthn.create",
        "challenge": options["challenge"],
        "origin": "http://localhost:8080",
    });
    Registration { ceremony, state: challenge.state, client_data: client_data.to_string() }
}

impl Registration {
    fn finish(&self, attestation: &[u8]) -> Result<PasskeyCredential, CeremonyError> {
        let response = json!({
            "id": "BwcH", "rawId": "BwcH", "type": "public-key", "clientExtensionResults": {},
            "response": {
                "clientDataJSON": URL_SAFE_NO_PAD.encode(&self.client_data),
                "attestationObject": URL_SAFE_NO_PAD.encode(attestation),
            },
        });
        self.ceremony.finish_registration(&self.state, &response.to_string())
    }
}

#[test]
fn the_counter_is_returned_and_not_stored_in_the_key() {
    let passkey = registration().finish(&attestation()).unwrap();

    let key: Value = serde_json::from_str(&passkey.key).unwrap();
    assert_eq!(passkey.counter, 9);
    assert_eq!(key["counter"], json!(0));
    assert_eq!(passkey.id, [7; 16]);
}

#[test]
fn a_response_with_any_changed_byte_does_not_panic() {
    let attempt = registration();
    let valid = attestation();

    for index in 0..valid.len() {
        for change in [0x01, 0x20, 0x80, 0xff] {
            let mut broken = valid.clone();
            broken[index] ^= change;
            // Unsigned parts may be changed: the id, for example.
            drop(attempt.finish(&broken));
        }
    }
}

#[test]
fn a_truncated_response_is_refused() {
    let attempt = registration();
    let valid = attestation();

    for length in 0..valid.len() {
        let outcome = attempt.finish(&valid[..length]);
        assert!(matches!(outcome, Err(CeremonyError::Refused(_))), "{length}: {outcome:?}");
    }
}

#[test]
fn an_unreadable_stored_state_is_not_a_refusal() {
    let unreadable = Registration { state: Secret::new("{}".to_owned()), ..registration() };

    let outcome = unreadable.finish(&attestation());

    assert!(matches!(outcome, Err(CeremonyError::Unreadable(_))), "{outcome:?}");
}
