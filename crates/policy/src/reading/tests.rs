//! Tests of the outcomes of reading a licence.

use std::collections::BTreeSet;

use pia_kernel::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::edition::Edition;
use crate::envelope::{MAX_LICENCE_BYTES, seal};
use crate::feature::Feature;
use crate::signing_key::SigningKey;
use crate::terms::Terms;

fn key() -> SigningKey {
    SigningKey::generate().unwrap()
}

fn terms() -> Terms {
    Terms {
        max_users: Some(25),
        expires_at: Some(Timestamp::from_micros(2_000_000_000_000_000)),
        ..Terms::new("Müller & Söhne", Edition::Enterprise, Timestamp::UNIX_EPOCH)
    }
}

/// Returns a licence of a payload that [`Terms`] would not make.
fn signed(key: &SigningKey, payload: &Value) -> String {
    signed_bytes(key, payload.to_string().as_bytes())
}

fn signed_bytes(key: &SigningKey, payload: &[u8]) -> String {
    let id = key.verifying_key().id();
    seal(payload, &id, |it| key.sign_for_tests(it))
}

fn payload() -> Value {
    json!({
        "id": "0197c0de-0000-7000-8000-000000000001",
        "edition": "Enterprise",
        "licensee": "A Company",
        "issuedAt": "2026-01-01T00:00:00Z",
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut payload = payload();
    payload[field] = value;
    payload
}

fn unreadable(text: &str, key: &SigningKey) -> String {
    match Licence::parse(text, &key.verifying_key()) {
        Err(LicenceError::Unreadable(why)) => why,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_licence_contains_its_terms() {
    let key = key();
    let terms = terms();

    let licence = Licence::parse(key.issue(&terms).unwrap(), &key.verifying_key()).unwrap();

    assert_eq!(licence.id, terms.id);
    assert_eq!(licence.licensee, "Müller & Söhne");
    assert_eq!(licence.edition, "Enterprise");
    assert_eq!(licence.features, Edition::Enterprise.features());
    assert_eq!(licence.max_users, Some(25));
    assert_eq!(licence.max_admins, None);
    assert_eq!(licence.issued_at, terms.issued_at);
    assert_eq!(licence.expires_at, terms.expires_at);
}

#[test]
fn whitespace_from_copying_is_ignored() {
    let key = key();
    let text = key.issue(&terms()).unwrap();

    let wrapped: String = text
        .chars()
        .enumerate()
        .flat_map(|(at, it)| [Some(it), (at % 60 == 59).then_some('\n')])
        .flatten()
        .collect();
    let pasted = format!("\u{feff}  {}\t\r\n\n", wrapped.replace('\n', "\r\n\u{a0}"));

    let reading = LicenceReading::open(pasted, &key.verifying_key()).unwrap();
    assert_eq!(reading.text, text);
}

#[test]
fn a_licence_cut_at_any_byte_is_truncated() {
    let key = key();
    let text = key.issue(&terms()).unwrap();

    for end in 0..text.len() {
        let outcome = Licence::parse(&text.as_bytes()[..end], &key.verifying_key());

        assert!(matches!(outcome, Err(LicenceError::Truncated(_))), "{end}: {outcome:?}");
    }
}

#[test]
fn any_changed_byte_is_detected() {
    let key = key();
    let verifying = key.verifying_key();
    let text = key.issue(&terms()).unwrap();
    let valid = Licence::parse(&text, &verifying).unwrap();

    for (at, byte) in text.bytes().enumerate() {
        let flipped = (0..8).map(|bit| byte ^ (1 << bit));
        for other in flipped.chain(*b"\0 \n.=-_A0") {
            let mut changed_text = text.clone().into_bytes();
            changed_text[at] = other;

            let outcome = Licence::parse(&changed_text, &verifying);

            assert!(outcome.is_err() || (other == byte && outcome.as_ref() == Ok(&valid)), "{at}");
        }
    }
}

#[test]
fn inserted_and_removed_bytes_are_detected() {
    let key = key();
    let verifying = key.verifying_key();
    let text = key.issue(&terms()).unwrap();
    let valid = Licence::parse(&text, &verifying).unwrap();

    for at in 0..text.len() {
        let mut longer = text.clone();
        let mut shorter = text.clone();
        longer.insert(at, 'A');
        shorter.remove(at);

        for changed in [longer, shorter] {
            assert_ne!(Licence::parse(&changed, &verifying).as_ref(), Ok(&valid), "{at}");
        }
    }
}

#[test]
fn a_licence_of_another_issuer_is_foreign() {
    let our_key = key();
    let foreign_key = key();

    let outcome = Licence::parse(foreign_key.issue(&terms()).unwrap(), &our_key.verifying_key());

    assert_eq!(outcome, Err(LicenceError::Foreign(foreign_key.verifying_key().id())));
}

#[test]
fn a_licence_that_claims_our_key_is_forged() {
    let our_key = key();
    let foreign_key = key();
    let text = foreign_key.issue(&terms()).unwrap();

    let forgery = text.replace(&foreign_key.verifying_key().id(), &our_key.verifying_key().id());

    assert_eq!(Licence::parse(forgery, &our_key.verifying_key()), Err(LicenceError::Forged));
}

#[test]
fn a_payload_under_another_signature_is_forged() {
    let key = key();
    let small_licence = key.issue(&terms()).unwrap();
    let large_licence = signed(&key, &with("maxUsers", 1000.into()));

    let (_, signature) = small_licence.rsplit_once('.').unwrap();
    let (content, _) = large_licence.rsplit_once('.').unwrap();
    let outcome = Licence::parse(format!("{content}.{signature}"), &key.verifying_key());

    assert_eq!(outcome, Err(LicenceError::Forged));
}

#[test]
fn other_texts_are_refused_with_a_reason() {
    let key = key();
    let text = key.issue(&terms()).unwrap();

    for (file, reason) in [
        (Vec::new(), "it is empty"),
        (b" \r\n".to_vec(), "it is empty"),
        (vec![0xff, 0xfe, 0x00], "it is not text"),
        (b"{\"edition\":\"Cloud\"}".to_vec(), "it does not begin with `pia-license-v1.`"),
        (format!("{text}.more").into_bytes(), "it has more parts than a licence"),
        (format!("{text}A").into_bytes(), "its signature is incomplete"),
        (vec![b'A'; MAX_LICENCE_BYTES + 1], "it is longer than 64 KiB"),
    ] {
        let outcome = Licence::parse(&file, &key.verifying_key());

        assert_eq!(outcome, Err(LicenceError::Truncated(reason)));
    }
}

#[test]
fn a_later_format_is_unreadable_with_a_reason() {
    let key = key();

    let later = key.issue(&terms()).unwrap().replace("-v1.", "-v2.");

    assert_eq!(unreadable(&later, &key), "it is written in form 2, and this server reads form 1");
}

#[test]
fn features_in_the_file_take_precedence() {
    let key = key();
    let text = signed(&key, &with("features", json!(["Knowledge", "E2EE"])));

    let licence = Licence::parse(text, &key.verifying_key()).unwrap();

    assert_eq!(licence.features, BTreeSet::from([Feature::Knowledge, Feature::E2ee]));
}

#[test]
fn an_empty_list_of_features_includes_none() {
    let key = key();
    let text = signed(&key, &with("features", json!([])));

    assert_eq!(Licence::parse(text, &key.verifying_key()).unwrap().features, BTreeSet::new());
}

#[test]
fn without_features_the_edition_decides() {
    use Feature::{AiProxy, E2ee, ManagedCloud, Sync};
    let key = key();
    let all = BTreeSet::from(Feature::ALL);
    let but_managed = all.iter().copied().filter(|it| *it != ManagedCloud).collect();

    for (edition, features) in [
        ("Community", BTreeSet::from([Sync, AiProxy, E2ee])),
        ("Enterprise", but_managed),
        ("Cloud", all),
    ] {
        let text = signed(&key, &with("edition", edition.into()));

        let licence = Licence::parse(text, &key.verifying_key()).unwrap();

        assert_eq!(licence.features, features, "{edition}");
    }
}

#[test]
fn an_unknown_edition_needs_features() {
    let key = key();
    let mut bare = payload();
    let mut full = with("features", json!(["Sync"]));
    bare["edition"] = "Platinum".into();
    full["edition"] = "Platinum".into();

    assert!(unreadable(&signed(&key, &bare), &key).contains("\"Platinum\" is unknown"));
    let licence = Licence::parse(signed(&key, &full), &key.verifying_key()).unwrap();
    assert_eq!(licence.features, BTreeSet::from([Feature::Sync]));
}

#[test]
fn features_of_a_later_version_are_ignored_and_reported() {
    let key = key();
    let mut payload = with("features", json!(["Sync", "Telepathy", "sync"]));
    payload["somethingNew"] = json!({ "nested": true });

    let reading = LicenceReading::open(signed(&key, &payload), &key.verifying_key()).unwrap();

    assert_eq!(reading.licence.features, BTreeSet::from([Feature::Sync]));
    assert_eq!(reading.unknown_features, ["Telepathy", "sync"]);
}

#[test]
fn null_fields_count_as_missing() {
    let key = key();
    let mut payload = payload();
    for field in ["features", "maxUsers", "maxAdmins", "expiresAt"] {
        payload[field] = Value::Null;
    }

    let licence = Licence::parse(signed(&key, &payload), &key.verifying_key()).unwrap();

    assert_eq!(licence.max_users, None);
    assert_eq!(licence.max_admins, None);
    assert_eq!(licence.expires_at, None);
    assert_eq!(licence.features, Edition::Enterprise.features());
}

#[test]
fn an_invalid_signed_payload_is_unreadable() {
    let key = key();
    let without_id = {
        let mut payload = payload();
        payload.as_object_mut().unwrap().remove("id");
        payload
    };

    for (payload, why) in [
        (without_id, "missing field `id`"),
        (json!([]), "invalid length"),
        (with("id", "1".into()), "UUID"),
        (with("licensee", " ".into()), "its licensee is empty"),
        (with("licensee", "a\nb".into()), "its licensee has control characters"),
        (with("licensee", "a".repeat(201).into()), "its licensee is longer"),
        (with("edition", "".into()), "its edition is empty"),
        (with("maxUsers", 0.into()), "its maxUsers is 0"),
        (with("maxAdmins", 0.into()), "its maxAdmins is 0"),
        (with("maxUsers", (-1).into()), "invalid value"),
        (with("maxUsers", json!(4_294_967_296_u64)), "invalid value"),
        (with("maxUsers", json!(1.5)), "invalid type"),
        (with("expiresAt", "soon".into()), "not an ISO 8601 time"),
        (with("features", "Sync".into()), "invalid type"),
    ] {
        let message = unreadable(&signed(&key, &payload), &key);

        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn a_signed_payload_that_is_not_json_is_unreadable() {
    let key = key();

    for payload in [&b""[..], b"{", b"\xff\xfe", br#"{"id":1}{"id":2}"#] {
        unreadable(&signed_bytes(&key, payload), &key);
    }
}

#[test]
fn licences_that_a_server_would_refuse_are_not_issued() {
    let key = key();

    for terms in [
        Terms { max_users: Some(0), ..terms() },
        Terms { licensee: String::new(), ..terms() },
        Terms { edition: "Platinum".to_owned(), ..terms() },
        Terms { licensee: "a".repeat(MAX_LICENCE_BYTES), ..terms() },
    ] {
        assert!(key.issue(&terms).is_err());
    }
}
