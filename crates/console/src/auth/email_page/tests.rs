//! Tests of the pages that request an email.

use super::*;
use crate::testing::{Accounts, RenderedPage, account_pages, get_request};

const PAGES: [&EmailPage; 2] = [&FORGOT_PASSWORD, &RESEND_VERIFICATION];

fn uri(page: &EmailPage) -> String {
    format!("/auth/{}", page.page)
}

async fn submit(page: &EmailPage, accounts: &Arc<Accounts>, form: &'static str) -> RenderedPage {
    let account_pages = account_pages(Arc::clone(accounts));
    let body = Bytes::from_static(form.as_bytes());
    let request = crate::testing::form_request(&uri(page));
    RenderedPage::from_response(page.handle_submission(&account_pages, &request, Ok(body)).await)
        .await
}

#[actix_web::test]
async fn the_form_has_an_address_field() {
    for page in PAGES {
        let rendered = RenderedPage::from_response(page.show(&get_request(&uri(page)))).await;

        assert!(
            rendered.has(&format!("action=\"{}\"", page.page)) && rendered.has("name=\"email\"")
        );
    }
}

#[actix_web::test]
async fn submitting_the_form_requests_an_email() {
    for (page, kind) in PAGES.into_iter().zip(["PasswordReset", "Verification"]) {
        let accounts = Arc::new(Accounts::default());

        let response = submit(page, &accounts, "email=ada%40example.org").await;
        let result_uri = format!("/auth/{}", response.location());
        let rendered = RenderedPage::from_response(page.show(&get_request(&result_uri))).await;

        assert_eq!(accounts.requests(), [format!("mail {kind} to ada@example.org")]);
        assert_eq!(response.status, 303);
        assert_eq!(rendered.status, 200);
        assert_eq!(response.location(), format!("{}?done=mailed", page.page));
        assert!(rendered.has("If there is an account with this address"));
        assert!(!rendered.has("ada@") && !rendered.has("<form"), "{}", rendered.text);
    }
}

#[actix_web::test]
async fn the_entered_address_survives_a_change_of_language() {
    let accounts = Arc::new(Accounts::default());

    let form = "email=ada%40example.org&switch=language";
    let rendered = submit(&FORGOT_PASSWORD, &accounts, form).await;

    assert_eq!(rendered.status, 200);
    assert!(accounts.requests().is_empty());
    assert!(rendered.has("value=\"ada@example.org\"") && !rendered.has("role=\"alert\""));
}

#[actix_web::test]
async fn a_server_without_email_reports_it() {
    let accounts = Arc::new(Accounts {
        email_request: EmailRequestResult::NotConfigured,
        ..Accounts::default()
    });

    let rendered = submit(&FORGOT_PASSWORD, &accounts, "email=ada%40example.org").await;

    assert!(
        rendered.status == 400 && rendered.has("This server does not send emails"),
        "{}",
        rendered.text
    );
}

#[actix_web::test]
async fn invalid_addresses_are_rejected() {
    for form in ["", "email=", "email=+", "email=ada", "email=ada%40example.org%0D%0ABcc%3Ax"] {
        let accounts = Arc::new(Accounts::default());

        let rendered = submit(&FORGOT_PASSWORD, &accounts, form).await;

        assert_eq!(rendered.status, 400, "{form}");
        assert!(accounts.requests().is_empty(), "{form}");
        assert!(rendered.has("id=\"email-fault\""), "{form}");
    }
}
