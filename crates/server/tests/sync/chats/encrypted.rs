//! Tests of chats of encrypted accounts.

use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    an_encrypted_account_accepts_encrypted_chats_alone,
    no_plaintext_of_an_encrypted_chat_is_stored,
);

const AT: &str = "2026-08-01T09:14:02Z";

async fn an_encrypted_account_accepts_encrypted_chats_alone(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = create_chat(&ada).await;
    encrypt(&app).await;

    let plain_response = put(&ada, &chat(&id, "2026-09-01T00:00:00Z")).await;
    let new_response = put(&ada, &chat(&new_id(), AT)).await;
    let replacement_response = put(&ada, &encrypted(&id, AT)).await;

    assert_eq!(plain_response.refusal(), (403, "e2ee_required"));
    assert_eq!(new_response.refusal(), (403, "e2ee_required"));
    assert_eq!(replacement_response.status, 200);
    assert_eq!(replacement_response.body["messages"], json!([]));
    let list = ada.get(CHATS).await;
    assert_eq!(ids(&list.body["chats"]), [&*id]);
    assert_eq!(delete(&ada, &id).await.status, 204);
}

async fn no_plaintext_of_an_encrypted_chat_is_stored(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let id = new_id();
    let mut document = encrypted(&id, AT);
    document["title"] = json!("secret");
    document["workingDirectory"] = json!("secret");
    document["future"] = json!("secret");
    document["messages"] = json!([{ "content": "secret" }]);

    let creation_response = put(&ada, &document).await;
    let plain_response = put(&ada, &chat(&id, AT)).await;

    assert_eq!(creation_response.status, 201, "{}", creation_response.text());
    assert!(!creation_response.text().contains("secret"), "{}", creation_response.text());
    assert_eq!(creation_response.body["encryptedPayload"], document["encryptedPayload"]);
    assert_eq!(creation_response.body["wrappedDek"], document["wrappedDek"]);
    assert_eq!(plain_response.status, 409);
    assert_eq!(plain_response.body, creation_response.body, "it is not returned in plaintext");
    assert_eq!(get(&ada, &id).await.body, creation_response.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn ciphertext_and_key_of_a_chat_must_be_complete() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    for (field, value) in [
        ("wrappedDek", Value::Null),
        ("encryptedPayload", Value::Null),
        ("wrappedDek", json!(STANDARD.encode([1; 59]))),
        ("wrappedDek", json!(5)),
        ("encryptedPayload", json!(STANDARD.encode([1; 27]))),
        ("encryptedPayload", json!("not base64 at all!!")),
        ("encryptedPayload", json!("-_-_".repeat(20))),
    ] {
        let mut document = encrypted(&new_id(), AT);
        document[field] = value;

        let answer = put(&ada, &document).await;

        assert_eq!(answer.refusal(), (400, "validation_failed"), "{document}");
        assert_eq!(fields(&answer), [field], "{document}");
    }
}
