//! Passkeys in Chromium, with an authenticator of its own.

use std::net::SocketAddr;

use pia_server_testkit::browser::Browser;
use pia_server_testkit::credentials::{add_passkey, passkey_options};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A port that is known before the server starts, which goes on to the server:
/// its address is part of what passkeys are bound to.
struct Door(TcpListener);

impl Door {
    async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("a port"))
    }

    fn origin(&self) -> String {
        format!("http://localhost:{}", self.0.local_addr().expect("an address").port())
    }

    fn open_to(self, server: SocketAddr) {
        #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
        let _open = tokio::spawn(async move {
            while let Ok((mut visitor, _)) = self.0.accept().await {
                #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
                let _visit = tokio::spawn(async move {
                    let mut inside = TcpStream::connect(server).await.expect("the server");
                    drop(copy_bidirectional(&mut visitor, &mut inside).await);
                });
            }
        });
    }
}

/// A browser on a page of the server, with an authenticator that verifies.
async fn browser(origin: &str) -> (Browser, String) {
    let browser = Browser::start("en").await;
    browser.goto(&format!("{origin}/admin/setup")).await;
    let authenticator = json!({
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
        "hasUserVerification": true, "isUserVerified": true, "isUserConsenting": true,
    });
    let id = browser.command("POST", "webauthn/authenticator", &authenticator).await;
    (browser, text(&id).to_owned())
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
async fn a_passkey_is_made_and_signs_in_without_a_name() {
    let door = Door::new().await;
    let origin = door.origin();
    let app = Setting::on(TestDatabase::sqlite()).with("Server__PublicUrl", &origin).start().await;
    door.open_to(app.addr);
    let ada = app.sign_up(EMAIL).await;
    let (browser, authenticator) = browser(&origin).await;

    let requested = passkey_options(&ada).await;
    let made = create(&browser, &requested["publicKey"]).await;
    let added = add_passkey(&ada, &requested, "Chromium", &made).await;
    let requested = passkey_options(&ada).await;
    let again = create(&browser, &requested["publicKey"]).await;
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let requested = ask_to_sign_in(&app).await;
        let signed = get(&browser, &requested["publicKey"]).await;
        statuses.push(answer(&app, &requested, &signed).await.status);
    }
    let held = format!("webauthn/authenticator/{authenticator}/credentials");
    let held = browser.command("GET", &held, &Value::Null).await;

    assert_eq!(added.status, 200, "{} for {made}", added.text());
    assert_eq!(again["failed"], "InvalidStateError", "it has one already");
    assert_eq!(statuses, [200, 200]);
    assert_eq!(
        (held[0]["isResidentCredential"].as_bool(), text(&held[0]["rpId"])),
        (Some(true), "localhost")
    );
    assert!(list(&ada).await[0]["lastUsedAt"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_that_verifies_nobody_makes_no_passkey_and_signs_nobody_in() {
    let door = Door::new().await;
    let origin = door.origin();
    let app = Setting::on(TestDatabase::sqlite()).with("Server__PublicUrl", &origin).start().await;
    door.open_to(app.addr);
    let ada = app.sign_up(EMAIL).await;
    let (browser, authenticator) = browser(&origin).await;
    let requested = passkey_options(&ada).await;
    let made = create(&browser, &requested["publicKey"]).await;
    assert_eq!(add_passkey(&ada, &requested, "Chromium", &made).await.status, 200);

    let verifies = format!("webauthn/authenticator/{authenticator}/uv");
    browser.command("POST", &verifies, &json!({ "isUserVerified": false })).await;
    let mut requested = ask_to_sign_in(&app).await;
    requested["publicKey"]["timeout"] = json!(1000);
    let unverified = get(&browser, &requested["publicKey"]).await;
    requested["publicKey"]["userVerification"] = json!("discouraged");
    let discouraged = get(&browser, &requested["publicKey"]).await;
    let refused = answer(&app, &requested, &discouraged).await;

    assert_eq!(unverified["failed"], "NotAllowedError");
    assert!(discouraged["response"].is_object(), "{discouraged}");
    assert_eq!(refused.refusal(), (401, "invalid_passkey"));
}
