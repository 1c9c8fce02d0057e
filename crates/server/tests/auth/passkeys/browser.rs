//! Passkeys in Chromium, with a virtual authenticator.

use pia_server_testkit::browser::Browser;
use pia_server_testkit::credentials::{add_passkey, passkey_options};
use pia_server_testkit::forwarder::Forwarder;

use super::*;

/// Opens a page of the server in a browser with an authenticator that verifies users.
async fn browser(origin: &str) -> (Browser, String) {
    let browser = Browser::start("en").await;
    browser.goto(&format!("{origin}/admin/setup")).await;
    let id = browser.add_authenticator().await;
    (browser, id)
}

async fn create(browser: &Browser, options: &Value) -> Value {
    let script = "const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(arguments[0]);
        return navigator.credentials.create({ publicKey })
            .then(it => it.toJSON()).catch(it => ({ failed: it.name }));";
    browser.run(script, json!([options])).await
}

async fn get(browser: &Browser, options: &Value) -> Value {
    let script = "const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(arguments[0]);
        return navigator.credentials.get({ publicKey })
            .then(it => it.toJSON()).catch(it => ({ failed: it.name }));";
    browser.run(script, json!([options])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_created_and_signs_in_without_a_user_name() {
    let forwarder = Forwarder::new().await;
    let origin = forwarder.origin();
    let app =
        TestConfig::on(TestDatabase::sqlite()).with("Server__PublicUrl", &origin).start().await;
    forwarder.forward_to(app.addr);
    let ada = app.sign_up(EMAIL).await;
    let (browser, authenticator) = browser(&origin).await;

    let options = passkey_options(&ada).await;
    let credential = create(&browser, &options["publicKey"]).await;
    let addition_response = add_passkey(&ada, &options, "Chromium", &credential).await;
    let options = passkey_options(&ada).await;
    let again = create(&browser, &options["publicKey"]).await;
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let options = sign_in_options(&app).await;
        let assertion = get(&browser, &options["publicKey"]).await;
        statuses.push(complete_sign_in(&app, &options, &assertion).await.status);
    }
    let path = format!("webauthn/authenticator/{authenticator}/credentials");
    let stored = browser.command("GET", &path, &Value::Null).await;

    assert_eq!(addition_response.status, 200, "{} for {credential}", addition_response.text());
    assert_eq!(again["failed"], "InvalidStateError", "it has a passkey already");
    assert_eq!(statuses, [200, 200]);
    assert_eq!(stored[0]["isResidentCredential"].as_bool(), Some(true));
    assert_eq!(text(&stored[0]["rpId"]), "localhost");
    assert!(list(&ada).await[0]["lastUsedAt"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_without_user_verification_cannot_sign_in() {
    let forwarder = Forwarder::new().await;
    let origin = forwarder.origin();
    let app =
        TestConfig::on(TestDatabase::sqlite()).with("Server__PublicUrl", &origin).start().await;
    forwarder.forward_to(app.addr);
    let ada = app.sign_up(EMAIL).await;
    let (browser, authenticator) = browser(&origin).await;
    let options = passkey_options(&ada).await;
    let credential = create(&browser, &options["publicKey"]).await;
    assert_eq!(add_passkey(&ada, &options, "Chromium", &credential).await.status, 200);

    let verifies = format!("webauthn/authenticator/{authenticator}/uv");
    browser.command("POST", &verifies, &json!({ "isUserVerified": false })).await;
    let mut options = sign_in_options(&app).await;
    options["publicKey"]["timeout"] = json!(1000);
    let unverified = get(&browser, &options["publicKey"]).await;
    options["publicKey"]["userVerification"] = json!("discouraged");
    let discouraged = get(&browser, &options["publicKey"]).await;
    let refused_response = complete_sign_in(&app, &options, &discouraged).await;

    assert_eq!(unverified["failed"], "NotAllowedError");
    assert!(discouraged["response"].is_object(), "{discouraged}");
    assert_eq!(refused_response.refusal(), (401, "invalid_passkey"));
}
