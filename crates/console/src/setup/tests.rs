//! Tests of the set-up page.

use actix_web::ResponseError as _;
use actix_web::test::TestRequest;
use pia_identity::FirstAdminOutcome;
use pia_kernel::{Language, Timestamp, Unavailable};
use pia_policy::{Edition, InstallError, LicenceError, SetupState, SigningKey, Terms};
use serde_json::{Value, json};

use super::testing::{Admins, LicenceUpload, services};
use super::*;
use crate::testing::RenderedPage;

const END: Timestamp = Timestamp::UNIX_EPOCH;

/// A licensed server's console.
fn licensed(admins: Admins) -> SetupPages {
    services(SetupState::Done, admins, None).1
}

/// Sends the form of the second step.
async fn appointed(console: SetupPages, token: &str, password: &str) -> RenderedPage {
    let form =
        format!("step=administrator&token={token}&email=root%40example.org&password={password}");
    sent(&console, form.as_bytes()).await
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

/// Sends a form of the page.
async fn sent(console: &SetupPages, form: &[u8]) -> RenderedPage {
    let answer = answer_form(console, english(), form).await;
    RenderedPage::from_response(answer.unwrap_or_else(|err| err.error_response())).await
}

/// Opens the page.
async fn opened(console: SetupPages, uri: &str) -> RenderedPage {
    let request = TestRequest::get().uri(uri).to_http_request();
    RenderedPage::from_response(show(Data::new(console), request).await.unwrap()).await
}

async fn render(standing: SetupState) -> RenderedPage {
    opened(services(standing, Admins::There, None).1, "/admin/setup").await
}

async fn submitted(answer: LicenceUpload) -> RenderedPage {
    let (_, console) = services(SetupState::NoLicence, Admins::There, Some(answer));
    let form = "token=the-token&license=%3Cscript%3E%0D%0Atext";
    sent(&console, form.as_bytes()).await
}

async fn uploaded(answer: LicenceUpload) -> (u16, Value) {
    let (_, console) = services(SetupState::NoLicence, Admins::There, Some(answer));
    match answer_upload(&console, "the-token", b"text").await {
        Ok(reported) => (200, serde_json::to_value(&reported.0).unwrap()),
        Err(err) => {
            let presented = RenderedPage::from_response(err.error_response()).await;
            (presented.status, serde_json::from_str(&presented.text).unwrap())
        }
    }
}

#[actix_web::test]
async fn a_server_without_a_licence_shows_the_form() {
    let page = render(SetupState::NoLicence).await;

    assert_eq!(page.status, 200);
    assert!(page.has("no licence yet"));
    assert!(page.has("method=\"post\" action=\"setup\" novalidate>"));
    assert!(page.has("<label for=\"token\">") && page.has("<label for=\"license\">"));
    assert!(page.has("<html lang=\"en\">"));
}

#[actix_web::test]
async fn the_page_states_why_a_licence_is_not_accepted() {
    let foreign = LicenceError::Foreign("0123456789abcdef".to_owned());

    for (standing, why) in [
        (SetupState::Refused(foreign), "with another key (0123456789abcdef)"),
        (SetupState::Refused(LicenceError::Forged), "it was changed or forged."),
        (SetupState::Ended(END), "ended at 1970-01-01T00:00:00Z"),
    ] {
        let page = render(standing).await;

        assert!(page.has(why), "{}", page.text);
        assert!(page.has("<form"));
    }
}

#[actix_web::test]
async fn a_server_that_is_set_up_offers_no_form() {
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
async fn every_link_of_the_page_is_relative_and_so_follows_the_base_path() {
    let page = render(SetupState::NoLicence).await;

    for attribute in ["href=\"", "action=\"", "src=\""] {
        for rest in page.text.split(attribute).skip(1) {
            assert!(rest.starts_with("setup"), "{attribute}{rest}");
        }
    }
}

#[actix_web::test]
async fn the_style_is_served_as_one() {
    let style = RenderedPage::from_response(crate::page::style().await).await;

    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert!(style.has(".alert"));
}

#[actix_web::test]
async fn what_the_form_holds_reaches_the_desk() {
    let (services, console) = services(SetupState::NoLicence, Admins::There, Some(Ok(licence())));

    sent(&console, b"token=a%2Bb&license=one%0D%0Atwo").await;

    let requested = services.requested.lock().unwrap();
    assert_eq!(*requested, [("a+b".to_owned(), "one\r\ntwo".to_owned())]);
}

#[actix_web::test]
async fn a_licence_that_was_taken_leads_to_what_is_left_to_do() {
    let page = submitted(Ok(licence())).await;

    assert_eq!((page.status, page.location()), (303, "setup?lang=en"));
    assert_eq!(page.header("cache-control"), "no-store");
}

#[actix_web::test]
async fn a_refusal_is_presented_with_what_was_sent_but_for_the_token() {
    for (err, status, why) in [
        (InstallError::WrongToken, 403, "The setup token is wrong"),
        (InstallError::Refused(LicenceError::Truncated("it is empty")), 400, "it is empty."),
        (InstallError::Ended(END), 400, "The licence ended at 1970-01-01T00:00:00Z."),
        (InstallError::AlreadyLicensed, 409, "has a licence in force"),
        (unavailable(), 503, "could not store the licence"),
    ] {
        let page = submitted(Err(err)).await;

        assert_eq!(page.status, status);
        assert!(page.has("role=\"alert\"") && page.has(why), "{}", page.text);
        assert!(page.has("&#60;script&#62;\r\ntext</textarea>"), "{}", page.text);
        assert!(!page.has("the-token") && !page.has("/secret/path"));
    }
}

#[actix_web::test]
async fn a_form_without_its_fields_is_called_of_the_desk_all_the_same() {
    let refused = Some(Err(InstallError::WrongToken));
    let (services, console) = services(SetupState::NoLicence, Admins::There, refused);

    let page = sent(&console, b"").await;

    assert_eq!(page.status, 403);
    assert_eq!(*services.requested.lock().unwrap(), [(String::new(), String::new())]);
}

#[actix_web::test]
async fn a_form_that_makes_no_sense_is_refused() {
    let (_, console) = services(SetupState::NoLicence, Admins::There, None);

    for form in [&b"token=a&token=b"[..], b"license=1&license=2"] {
        assert_eq!(sent(&console, form).await.status, 400);
    }
}

#[actix_web::test]
async fn only_a_form_is_taken_by_the_page() {
    for (kind, taken) in [
        ("application/x-www-form-urlencoded", true),
        ("Application/X-WWW-Form-Urlencoded; charset=UTF-8", true),
        ("text/plain", false),
        ("multipart/form-data; boundary=x", false),
        ("", false),
    ] {
        let request = TestRequest::post().insert_header((CONTENT_TYPE, kind)).to_http_request();

        assert_eq!(is_form(&request), taken, "{kind}");
    }
}

#[actix_web::test]
async fn an_uploaded_licence_is_described() {
    let (status, reported) = uploaded(Ok(licence())).await;

    assert_eq!(status, 200);
    assert_eq!(
        reported,
        json!({
            "licensee": "Tom & <b>Jerry</b>",
            "edition": "Community",
            "features": ["Sync", "AiProxy", "E2EE"],
        })
    );
}

#[actix_web::test]
async fn an_uploaded_licence_reports_its_end() {
    let (_, reported) = uploaded(Ok(Licence { expires_at: Some(END), ..licence() })).await;

    assert_eq!(reported["expiresAt"], "1970-01-01T00:00:00Z");
}

#[actix_web::test]
async fn each_refusal_of_an_upload_has_its_code() {
    let fault = InstallError::Refused;

    for (err, status, code) in [
        (InstallError::WrongToken, 403, "invalid_setup_token"),
        (InstallError::AlreadyLicensed, 409, "already_licensed"),
        (InstallError::Ended(END), 400, "license_expired"),
        (fault(LicenceError::Truncated("it is empty")), 400, "license_truncated"),
        (fault(LicenceError::Foreign("key".to_owned())), 400, "license_foreign"),
        (fault(LicenceError::Forged), 400, "license_forged"),
        (fault(LicenceError::Unreadable("why".to_owned())), 400, "license_unreadable"),
        (unavailable(), 503, "unavailable"),
    ] {
        let (reported_status, reported) = uploaded(Err(err)).await;

        assert_eq!((reported_status, reported["error"].as_str()), (status, Some(code)));
        let message = reported["message"].as_str().unwrap();
        assert!(message.starts_with(char::is_uppercase) && message.ends_with('.'), "{message}");
        assert!(!message.contains("/secret/path"), "{message}");
    }
}

#[actix_web::test]
async fn a_licensed_server_without_an_administrator_requests_one() {
    let page = opened(licensed(Admins::Missing), "/admin/setup").await;

    assert_eq!(page.status, 200);
    assert!(page.has("Now create the administrator account") && page.has("<label for=\"email\">"));
    assert!(page.has("value=\"administrator\"") && !page.has("<label for=\"license\">"));
    assert!(page.has("autocomplete=\"new-password\""));
}

#[actix_web::test]
async fn an_administrator_that_was_created_leads_to_the_end() {
    let console = licensed(Admins::Made(FirstAdminOutcome::Stored));

    let page = appointed(console, "right", "a+perfectly+fine+passphrase").await;

    assert_eq!((page.status, page.location()), (303, "setup?lang=en"), "{}", page.text);
}

#[actix_web::test]
async fn each_step_and_its_refusals_are_reported_in_german() {
    let uri = "/admin/setup?lang=de";
    let german = || PageLayout::new(None, Some(Language::De)).with_base("setup/");
    let refused = Some(Err(InstallError::Refused(LicenceError::Forged)));
    let (_, console) = services(SetupState::NoLicence, Admins::There, refused);

    let first = opened(console.clone(), uri).await;
    let forged = answer_form(&console, german(), b"license=x").await.unwrap();
    let forged = RenderedPage::from_response(forged).await;
    let second = opened(licensed(Admins::Missing), uri).await;
    let form = b"step=administrator&token=right&email=root%40example.org&password=short";
    let short = answer_form(&licensed(Admins::Missing), german(), form).await.unwrap();
    let short = RenderedPage::from_response(short).await;
    let last = opened(licensed(Admins::There), uri).await;

    assert!(first.has("<html lang=\"de\">") && first.has("noch keine Lizenz"));
    assert!(forged.has("gefälscht") && !forged.has("signature"));
    assert!(second.has("Administratorkonto erstellen"));
    assert!(short.has("mindestens 8 Zeichen"), "{}", short.text);
    assert!(last.has("eingerichtet</h1>"));
}

#[actix_web::test]
async fn a_refusal_has_the_focus_and_leads_to_its_field() {
    let page = submitted(Err(InstallError::WrongToken)).await;

    assert!(page.has("role=\"alert\" tabindex=\"-1\" autofocus"), "{}", page.text);
    assert!(
        page.has("<a href=\"#token\">") && page.has("aria-describedby=\"token-hint token-fault\"")
    );
}

#[actix_web::test]
async fn what_was_typed_survives_another_language_but_for_the_token() {
    let (services, console) = services(SetupState::NoLicence, Admins::There, None);

    let page = sent(&console, b"token=the-token&license=typed&switch=language").await;

    assert_eq!((page.status, services.requested.lock().unwrap().len()), (200, 0));
    assert!(page.has("typed</textarea>") && !page.has("the-token"), "{}", page.text);
}

#[actix_web::test]
async fn a_refusal_of_an_administrator_is_displayed_with_the_address_alone() {
    let made = |outcome| licensed(Admins::Made(outcome));
    let fine = "a+perfectly+fine+passphrase";
    for (console, token, password, status, why) in [
        (made(FirstAdminOutcome::Stored), "wrong", fine, 403, "The setup token is wrong"),
        (made(FirstAdminOutcome::Stored), "right", "short", 400, "password"),
        (made(FirstAdminOutcome::EmailTaken), "right", fine, 409, "pia-server admin grant"),
        (made(FirstAdminOutcome::AlreadySetUp), "right", fine, 409, "has an administrator"),
        (made(FirstAdminOutcome::SeatsTaken), "right", fine, 403, "no seat left"),
        (licensed(Admins::There), "right", fine, 409, "there is an administrator"),
    ] {
        let page = appointed(console, token, password).await;

        assert_eq!(page.status, status, "{}", page.text);
        let form = page.has("<form");
        assert!(page.has("role=\"alert\"") == form && page.has(why), "{}", page.text);
        assert!(!page.has("passphrase") && !page.has("value=\"right\""), "{}", page.text);
        assert_eq!(page.has("value=\"root@example.org\""), form, "{}", page.text);
    }
}

#[actix_web::test]
async fn without_a_licence_in_force_no_administrator_is_made() {
    for standing in [SetupState::NoLicence, SetupState::Ended(END)] {
        let (_, console) = services(standing, Admins::Made(FirstAdminOutcome::Stored), None);

        let page = appointed(console, "right", "a+perfectly+fine+passphrase").await;

        assert_eq!(page.status, 409, "{}", page.text);
        assert!(page.has("<label for=\"license\">"), "{}", page.text);
    }
}

#[test]
fn every_route_but_the_last_step_can_be_reached_without_a_licence_and_reads_no_more_than_it_must() {
    use pia_web::{Budget, Licensing, RateLimit};

    let setup = crate::routes().into_iter().filter(|it| it.path.starts_with("/admin/"));
    for route in setup {
        let expected = match route.path {
            "/admin/setup/administrator" => Licensing::InForce,
            _ => Licensing::NotNeeded,
        };
        assert_eq!(route.licensing, expected, "{}", route.path);
        assert!(route.body_limit <= 128 * 1024, "{}", route.path);
        if route.body_limit > 0 {
            // Whoever guesses at the token is slowed down.
            assert_eq!(route.charge, RateLimit::AtGate(Budget::Auth), "{}", route.path);
        }
    }
}
