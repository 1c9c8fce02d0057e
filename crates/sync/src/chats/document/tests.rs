//! Tests of the validation and the stored form of documents.

use serde_json::{Value, json};

use super::*;

const ID: &str = "0199f0e0-0000-7000-8000-00000000000a";
const AT: &str = "2026-08-01T09:14:02.1837744Z";

fn parse(document: &Value) -> Result<NewChat, ParseChatError> {
    NewChat::parse(document.to_string().as_bytes())
}

fn minimal_chat() -> Value {
    json!({ "id": ID, "createdAt": AT, "updatedAt": AT, "messages": [] })
}

fn with(key: &str, value: Value) -> Value {
    let mut chat = minimal_chat();
    chat[key] = value;
    chat
}

fn encrypted() -> Value {
    let payload = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [7; 28]);
    let dek = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [7; 60]);
    let mut chat = minimal_chat();
    chat["encryptedPayload"] = payload.into();
    chat["wrappedDek"] = dek.into();
    chat
}

fn text(chat: &NewChat) -> &str {
    std::str::from_utf8(&chat.text).unwrap()
}

fn to_json(chat: NewChat) -> Value {
    let created_at = chat.created_at;
    serde_json::from_slice(&chat.append_created_at(created_at)).unwrap()
}

/// Returns field and code of the violation.
fn violation_of(document: &Value) -> (String, &'static str) {
    violation_of_text(&document.to_string())
}

fn violation_of_text(document: &str) -> (String, &'static str) {
    match NewChat::parse(document.as_bytes()) {
        Err(ParseChatError::Invalid(violation)) => (violation.field.into_owned(), violation.code),
        outcome => panic!("{document}: {outcome:?}"),
    }
}

#[test]
fn values_are_stored_unchanged() {
    let document = format!(
        r#"{{"id":"{ID}","updatedAt":"{AT}","future":{{"n":1.0,"big":123456789012345678901234567890,
            "e":1e2,"null":null,"text":"\u00e9\/","twice":1,"twice":2}},
            "messages":[ {{"id":"{ID}","tokens":7,"unknown":[null,1.50],"persona":null}} ]}}"#
    );

    let chat = NewChat::parse(document.as_bytes()).unwrap();

    for part in [
        r#""n":1.0,"big":123456789012345678901234567890"#,
        r#""e":1e2,"null":null,"text":"\u00e9\/","twice":1,"twice":2"#,
        &format!(r#"[ {{"id":"{ID}","tokens":7,"unknown":[null,1.50]}} ]"#),
        &format!(r#""updatedAt":"{AT}""#),
    ] {
        assert!(text(&chat).contains(part), "{part} in {}", text(&chat));
    }
}

#[test]
fn the_creation_time_is_added_on_output() {
    let chat = parse(&minimal_chat()).unwrap();

    assert!(!text(&chat).contains("createdAt"));
    let document: Value =
        serde_json::from_slice(&chat.append_created_at(Timestamp::UNIX_EPOCH)).unwrap();
    assert_eq!(document["createdAt"], "1970-01-01T00:00:00Z");
}

#[test]
fn known_keys_ignore_case_and_nulls_are_dropped() {
    let chat = parse(&json!({
        "Id": ID.to_uppercase(), "CreatedAt": AT, "UpdatedAt": AT, "LastAccessedAt": AT,
        "Title": "A title", "WindowMode": "Assistant", "ProviderId": null, "Messages": null,
        "EncryptedPayload": null, "wrappedDek": null, "Future": null, "OtherFuture": 1,
    }));

    assert_eq!(
        to_json(chat.unwrap()),
        json!({
            "id": ID, "schemaVersion": 1, "createdAt": "2026-08-01T09:14:02.183774Z",
            "updatedAt": AT, "lastAccessedAt": AT, "title": "A title",
            "windowMode": "Assistant", "OtherFuture": 1, "messages": [],
        })
    );
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    let document = format!(r#"{{"id":"{ID}","updatedAt":"{AT}","Title":"a","title":"b"}}"#);

    let chat = NewChat::parse(document.as_bytes()).unwrap();

    assert_eq!(to_json(chat)["title"], "b");
}

#[test]
fn reserved_keys_are_dropped() {
    let chat = parse(&json!({
        "id": ID, "updatedAt": AT, "server_stamp": 1, "Server_x": 2, "servers": 3, "messages": [],
    }));

    let document = to_json(chat.unwrap());
    assert!(document.get("server_stamp").is_none() && document.get("Server_x").is_none());
    assert_eq!(document["servers"], 3);
}

#[test]
fn missing_times_default_to_the_time_of_the_change() {
    let chat = parse(&json!({ "id": ID, "updatedAt": "0001-01-01T00:00:00" })).unwrap();

    assert_eq!(chat.created_at, chat.updated_at);
    assert_eq!(to_json(chat)["lastAccessedAt"], "0001-01-01T00:00:00Z");
}

#[test]
fn times_are_converted_to_utc_without_loss_of_precision() {
    let chat = parse(&json!({
        "id": ID, "updatedAt": "2026-08-01T09:14:02.1837744+02:00",
        "lastAccessedAt": "0000-05-05T00:00:00Z",
    }));

    let document = to_json(chat.unwrap());

    assert_eq!(document["updatedAt"], "2026-08-01T07:14:02.1837744Z");
    assert_eq!(document["lastAccessedAt"], "0001-01-01T00:00:00Z");
}

#[test]
fn an_encrypted_chat_has_only_required_plaintext_fields() {
    let mut document = encrypted();
    document["title"] = json!("secret");
    document["providerId"] = json!(5);
    document["workingDirectory"] = json!("secret");
    document["messages"] = json!([{ "content": "secret" }]);
    document["future"] = json!("secret");
    document["windowMode"] = json!("Research");
    document["schemaVersion"] = json!(2);

    let chat = parse(&document).unwrap();

    assert!(chat.encrypted);
    assert!(!text(&chat).contains("secret"), "{}", text(&chat));
    let output = to_json(chat);
    assert_eq!(output["messages"], json!([]));
    assert_eq!(output["encryptedPayload"], document["encryptedPayload"]);
    assert_eq!(output["wrappedDek"], document["wrappedDek"]);
    assert_eq!(output["windowMode"], json!("Research"));
    assert_eq!(output["schemaVersion"], json!(2));
    assert_eq!(output.as_object().unwrap().len(), 9);
}

#[test]
fn base64_may_contain_escapes() {
    let document = encrypted().to_string();
    let plus = document.replace("BwcH", "\\u002bwcH");

    let chat = NewChat::parse(plus.as_bytes()).unwrap();

    assert!(text(&chat).contains("\\u002bwcH"));
}

#[test]
fn violations_name_their_field() {
    for (key, value, code) in [
        ("id", Value::Null, "required"),
        ("id", json!("5"), "invalid"),
        ("id", json!(ID.replace('-', "")), "invalid"),
        ("id", json!(5), "invalid"),
        ("updatedAt", Value::Null, "required"),
        ("updatedAt", json!("yesterday"), "invalid"),
        ("updatedAt", json!(1_700_000_000), "invalid"),
        ("createdAt", json!("2026-13-01T00:00:00Z"), "invalid"),
        ("lastAccessedAt", json!(false), "invalid"),
        ("lastAccessedAt", json!("10000-01-01T00:00:00Z"), "invalid"),
        ("schemaVersion", json!("1"), "invalid"),
        ("schemaVersion", json!(1.5), "invalid"),
        ("title", json!(5), "invalid"),
        ("windowMode", json!(1), "invalid"),
        ("providerId", json!("x"), "invalid"),
        ("workingDirectory", json!([]), "invalid"),
        ("messages", json!({}), "invalid"),
        ("messages", json!("text"), "invalid"),
        ("messages", json!([1]), "invalid"),
        ("messages", json!([{}, null]), "invalid"),
        ("messages", json!([[]]), "invalid"),
    ] {
        assert_eq!(
            violation_of(&with(key, value.clone())),
            (key.to_owned(), code),
            "{key} {value}"
        );
    }
    let messages = json!([{ "role": "user" }, { "Role": 5 }]);
    assert_eq!(
        violation_of(&with("messages", messages)),
        ("messages[1].role".to_owned(), "invalid")
    );
}

#[test]
fn lone_surrogates_are_rejected_in_plaintext() {
    let document_with = |member: &str| format!(r#"{{"id":"{ID}","updatedAt":"{AT}",{member}}}"#);

    for (member, field) in [
        (r#""messages":[{"content":"\ud83d"}]"#, "messages"),
        (r#""title":"\ude00""#, "title"),
        (r#""future":["\ude00"]"#, ""),
    ] {
        assert_eq!(violation_of_text(&document_with(member)), (field.to_owned(), "invalid"));
    }
    assert!(NewChat::parse(document_with(r#""title":"\ud83d\ude00""#).as_bytes()).is_ok());
    let mut sealed = encrypted().to_string();
    sealed.insert_str(1, r#""future":"\ud83d","#);
    assert!(!text(&NewChat::parse(sealed.as_bytes()).unwrap()).contains("ud83d"));
}

#[test]
fn both_encrypted_parts_are_required_and_validated() {
    for (key, value, code) in [
        ("wrappedDek", Value::Null, "required"),
        ("encryptedPayload", Value::Null, "required"),
        ("wrappedDek", json!("AAAA"), "invalid"),
        ("wrappedDek", json!(5), "invalid"),
        ("wrappedDek", json!("A".repeat(79) + "*"), "invalid"),
        ("encryptedPayload", json!(""), "invalid"),
        ("encryptedPayload", json!("AAAA"), "invalid"),
        ("encryptedPayload", json!("A".repeat(41)), "invalid"),
        ("encryptedPayload", json!("-_".repeat(40)), "invalid"),
    ] {
        let mut document = encrypted();
        document[key] = value;

        assert_eq!(violation_of(&document), (key.to_owned(), code), "{document}");
    }
}

#[test]
fn malformed_and_oversized_documents_are_rejected() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let nested_chat =
        |depth| format!(r#"{{"id":"{ID}","updatedAt":"{AT}","x":{}}}"#, nested(depth));
    let wide: serde_json::Map<String, Value> =
        (0..257).map(|number| (format!("key{number}"), number.into())).collect();

    let code = |text: &str| match NewChat::parse(text.as_bytes()) {
        Err(ParseChatError::Invalid(violation)) => violation.code,
        Err(ParseChatError::Malformed { .. }) => "malformed",
        Ok(_) => "good",
    };
    assert_eq!(["[]", "5", "null", "\"x\""].map(code), ["invalid"; 4]);
    assert_eq!(["", "{", "{} {}", "{\"a\":}", "\u{feff}{}"].map(code), ["malformed"; 5]);
    assert_eq!(
        [code(&nested_chat(59)), code(&nested_chat(60)), code(&nested_chat(99_999))],
        ["good", "too_deep", "too_deep"]
    );
    assert_eq!(code(&Value::from(wide).to_string()), "too_many");
    assert_eq!(code(&format!(r#"{{"id":"{ID}","updatedAt":"{AT}","x":"[[\"[{{{{"}}"#)), "good");
    assert!(NewChat::parse(b"{\"x\":\"\xff\"}").is_err());
}

#[test]
fn the_id_must_be_the_requested_one() {
    let chat = parse(&minimal_chat()).unwrap();
    let id = chat.id;

    assert!(chat.clone().require_id(Some(id)).is_ok());
    assert!(chat.clone().require_id(None).is_err());
    assert!(chat.require_id(Some(ChatId(Uuid::nil()))).is_err());
}
