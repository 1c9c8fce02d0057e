//! Answers that are broken in every place, on purpose.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::Timestamp;

use super::*;

/// SHA-256 of `localhost`, the form in which authenticators identify it.
const LOCALHOST: &str = "SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2M";
/// A point of P-256: the one that all others are counted from.
const X: &str = "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY";
const Y: &str = "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU";

fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// A right answer's attestation object, in CBOR.
fn attestation() -> Vec<u8> {
    let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
    let key = [&head[..], &bytes(X), &[0x22, 0x58, 0x20], &bytes(Y)].concat();
    let data = [&bytes(LOCALHOST)[..], &[0x45, 0, 0, 0, 9], &[0; 16], &[0, 16], &[7; 16], &key];
    let data = data.concat();
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    let head = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59";
    [&head[..], &length, &data].concat()
}

struct World {
    ceremony: WebauthnCeremony,
    state: Secret<String>,
    client_data: String,
}

fn world() -> World {
    let ceremony = WebauthnCeremony::at("http://localhost:8080", "Pia").unwrap();
    let ada = "ada@example.org".to_owned();
    let account = Account::local(UserId::generate(), ada, Timestamp::UNIX_EPOCH);
    let begun = ceremony.begin_registration(&account, Vec::new()).unwrap();
    let options: Value = serde_json::from_str(&begun.options).unwrap();
    let client_data = json!({
        "type": "webauthn.create",
        "challenge": options["challenge"],
        "origin": "http://localhost:8080",
    });
    World { ceremony, state: begun.state, client_data: client_data.to_string() }
}

impl World {
    fn finish(&self, attestation: &[u8]) -> Result<PasskeyCredential, CeremonyError> {
        let answer = json!({
            "id": "BwcH", "rawId": "BwcH", "type": "public-key", "clientExtensionResults": {},
            "response": {
                "clientDataJSON": URL_SAFE_NO_PAD.encode(&self.client_data),
                "attestationObject": URL_SAFE_NO_PAD.encode(attestation),
            },
        });
        self.ceremony.finish_registration(&self.state, &answer.to_string())
    }
}

#[test]
fn the_counter_is_handed_out_and_not_stored_in_the_key() {
    let made = world().finish(&attestation()).unwrap();

    let key: Value = serde_json::from_str(&made.key).unwrap();
    assert_eq!((made.counter, &key["counter"]), (9, &json!(0)));
    assert_eq!(made.id, [7; 16]);
}

#[test]
fn an_answer_with_any_byte_changed_is_judged_and_breaks_nothing() {
    let (world, whole) = (world(), attestation());

    for place in 0..whole.len() {
        for change in [0x01, 0x20, 0x80, 0xff] {
            let mut broken = whole.clone();
            broken[place] ^= change;
            // Of what is not signed some may be changed: the id, for one.
            drop(world.finish(&broken));
        }
    }
}

#[test]
fn an_answer_that_is_cut_anywhere_is_refused() {
    let (world, whole) = (world(), attestation());

    for length in 0..whole.len() {
        let cut = world.finish(&whole[..length]);
        assert!(matches!(cut, Err(CeremonyError::Refused(_))), "{length}: {cut:?}");
    }
}

#[test]
fn what_the_server_stored_itself_is_not_blamed_on_the_answer() {
    let world = World { state: Secret::new("{}".to_owned()), ..world() };

    let judged = world.finish(&attestation());

    assert!(matches!(judged, Err(CeremonyError::Unreadable(_))), "{judged:?}");
}
