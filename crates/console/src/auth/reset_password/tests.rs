//! Tests of the page that resets a password.

use pia_identity::Violation;

use super::*;
use crate::testing::{Accounts, RenderedPage, get_request};

const LINK: &str = "/auth/reset-password.html?email=ada%2B1%40example.org&token=the%26token";
const FORM: &str = "email=ada%2B1%40example.org&token=the%26token&password=the+new+words";

fn account_pages() -> AccountPages {
    crate::testing::account_pages(Arc::new(Accounts::default()))
}

async fn page(uri: &str) -> RenderedPage {
    RenderedPage::from_response(show(Data::new(account_pages()), get_request(uri)).await).await
}

async fn submit(accounts: &Arc<Accounts>, form: &'static str) -> RenderedPage {
    let account_pages = crate::testing::account_pages(Arc::clone(accounts));
    let request = crate::testing::form_request("/auth/reset-password.html");
    let body = form.as_bytes();
    RenderedPage::from_response(
        handle_submission(
            &account_pages,
            &request,
            SignInDevice::default(),
            Ok(Bytes::from_static(body)),
        )
        .await,
    )
    .await
}

async fn render(reset: PasswordResetResult) -> RenderedPage {
    submit(&Arc::new(Accounts { reset, ..Accounts::default() }), FORM).await
}

#[actix_web::test]
async fn the_form_contains_the_values_of_the_link() {
    let rendered = page(LINK).await;

    assert_eq!(rendered.status, 200);
    assert!(rendered.has("<input type=\"hidden\" name=\"token\" value=\"the&#38;token\">"));
    assert!(
        rendered.has("value=\"ada+1@example.org\" autocomplete=\"username\""),
        "{}",
        rendered.text
    );
    assert!(
        rendered.has("autocomplete=\"new-password\"") && rendered.has("At least 8 characters.")
    );
    // The token is in the form and not in its target URL.
    assert!(rendered.has("action=\"reset-password.html\""));
}

#[actix_web::test]
async fn an_incomplete_link_has_no_form() {
    for query in
        ["", "?email=ada%40example.org", "?token=x", "?email=&token=x", "?email=a&email=b&token=x"]
    {
        let rendered = page(&format!("/auth/reset-password.html{query}")).await;

        assert!(
            rendered.status == 400 && rendered.has("incomplete") && !rendered.has("<form"),
            "{query}"
        );
    }
}

#[actix_web::test]
async fn the_new_password_reaches_the_service() {
    let accounts = Arc::new(Accounts::default());

    let rendered = submit(&accounts, FORM).await;

    assert_eq!(accounts.requests(), ["reset ada+1@example.org the&token the new words"]);
    assert_eq!(rendered.status, 303);
    assert_eq!(rendered.location(), "reset-password.html?done=changed");
    let done = page(&format!("/auth/{}", rendered.location())).await;
    assert!(done.status == 200 && done.has("Password changed"));
}

#[actix_web::test]
async fn a_spent_link_offers_a_new_one() {
    let rendered = render(PasswordResetResult::InvalidLink).await;

    assert_eq!(rendered.status, 400);
    assert!(rendered.has("has expired") && rendered.targets().contains(&"forgot-password.html"));
    assert!(!rendered.has("the&#38;token") && !rendered.has("<form"));
}

#[actix_web::test]
async fn a_weak_password_can_be_corrected() {
    for field in ["password", "newPassword"] {
        let weak = Violation { field, code: "common", message: String::new() };

        let rendered = render(PasswordResetResult::InvalidPassword(vec![weak])).await;

        assert_eq!(rendered.status, 400);
        assert!(rendered.has("<a href=\"#password\">This password is easy to guess"), "{field}");
        assert!(rendered.has("value=\"the&#38;token\"") && !rendered.has("the new words"));
    }
}

#[actix_web::test]
async fn an_incomplete_form_is_rejected() {
    for form in ["", "email=a&token=b", "email=a&password=b", "token=a&password=b"] {
        let accounts = Arc::new(Accounts::default());

        let rendered = submit(&accounts, form).await;

        assert_eq!(rendered.status, 400, "{form}");
        assert!(accounts.requests().is_empty(), "{form}");
    }
}
