//! Tests of what all of these pages have in common.

use std::sync::Arc;

use actix_web::App;
use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::web::Data;
use pia_kernel::Language;
use pia_web::RouteTable;

use crate::testing::{Accounts, RenderedPage, account_pages};

const PAGES: [&str; 6] = [
    "/auth/register.html?invitation=code",
    "/auth/forgot-password.html",
    "/auth/resend-verification.html",
    "/auth/reset-password.html?email=ada%40example.org&token=the-token",
    "/auth/verify-email.html?userId=01935a3c-0000-7000-8000-000000000001&token=the-token",
    "/auth/error?reason=access_denied",
];

/// Sends a request through the routes, without gates before them.
async fn render(accounts: &Arc<Accounts>, request: TestRequest) -> RenderedPage {
    let table = RouteTable::new(crate::routes());
    let app = App::new()
        .app_data(Data::new(account_pages(Arc::clone(accounts))))
        .configure(|config| table.register(config));
    let answer = call_service(&init_service(app).await, request.to_request()).await;
    RenderedPage::from_response(answer.into_parts().1.map_into_boxed_body()).await
}

async fn opened(uri: &str, languages: &str) -> RenderedPage {
    let request = TestRequest::get().uri(uri).insert_header(("accept-language", languages));
    render(&Arc::default(), request).await
}

fn with_lang(uri: &str, lang: &str) -> String {
    format!("{uri}{}lang={lang}", if uri.contains('?') { '&' } else { '?' })
}

#[actix_web::test]
async fn each_page_is_in_the_language_that_is_wanted() {
    for page in PAGES {
        for (uri, accepted, tag, other) in [
            (page.to_owned(), "", "en", "Deutsch"),
            (page.to_owned(), "de-AT,en;q=0.5", "de", "English"),
            (page.to_owned(), "fr", "en", "Deutsch"),
            (with_lang(page, "de"), "en", "de", "English"),
            (with_lang(page, "en"), "de", "en", "Deutsch"),
            (with_lang(page, "fr"), "de", "de", "English"),
        ] {
            let presented = opened(&uri, accepted).await;

            assert_eq!(presented.status, 200, "{uri}");
            assert!(presented.has(&format!("<html lang=\"{tag}\">")), "{uri} {accepted}");
            let is_switch = |end| presented.has(&format!(">{other}</{end}>"));
            assert!(is_switch("a") || is_switch("button"), "{uri} {accepted}");
        }
    }
}

#[actix_web::test]
async fn a_language_that_was_chosen_goes_along() {
    for page in PAGES {
        let presented = opened(&with_lang(page, "de"), "en").await;

        let pages = presented.targets().into_iter().filter(|it| it.contains(".html"));
        for target in pages.filter(|it| !it.ends_with("?lang=en")) {
            assert!(target.ends_with("?lang=de"), "{page}: {target}");
        }
    }
}

#[actix_web::test]
async fn switching_the_language_keeps_what_the_address_or_the_form_holds() {
    for page in PAGES {
        let presented = opened(page, "en").await;

        let switch = presented.targets().into_iter().find(|it| it.contains("lang=de")).unwrap();
        if presented.has("<form") {
            let (path, _) = page.split_once('?').unwrap_or((page, ""));
            assert_eq!(format!("/auth/{switch}"), format!("{path}?lang=de"));
            assert!(presented.has("form=\"form\"") && presented.has("name=\"switch\""), "{page}");
        } else {
            let stored = page.split_once('?').map_or("", |it| it.1).replace('&', "&#38;");
            assert_eq!(switch.trim_start_matches("?lang=de").trim_start_matches("&#38;"), stored);
        }
    }
}

#[actix_web::test]
async fn the_first_button_of_a_page_sends_its_form() {
    for page in PAGES {
        let presented = opened(page, "en").await;

        // Browsers press it where somebody types Enter.
        let first = presented.text.split("<button").nth(1).unwrap_or(" type=\"submit\"");
        assert!(first.starts_with(" type=\"submit\""), "{page}");
    }
}

#[actix_web::test]
async fn each_page_loads_nothing_but_its_style_and_reports_no_other_site_its_address() {
    for page in PAGES {
        let presented = opened(page, "en").await;

        let policy = presented.header("content-security-policy");
        let loads = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'";
        assert!(policy.starts_with(loads), "{policy}");
        assert_eq!(presented.header("referrer-policy"), "same-origin");
        assert_eq!(presented.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(presented.header("cache-control"), "no-store");
        assert!(
            !presented.has("<script") && !presented.has("style=") && !presented.has("://"),
            "{page}"
        );
        for target in presented.targets() {
            let ours = ["style.css", "icon.svg", "?", "register.html", "forgot-password.html"];
            let pages = ["reset-password.html", "verify-email.html", "resend-verification.html"];
            let ours = ours.iter().chain(&pages);
            assert!(ours.into_iter().any(|it| target.starts_with(it)), "{page}: {target}");
        }
    }
}

#[actix_web::test]
async fn an_address_that_makes_no_sense_is_reported_as_such_by_a_page() {
    let long = format!("reason={}", "x".repeat(5000));

    for page in [
        "register.html",
        "forgot-password.html",
        "resend-verification.html",
        "reset-password.html",
        "verify-email.html",
        "error",
    ] {
        for query in ["lang=de&lang=de", "token=%00", "email=%ff", "token=a%0Ab", &long] {
            let presented = opened(&format!("/auth/{page}?{query}"), "en").await;

            assert_eq!(presented.status, 400, "{page}?{query}");
            assert!(presented.has("This link is not whole"), "{page}?{query}");
        }
    }
}

/// A body that is empty; each form finds in it what it lacks.
fn posted(page: &str) -> TestRequest {
    let kind = ("content-type", "application/x-www-form-urlencoded");
    TestRequest::post().uri(&format!("/auth/{page}")).insert_header(kind)
}

const FORMS: [&str; 5] = [
    "register.html",
    "forgot-password.html",
    "resend-verification.html",
    "reset-password.html",
    "verify-email.html",
];

#[actix_web::test]
async fn a_form_of_another_site_does_nothing() {
    for page in FORMS {
        for header in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
            let accounts = Arc::new(Accounts::default());

            let presented = render(&accounts, posted(page).insert_header(header)).await;

            assert_eq!((presented.status, accounts.requests().len()), (403, 0), "{page}");
            assert!(presented.has("This form came from elsewhere"), "{page}");
        }
    }
}

#[actix_web::test]
async fn what_is_no_form_is_answered_by_a_page() {
    for page in FORMS {
        for kind in ["application/json", "text/plain", "multipart/form-data; boundary=x", ""] {
            let request = posted(page).insert_header(("content-type", kind));

            let presented = render(&Arc::default(), request).await;

            assert_eq!(presented.status, 415, "{page} {kind}");
            assert!(presented.has("The form was not understood"), "{page}");
        }
    }
}

#[actix_web::test]
async fn a_body_that_could_not_be_read_is_answered_by_a_page() {
    for page in FORMS {
        // Where no gate has said how long it may be, it may not be at all.
        let presented = render(&Arc::default(), posted(page).set_payload("email=a")).await;

        assert_eq!(presented.status, 413, "{page}");
        assert!(presented.has("That was too much"), "{page}");
    }
}

#[actix_web::test]
async fn a_server_that_is_away_states_so_and_no_more() {
    let accounts = Arc::new(Accounts { is_away: true, ..Accounts::default() });

    let presented = render(&accounts, posted("register.html?lang=de")).await;

    assert_eq!((presented.status, presented.header("retry-after")), (503, "1"));
    assert!(
        presented.has("Der Server antwortet nicht") && !presented.has("db.secret"),
        "{}",
        presented.text
    );
}

#[actix_web::test]
async fn letters_go_out_in_the_language_of_the_page() {
    let accounts = Arc::new(Accounts::default());
    let request = posted("register.html?lang=de").insert_header(("accept-language", "en"));

    let presented = render(&accounts, request).await;

    assert_eq!(presented.status, StatusCode::SEE_OTHER);
    assert_eq!(*accounts.language.lock().unwrap(), Some(Language::De));
}
