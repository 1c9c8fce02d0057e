//! Forged, misdirected and replayed responses of authenticators.

use pia_server_testkit::authenticator::{Draft, PRESENT, VERIFIED, base64, unbase64};
use pia_server_testkit::credentials::{add_passkey, enrol, passkey_options, sessions};

use super::*;

on_both_databases!(forged_assertions_are_refused, forged_attestations_add_no_passkey);

type Forge = fn(&mut Draft);

/// Forgeries of a response in either ceremony.
const DRAFTS: [(&str, Forge); 15] = [
    ("another origin", |it| it.client_data["origin"] = json!("https://evil.example")),
    ("another port", |it| it.client_data["origin"] = json!("http://localhost:8081")),
    ("another scheme", |it| it.client_data["origin"] = json!("https://localhost:8080")),
    ("a subdomain", |it| it.client_data["origin"] = json!("http://a.localhost:8080")),
    ("no origin", |it| it.client_data["origin"] = json!("null")),
    ("a frame", |it| it.client_data["crossOrigin"] = json!(true)),
    ("a frame's page", |it| it.client_data["topOrigin"] = json!("https://evil.example")),
    ("another challenge", |it| it.client_data["challenge"] = json!(base64(&[7; 32]))),
    ("no challenge", |it| it.client_data["challenge"] = json!("")),
    ("a type of its own", |it| it.client_data["type"] = json!("payment.get")),
    ("another RP id", |it| "evil.example".clone_into(&mut it.rp_id)),
    ("no RP id", |it| it.rp_id = String::new()),
    ("nobody verified", |it| it.flags &= !VERIFIED),
    ("nobody present", |it| it.flags &= !PRESENT),
    ("neither", |it| it.flags &= !(PRESENT | VERIFIED)),
];

type Tamper = fn(&mut Value);

/// Further forgeries of an assertion.
const TAMPERED: [(&str, Tamper); 12] = [
    ("a bad signature", |it| flip(&mut it["response"]["signature"], 20)),
    ("no signature", |it| it["response"]["signature"] = json!("")),
    ("a long signature", |it| it["response"]["signature"] = json!("A".repeat(40_000))),
    ("other data", |it| flip(&mut it["response"]["authenticatorData"], 36)),
    ("cut data", |it| truncate(&mut it["response"]["authenticatorData"])),
    ("no data", |it| it["response"]["authenticatorData"] = json!("")),
    ("cut client data", |it| truncate(&mut it["response"]["clientDataJSON"])),
    ("deep client data", |it| {
        it["response"]["clientDataJSON"] = json!(base64("[".repeat(10_000).as_bytes()));
    }),
    ("no user", |it| it["response"]["userHandle"] = Value::Null),
    ("another user", |it| it["response"]["userHandle"] = json!(base64(&[7; 16]))),
    ("a user that is none", |it| it["response"]["userHandle"] = json!("AAAA")),
    ("another kind", |it| it["type"] = json!("password")),
];

fn flip(text: &mut Value, at: usize) {
    let mut bytes = unbase64(text);
    bytes[at] ^= 1;
    *text = json!(base64(&bytes));
}

fn truncate(text: &mut Value) {
    let bytes = unbase64(text);
    *text = json!(base64(&bytes[..bytes.len() - 1]));
}

/// Server with a manual clock, where Ada has a passkey.
struct Scene {
    app: TestApp,
    clock: Arc<ManualClock>,
    ada: Client,
    key: Authenticator,
}

async fn start(database: TestDatabase) -> Scene {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = setting(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up(EMAIL).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;
    Scene { app, clock, ada, key }
}

async fn forged_assertions_are_refused(database: TestDatabase) {
    let Scene { app, ada, mut key, .. } = start(database).await;
    let unknown_response = sign_in(&app, &mut Authenticator::new()).await;
    assert_eq!(unknown_response.refusal(), (401, "invalid_passkey"));

    let as_created: (&str, Forge) =
        ("created", |it| it.client_data["type"] = json!("webauthn.create"));
    for (what, forge) in DRAFTS.into_iter().chain([as_created]) {
        let options = sign_in_options(&app).await;
        let forged_credential = key.get_as(&options["publicKey"], forge);
        let refusal = complete_sign_in(&app, &options, &forged_credential).await;
        assert_eq!(refusal.status, 401, "{what}");
        assert_eq!(refusal.bytes, unknown_response.bytes, "{what}");
    }
    for (what, tamper) in TAMPERED {
        let options = sign_in_options(&app).await;
        let mut forged_credential = key.get(&options["publicKey"]);
        tamper(&mut forged_credential);
        let refusal = complete_sign_in(&app, &options, &forged_credential).await;
        assert_eq!(refusal.status, 401, "{what}");
        assert_eq!(refusal.bytes, unknown_response.bytes, "{what}");
    }

    assert_eq!(sessions(&ada).await.len(), 1);
    assert_eq!(sign_in(&app, &mut key).await.status, 200);
}

async fn forged_attestations_add_no_passkey(database: TestDatabase) {
    let Scene { app, ada, .. } = start(database).await;

    let as_got: (&str, Forge) = ("got", |it| it.client_data["type"] = json!("webauthn.get"));
    let longer: (&str, Forge) = ("a long id", |it| it.id = vec![7; 1024]);
    let nameless: (&str, Forge) = ("no id", |it| it.id = Vec::new());
    let bare: (&str, Forge) = ("no passkey in it", |it| it.flags &= !0x40);
    for (what, forge) in DRAFTS.into_iter().chain([as_got, longer, nameless, bare]) {
        let options = passkey_options(&ada).await;
        let forged_credential = Authenticator::new().create_as(&options["publicKey"], forge);
        let response = add_passkey(&ada, &options, "Key", &forged_credential).await;
        assert_eq!(response.refusal(), (400, "invalid_passkey_response"), "{what}");
    }

    assert_eq!(list(&ada).await.len(), 1);
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;
    assert_eq!(sign_in(&app, &mut key).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_attestation_adds_no_passkey() {
    let Scene { app: _app, ada, .. } = start(TestDatabase::sqlite()).await;
    let full = unbase64(&{
        let options = passkey_options(&ada).await;
        Authenticator::new().create(&options["publicKey"])["response"]["attestationObject"].clone()
    });

    for length in (0..full.len()).step_by(5) {
        let options = passkey_options(&ada).await;
        let mut forged_credential = Authenticator::new().create(&options["publicKey"]);
        let cut = &unbase64(&forged_credential["response"]["attestationObject"])[..length];
        forged_credential["response"]["attestationObject"] = json!(base64(cut));
        let response = add_passkey(&ada, &options, "Key", &forged_credential).await;
        assert_eq!(response.refusal(), (400, "invalid_passkey_response"), "{length}");
    }
    for garbage in [&b"\xff"[..], &[0x9f; 10_000], &[0x81; 10_000], &[0xbb; 9], &[0x5b; 9]] {
        let options = passkey_options(&ada).await;
        let mut forged_credential = Authenticator::new().create(&options["publicKey"]);
        forged_credential["response"]["attestationObject"] = json!(base64(garbage));
        let response = add_passkey(&ada, &options, "Key", &forged_credential).await;
        assert_eq!(response.refusal(), (400, "invalid_passkey_response"), "{garbage:?}");
    }
    assert_eq!(list(&ada).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_is_consumed_by_any_response() {
    let Scene { app, ada, mut key, .. } = start(TestDatabase::sqlite()).await;

    let options = sign_in_options(&app).await;
    let valid_credential = key.get(&options["publicKey"]);
    let garbage = complete_sign_in(&app, &options, &json!({})).await;
    let late_response = complete_sign_in(&app, &options, &valid_credential).await;
    let second_options = sign_in_options(&app).await;
    let valid_credential = key.get(&second_options["publicKey"]);
    let first_response = complete_sign_in(&app, &second_options, &valid_credential).await;
    let replayed = complete_sign_in(&app, &second_options, &valid_credential).await;
    let options = passkey_options(&ada).await;
    let credential = Authenticator::new().create(&options["publicKey"]);
    let malformed = add_passkey(&ada, &options, "Key", &json!({})).await;
    let too_late = add_passkey(&ada, &options, "Key", &credential).await;

    for refused in [garbage, late_response, replayed] {
        assert_eq!(refused.refusal(), (401, "invalid_passkey"));
    }
    assert_eq!(first_response.status, 200);
    for refused in [malformed, too_late] {
        assert_eq!(refused.refusal(), (400, "invalid_passkey_response"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_expires_after_five_minutes() {
    let Scene { app, clock, ada, mut key } = start(TestDatabase::sqlite()).await;
    let early_options = sign_in_options(&app).await;
    let late_options = sign_in_options(&app).await;
    let first_options = passkey_options(&ada).await;
    let newer_options = passkey_options(&ada).await;

    clock.advance(Duration::from_secs(299));
    let credential = key.get(&early_options["publicKey"]);
    let in_time = complete_sign_in(&app, &early_options, &credential).await;
    let credential = Authenticator::new().create(&first_options["publicKey"]);
    let addition_response = add_passkey(&ada, &first_options, "Key", &credential).await;
    clock.advance(Duration::from_secs(1));
    let credential = key.get(&late_options["publicKey"]);
    let too_late = complete_sign_in(&app, &late_options, &credential).await;
    let credential = Authenticator::new().create(&newer_options["publicKey"]);
    let not_added = add_passkey(&ada, &newer_options, "Key", &credential).await;

    assert_eq!(in_time.status, 200);
    assert_eq!(addition_response.status, 200);
    assert_eq!(too_late.refusal(), (401, "invalid_passkey"));
    assert_eq!(not_added.refusal(), (400, "invalid_passkey_response"));
    assert_eq!(not_added.body["errors"][0]["field"], "challengeToken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_is_bound_to_its_ceremony_and_account() {
    let Scene { app, ada, mut key, .. } = start(TestDatabase::sqlite()).await;
    let eve = app.sign_up("eve@example.org").await;

    // Each response signs the challenge whose token it is sent with.
    let registration = passkey_options(&ada).await;
    let forged_options =
        json!({ "challenge": registration["publicKey"]["challenge"], "rpId": "localhost" });
    let assertion = key.get(&forged_options);
    let by_registration = complete_sign_in(&app, &registration, &assertion).await;
    let login = sign_in_options(&app).await;
    let forged_options = json!({
        "challenge": login["publicKey"]["challenge"],
        "rp": { "id": "localhost" }, "user": { "id": base64(&key.user) },
    });
    let attestation = Authenticator::new().create(&forged_options);
    let by_sign_in = add_passkey(&ada, &login, "Key", &attestation).await;
    let adas = passkey_options(&ada).await;
    let attestation = Authenticator::new().create(&adas["publicKey"]);
    let by_eve = add_passkey(&eve, &adas, "Key", &attestation).await;

    assert_eq!(by_registration.refusal(), (401, "invalid_passkey"));
    assert_eq!(by_sign_in.refusal(), (400, "invalid_passkey_response"));
    assert_eq!(by_eve.refusal(), (400, "invalid_passkey_response"));
    assert_eq!(list(&ada).await.len(), 1);
    assert_eq!(list(&eve).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_signs_in_to_its_own_account_only() {
    let Scene { app, ada, key: mut adas, .. } = start(TestDatabase::sqlite()).await;
    let eve = app.sign_up("eve@example.org").await;
    let mut eves = Authenticator::new();
    enrol(&eve, &mut eves, "Key").await;

    let user = adas.user.clone();
    let id = adas.id.clone();
    let options = sign_in_options(&app).await;
    let as_ada = eves.get_as(&options["publicKey"], |it| it.user.clone_from(&user));
    let by_handle = complete_sign_in(&app, &options, &as_ada).await;
    let options = sign_in_options(&app).await;
    let as_her_key = eves.get_as(&options["publicKey"], |it| it.id.clone_from(&id));
    let by_id = complete_sign_in(&app, &options, &as_her_key).await;
    let options = sign_in_options(&app).await;
    let as_both = eves.get_as(&options["publicKey"], |it| {
        it.user.clone_from(&user);
        it.id.clone_from(&id);
    });
    let by_both = complete_sign_in(&app, &options, &as_both).await;

    for refused in [by_handle, by_id, by_both] {
        assert_eq!(refused.refusal(), (401, "invalid_passkey"));
    }
    assert_eq!(sign_in(&app, &mut adas).await.body["user"]["email"], EMAIL);
    assert_eq!(sessions(&eve).await.len(), 1);
    assert_eq!(outcomes(&ada).await.iter().filter(|it| it.starts_with("wrong")).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_of_another_account_cannot_be_removed() {
    let Scene { app, ada, mut key, .. } = start(TestDatabase::sqlite()).await;
    let eve = app.sign_up("eve@example.org").await;
    let id = list(&ada).await[0]["id"].clone();

    let removal_response = remove(&eve, text(&id)).await;

    assert_eq!(removal_response.refusal(), (404, "not_found"));
    assert_eq!(sign_in(&app, &mut key).await.status, 200);
}
