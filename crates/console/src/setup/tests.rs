//! Tests of the setup page.

use actix_web::ResponseError as _;
use actix_web::test::TestRequest;
use pia_identity::FirstAdminOutcome;
use pia_kernel::{Language, Timestamp, Unavailable};
use pia_policy::{Edition, InstallError, Licence, LicenceError, SetupState, SigningKey, Terms};
use serde_json::{Value, json};

use super::testing::{Admins, LicenceUpload, services};
use super::*;
use crate::testing::RenderedPage;

const END: Timestamp = Timestamp::UNIX_EPOCH;

/// Returns the setup pages of a licensed server.
fn licensed(admins: Admins) -> SetupPages {
    services(SetupState::Done, admins, None).1
}

/// Submits the form of the second step.
async fn create_admin(console: SetupPages, token: &str, password: &str) -> RenderedPage {
    let form =
        format!("step=administrator&token={token}&email=root%40example.org&password={password}");
    submit(&console, form.as_bytes()).await
}

fn licence() -> Licence {
    let key = SigningKey::generate().unwrap();
    let terms = Terms {
        max_users: Some(25),
        ..Terms::new("Tom & <b>Jerry</b>", Edition::Community, Timestamp::UNIX_EPOCH)
    };
    Licence::parse(key.issue(&terms).unwrap(), &key.verifying_key()).unwrap()
}

fn unavailable() -> InstallError {
    Unavailable::new("the licence file", std::io::Error::other("disk /secret/path is full")).into()
}

fn english() -> PageLayout {
    PageLayout::new(None, Some(Language::En)).with_base("setup/")
}

/// Submits a form of the page.
async fn submit(console: &SetupPages, form: &[u8]) -> RenderedPage {
    let response = handle_form(console, english(), form).await;
    RenderedPage::from_response(response.unwrap_or_else(|err| err.error_response())).await
}

/// Opens the page.
async fn open(console: SetupPages, uri: &str) -> RenderedPage {
    let request = TestRequest::get().uri(uri).to_http_request();
    RenderedPage::from_response(show(Data::new(console), request).await.unwrap()).await
}

async fn render(state: SetupState) -> RenderedPage {
    open(services(state, Admins::There, None).1, "/admin/setup").await
}

async fn submit_licence(result: LicenceUpload) -> RenderedPage {
    let (_, console) = services(SetupState::NoLicence, Admins::There, Some(result));
    let form = "token=the-token&license=%3Cscript%3E%0D%0Atext";
    submit(&console, form.as_bytes()).await
}

async fn upload_licence(result: LicenceUpload) -> (u16, Value) {
    let (_, console) = services(SetupState::NoLicence, Admins::There, Some(result));
    match handle_upload(&console, "the-token", b"text").await {
        Ok(response) => (200, serde_json::to_value(&response.0).unwrap()),
        Err(err) => {
            let rendered = RenderedPage::from_response(err.error_response()).await;
            (rendered.status, serde_json::from_str(&rendered.text).unwrap())
        }
    }
}

#[actix_web::test]
async fn a_server_without_a_licence_renders_the_form() {
    let page = render(SetupState::NoLicence).await;

    assert_eq!(page.status, 200);
    assert!(page.has("no licence yet"));
    assert!(page.has("method=\"post\" action=\"setup\" novalidate>"));
    assert!(page.has("<label for=\"token\">") && page.has("<label for=\"license\">"));
    assert!(page.has("<html lang=\"en\">"));
}

#[actix_web::test]
async fn the_page_explains_why_a_licence_is_rejected() {
    let foreign = LicenceError::Foreign("0123456789abcdef".to_owned());

    for (state, reason) in [
        (SetupState::Refused(foreign), "with a key (0123456789abcdef)"),
        (SetupState::Refused(LicenceError::Forged), "the licence was changed or forged."),
        (SetupState::Ended(END), "expired at 1970-01-01T00:00:00Z"),
    ] {
        let page = render(state).await;

        assert!(page.has(reason), "{}", page.text);
        assert!(page.has("<form"));
    }
}

#[actix_web::test]
async fn a_configured_server_has_no_form() {
    let page = render(SetupState::Done).await;

    assert!(page.has("This server is set up"));
    assert!(!page.has("<form"));
}

#[actix_web::test]
async fn a_page_loads_nothing_from_elsewhere_and_is_neither_stored_nor_framed() {
    let page = render(SetupState::NoLicence).await;

    let policy = page.header("content-security-policy");
    for part in ["default-src 'none'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("referrer-policy"), "same-origin");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(!page.has("<script") && !page.has("style=") && !page.has("://"));
}

#[actix_web::test]
async fn every_link_of_the_page_is_relative() {
    let page = render(SetupState::NoLicence).await;

    for attribute in ["href=\"", "action=\"", "src=\""] {
        for rest in page.text.split(attribute).skip(1) {
            assert!(rest.starts_with("setup"), "{attribute}{rest}");
        }
    }
}

#[actix_web::test]
async fn the_style_sheet_has_its_media_type() {
    let style = RenderedPage::from_response(crate::page::style().await).await;

    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert!(style.has(".alert"));
}

#[actix_web::test]
async fn submitted_values_reach_the_service() {
    let (services, console) = services(SetupState::NoLicence, Admins::There, Some(Ok(licence())));

    submit(&console, b"token=a%2Bb&license=one%0D%0Atwo").await;

    let installs = services.installs.lock().unwrap();
    assert_eq!(*installs, [("a+b".to_owned(), "one\r\ntwo".to_owned())]);
}

#[actix_web::test]
async fn an_accepted_licence_redirects_to_the_next_step() {
    let page = submit_licence(Ok(licence())).await;

    assert_eq!(page.status, 303);
    assert_eq!(page.location(), "setup?lang=en");
    assert_eq!(page.header("cache-control"), "no-store");
}

#[actix_web::test]
async fn a_refusal_preserves_the_submitted_values_except_for_the_token() {
    for (err, status, reason) in [
        (InstallError::WrongToken, 403, "The setup token is wrong"),
        (InstallError::Refused(LicenceError::Truncated("it is empty")), 400, "it is empty."),
        (InstallError::Ended(END), 400, "The licence expired at 1970-01-01T00:00:00Z."),
        (InstallError::AlreadyLicensed, 409, "A valid licence is installed"),
        (unavailable(), 503, "could not store the licence"),
    ] {
        let page = submit_licence(Err(err)).await;

        assert_eq!(page.status, status);
        assert!(page.has("role=\"alert\"") && page.has(reason), "{}", page.text);
        assert!(page.has("&#60;script&#62;\r\ntext</textarea>"), "{}", page.text);
        assert!(!page.has("the-token") && !page.has("/secret/path"));
    }
}

#[actix_web::test]
async fn a_form_without_fields_reaches_the_service() {
    let refused = Some(Err(InstallError::WrongToken));
    let (services, console) = services(SetupState::NoLicence, Admins::There, refused);

    let page = submit(&console, b"").await;

    assert_eq!(page.status, 403);
    assert_eq!(*services.installs.lock().unwrap(), [(String::new(), String::new())]);
}

#[actix_web::test]
async fn a_malformed_form_is_refused() {
    let (_, console) = services(SetupState::NoLicence, Admins::There, None);

    for form in [&b"token=a&token=b"[..], b"license=1&license=2"] {
        assert_eq!(submit(&console, form).await.status, 400);
    }
}

#[actix_web::test]
async fn the_page_accepts_forms_only() {
    for (kind, accepted) in [
        ("application/x-www-form-urlencoded", true),
        ("Application/X-WWW-Form-Urlencoded; charset=UTF-8", true),
        ("text/plain", false),
        ("multipart/form-data; boundary=x", false),
        ("", false),
    ] {
        let request = TestRequest::post().insert_header((CONTENT_TYPE, kind)).to_http_request();

        assert_eq!(is_form(&request), accepted, "{kind}");
    }
}

#[actix_web::test]
async fn an_uploaded_licence_is_described() {
    let (status, response) = upload_licence(Ok(licence())).await;

    assert_eq!(status, 200);
    assert_eq!(
        response,
        json!({
            "licensee": "Tom & <b>Jerry</b>",
            "edition": "Community",
            "features": ["Sync", "AiProxy", "E2EE"],
        })
    );
}

#[actix_web::test]
async fn an_uploaded_licence_is_described_with_its_expiry() {
    let (_, response) = upload_licence(Ok(Licence { expires_at: Some(END), ..licence() })).await;

    assert_eq!(response["expiresAt"], "1970-01-01T00:00:00Z");
}

#[actix_web::test]
async fn each_refusal_of_an_upload_has_its_own_code() {
    let refused = InstallError::Refused;

    for (err, status, code) in [
        (InstallError::WrongToken, 403, "invalid_setup_token"),
        (InstallError::AlreadyLicensed, 409, "already_licensed"),
        (InstallError::Ended(END), 400, "license_expired"),
        (refused(LicenceError::Truncated("it is empty")), 400, "license_truncated"),
        (refused(LicenceError::Foreign("key".to_owned())), 400, "license_foreign"),
        (refused(LicenceError::Forged), 400, "license_forged"),
        (refused(LicenceError::Unreadable("why".to_owned())), 400, "license_unreadable"),
        (unavailable(), 503, "unavailable"),
    ] {
        let (response_status, response) = upload_licence(Err(err)).await;

        assert_eq!(response_status, status);
        assert_eq!(response["error"], code);
        let message = response["message"].as_str().unwrap();
        assert!(message.starts_with(char::is_uppercase) && message.ends_with('.'), "{message}");
        assert!(!message.contains("/secret/path"), "{message}");
    }
}

#[actix_web::test]
async fn a_licensed_server_without_an_administrator_requests_one() {
    let page = open(licensed(Admins::Missing), "/admin/setup").await;

    assert_eq!(page.status, 200);
    assert!(page.has("Now create the administrator account") && page.has("<label for=\"email\">"));
    assert!(page.has("value=\"administrator\"") && !page.has("<label for=\"license\">"));
    assert!(page.has("autocomplete=\"new-password\""));
}

#[actix_web::test]
async fn a_created_administrator_redirects_to_the_last_step() {
    let console = licensed(Admins::Made(FirstAdminOutcome::Stored));

    let page = create_admin(console, "right", "a+perfectly+fine+passphrase").await;

    assert_eq!(page.status, 303, "{}", page.text);
    assert_eq!(page.location(), "setup?lang=en");
}

#[actix_web::test]
async fn each_step_and_its_refusals_exist_in_german() {
    let uri = "/admin/setup?lang=de";
    let german = || PageLayout::new(None, Some(Language::De)).with_base("setup/");
    let refused = Some(Err(InstallError::Refused(LicenceError::Forged)));
    let (_, console) = services(SetupState::NoLicence, Admins::There, refused);

    let licence_step = open(console.clone(), uri).await;
    let response = handle_form(&console, german(), b"license=x").await.unwrap();
    let licence_refusal = RenderedPage::from_response(response).await;
    let admin_step = open(licensed(Admins::Missing), uri).await;
    let form = b"step=administrator&token=right&email=root%40example.org&password=short";
    let response = handle_form(&licensed(Admins::Missing), german(), form).await.unwrap();
    let admin_refusal = RenderedPage::from_response(response).await;
    let last_step = open(licensed(Admins::There), uri).await;

    assert!(licence_step.has("<html lang=\"de\">") && licence_step.has("noch keine Lizenz"));
    assert!(licence_refusal.has("gefälscht") && !licence_refusal.has("signature"));
    assert!(admin_step.has("Administratorkonto erstellen"));
    assert!(admin_refusal.has("mindestens 8 Zeichen"), "{}", admin_refusal.text);
    assert!(last_step.has("eingerichtet</h1>"));
}

#[actix_web::test]
async fn a_refusal_has_the_focus_and_links_to_its_field() {
    let page = submit_licence(Err(InstallError::WrongToken)).await;

    assert!(page.has("role=\"alert\" tabindex=\"-1\" autofocus"), "{}", page.text);
    assert!(
        page.has("<a href=\"#token\">") && page.has("aria-describedby=\"token-hint token-fault\"")
    );
}

#[actix_web::test]
async fn submitted_values_survive_a_change_of_language_except_for_the_token() {
    let (services, console) = services(SetupState::NoLicence, Admins::There, None);

    let page = submit(&console, b"token=the-token&license=typed&switch=language").await;

    assert_eq!(page.status, 200);
    assert!(services.installs.lock().unwrap().is_empty());
    assert!(page.has("typed</textarea>") && !page.has("the-token"), "{}", page.text);
}

#[actix_web::test]
async fn a_refused_administrator_preserves_the_address_only() {
    let made = |outcome| licensed(Admins::Made(outcome));
    let fine = "a+perfectly+fine+passphrase";
    for (console, token, password, status, reason) in [
        (made(FirstAdminOutcome::Stored), "wrong", fine, 403, "The setup token is wrong"),
        (made(FirstAdminOutcome::Stored), "right", "short", 400, "password"),
        (made(FirstAdminOutcome::EmailTaken), "right", fine, 409, "pia-server admin grant"),
        (made(FirstAdminOutcome::AlreadySetUp), "right", fine, 409, "has an administrator"),
        (made(FirstAdminOutcome::SeatsTaken), "right", fine, 403, "All seats of the licence"),
        (licensed(Admins::There), "right", fine, 409, "there is an administrator"),
    ] {
        let page = create_admin(console, token, password).await;

        assert_eq!(page.status, status, "{}", page.text);
        let form = page.has("<form");
        assert!(page.has("role=\"alert\"") == form && page.has(reason), "{}", page.text);
        assert!(!page.has("passphrase") && !page.has("value=\"right\""), "{}", page.text);
        assert_eq!(page.has("value=\"root@example.org\""), form, "{}", page.text);
    }
}

#[actix_web::test]
async fn an_administrator_requires_a_licence_in_force() {
    for state in [SetupState::NoLicence, SetupState::Ended(END)] {
        let (_, console) = services(state, Admins::Made(FirstAdminOutcome::Stored), None);

        let page = create_admin(console, "right", "a+perfectly+fine+passphrase").await;

        assert_eq!(page.status, 409, "{}", page.text);
        assert!(page.has("<label for=\"license\">"), "{}", page.text);
    }
}

#[test]
fn every_route_but_the_last_step_works_without_a_licence_and_has_a_small_body_limit() {
    use pia_web::{Budget, Licensing, RateLimit};

    let setup = crate::routes().into_iter().filter(|it| it.path.starts_with("/admin/setup"));
    for route in setup {
        let expected = match route.path {
            "/admin/setup/administrator" => Licensing::InForce,
            _ => Licensing::NotNeeded,
        };
        assert_eq!(route.licensing, expected, "{}", route.path);
        assert!(route.body_limit <= 128 * 1024, "{}", route.path);
        if route.body_limit > 0 {
            // Guessing of the token is rate limited.
            assert_eq!(route.rate_limit, RateLimit::AtGate(Budget::Auth), "{}", route.path);
        }
    }
}
