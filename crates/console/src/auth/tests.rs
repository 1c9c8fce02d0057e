//! Tests of the behaviour that all pages share.

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

/// Beginnings of the links, forms and files of a page.
const OWN_TARGETS: [&str; 8] = [
    "style.css",
    "icon.svg",
    "?",
    "register.html",
    "forgot-password.html",
    "reset-password.html",
    "verify-email.html",
    "resend-verification.html",
];

/// Sends a request through the routes, without the gates.
async fn render(accounts: &Arc<Accounts>, request: TestRequest) -> RenderedPage {
    let table = RouteTable::new(crate::routes());
    let app = App::new()
        .app_data(Data::new(account_pages(Arc::clone(accounts))))
        .configure(|config| table.register(config));
    let response = call_service(&init_service(app).await, request.to_request()).await;
    RenderedPage::from_response(response.into_parts().1.map_into_boxed_body()).await
}

async fn open(uri: &str, languages: &str) -> RenderedPage {
    let request = TestRequest::get().uri(uri).insert_header(("accept-language", languages));
    render(&Arc::default(), request).await
}

fn with_lang(uri: &str, lang: &str) -> String {
    format!("{uri}{}lang={lang}", if uri.contains('?') { '&' } else { '?' })
}

#[actix_web::test]
async fn each_page_is_in_the_preferred_language() {
    for page in PAGES {
        for (uri, accepted, tag, other) in [
            (page.to_owned(), "", "en", "Deutsch"),
            (page.to_owned(), "de-AT,en;q=0.5", "de", "English"),
            (page.to_owned(), "fr", "en", "Deutsch"),
            (with_lang(page, "de"), "en", "de", "English"),
            (with_lang(page, "en"), "de", "en", "Deutsch"),
            (with_lang(page, "fr"), "de", "de", "English"),
        ] {
            let rendered = open(&uri, accepted).await;

            assert_eq!(rendered.status, 200, "{uri}");
            assert!(rendered.has(&format!("<html lang=\"{tag}\">")), "{uri} {accepted}");
            let is_switch = |end| rendered.has(&format!(">{other}</{end}>"));
            assert!(is_switch("a") || is_switch("button"), "{uri} {accepted}");
        }
    }
}

#[actix_web::test]
async fn a_language_chosen_before_takes_precedence_over_that_of_the_browser() {
    for page in PAGES {
        for (uri, tag) in [(page.to_owned(), "de"), (with_lang(page, "en"), "en")] {
            let request = TestRequest::get()
                .uri(&uri)
                .insert_header(("accept-language", "en"))
                .insert_header(("cookie", "theme=dark; pia_language=de"));
            let rendered = render(&Arc::default(), request).await;

            assert!(rendered.has(&format!("<html lang=\"{tag}\">")), "{uri}");
        }
    }
}

#[actix_web::test]
async fn a_chosen_language_is_preserved_by_links() {
    for page in PAGES {
        let rendered = open(&with_lang(page, "de"), "en").await;

        let pages = rendered.targets().into_iter().filter(|it| it.contains(".html"));
        for target in pages.filter(|it| !it.ends_with("?lang=en")) {
            assert!(target.ends_with("?lang=de"), "{page}: {target}");
        }
    }
}

#[actix_web::test]
async fn switching_the_language_preserves_the_query_and_the_form() {
    for page in PAGES {
        let rendered = open(page, "en").await;

        let switch = rendered.targets().into_iter().find(|it| it.contains("lang=de")).unwrap();
        if rendered.has("<form") {
            let (path, _) = page.split_once('?').unwrap_or((page, ""));
            assert_eq!(format!("/auth/{switch}"), format!("{path}?lang=de"));
            assert!(rendered.has("form=\"form\"") && rendered.has("name=\"switch\""), "{page}");
        } else {
            let expected = page.split_once('?').map_or("", |it| it.1).replace('&', "&#38;");
            assert_eq!(switch.trim_start_matches("?lang=de").trim_start_matches("&#38;"), expected);
        }
    }
}

#[actix_web::test]
async fn the_first_button_of_a_page_submits_its_form() {
    for page in PAGES {
        let rendered = open(page, "en").await;

        // Browsers use it when Enter is pressed.
        let first = rendered.text.split("<button").nth(1).unwrap_or(" type=\"submit\"");
        assert!(first.starts_with(" type=\"submit\""), "{page}");
    }
}

#[actix_web::test]
async fn each_page_loads_only_its_style_and_sends_no_referrer_to_other_sites() {
    for page in PAGES {
        let rendered = open(page, "en").await;

        let policy = rendered.header("content-security-policy");
        let loads = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'";
        assert!(policy.starts_with(loads), "{policy}");
        assert_eq!(rendered.header("referrer-policy"), "same-origin");
        assert_eq!(rendered.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(rendered.header("cache-control"), "no-store");
        assert!(
            !rendered.has("<script") && !rendered.has("style=") && !rendered.has("://"),
            "{page}"
        );
        for target in rendered.targets() {
            let is_own = OWN_TARGETS.iter().any(|it| target.starts_with(it));
            assert!(is_own, "{page}: {target}");
        }
    }
}

#[actix_web::test]
async fn an_invalid_query_is_reported_by_a_page() {
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
            let rendered = open(&format!("/auth/{page}?{query}"), "en").await;

            assert_eq!(rendered.status, 400, "{page}?{query}");
            assert!(rendered.has("This link is incomplete"), "{page}?{query}");
        }
    }
}

/// Returns a request without a body, in which every form lacks its fields.
fn post(page: &str) -> TestRequest {
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
async fn a_form_of_another_site_is_refused() {
    for page in FORMS {
        for header in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
            let accounts = Arc::new(Accounts::default());

            let rendered = render(&accounts, post(page).insert_header(header)).await;

            assert_eq!(rendered.status, 403, "{page}");
            assert!(accounts.requests().is_empty(), "{page}");
            assert!(rendered.has("This form was not accepted"), "{page}");
        }
    }
}

#[actix_web::test]
async fn another_media_type_is_reported_by_a_page() {
    for page in FORMS {
        for kind in ["application/json", "text/plain", "multipart/form-data; boundary=x", ""] {
            let request = post(page).insert_header(("content-type", kind));

            let rendered = render(&Arc::default(), request).await;

            assert_eq!(rendered.status, 415, "{page} {kind}");
            assert!(rendered.has("The form could not be read"), "{page}");
        }
    }
}

#[actix_web::test]
async fn an_unreadable_body_is_reported_by_a_page() {
    for page in FORMS {
        // Without a gate that sets a limit, no body is accepted.
        let rendered = render(&Arc::default(), post(page).set_payload("email=a")).await;

        assert_eq!(rendered.status, 413, "{page}");
        assert!(rendered.has("Too much text"), "{page}");
    }
}

#[actix_web::test]
async fn an_unavailable_server_reveals_no_details() {
    let accounts = Arc::new(Accounts { is_away: true, ..Accounts::default() });

    let rendered = render(&accounts, post("register.html?lang=de")).await;

    assert_eq!(rendered.status, 503);
    assert_eq!(rendered.header("retry-after"), "1");
    assert!(
        rendered.has("Vorübergehend nicht verfügbar") && !rendered.has("db.secret"),
        "{}",
        rendered.text
    );
}

#[actix_web::test]
async fn emails_are_sent_in_the_language_of_the_page() {
    let accounts = Arc::new(Accounts::default());
    let request = post("register.html?lang=de").insert_header(("accept-language", "en"));

    let rendered = render(&accounts, request).await;

    assert_eq!(rendered.status, StatusCode::SEE_OTHER);
    assert_eq!(*accounts.language.lock().unwrap(), Some(Language::De));
}
