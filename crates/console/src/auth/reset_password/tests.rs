//! The page that a mailed link leads to.

use pia_identity::Violation;

use super::*;
use crate::testing::{Accounts, RenderedPage, opened};

const LINK: &str = "/auth/reset-password.html?email=ada%2B1%40example.org&token=the%26token";
const FORM: &str = "email=ada%2B1%40example.org&token=the%26token&password=the+new+words";

fn account_pages() -> AccountPages {
    crate::testing::account_pages(Arc::new(Accounts::default()))
}

async fn page(uri: &str) -> RenderedPage {
    RenderedPage::from_response(show(Data::new(account_pages()), opened(uri)).await).await
}

async fn filled_in(accounts: &Arc<Accounts>, form: &'static str) -> RenderedPage {
    let account_pages = crate::testing::account_pages(Arc::clone(accounts));
    let (request, body) = (crate::testing::sent("/auth/reset-password.html"), form.as_bytes());
    RenderedPage::from_response(
        answer(&account_pages, (&request, SignInDevice::default()), Ok(Bytes::from_static(body)))
            .await,
    )
    .await
}

async fn render(reset: PasswordResetResult) -> RenderedPage {
    filled_in(&Arc::new(Accounts { reset, ..Accounts::default() }), FORM).await
}

#[actix_web::test]
async fn the_link_fills_the_form_in() {
    let presented = page(LINK).await;

    assert_eq!(presented.status, 200);
    assert!(presented.has("<input type=\"hidden\" name=\"token\" value=\"the&#38;token\">"));
    assert!(
        presented.has("value=\"ada+1@example.org\" autocomplete=\"username\""),
        "{}",
        presented.text
    );
    assert!(
        presented.has("autocomplete=\"new-password\"") && presented.has("At least 8 characters.")
    );
    // The token is in the form, not in the address that it is sent to.
    assert!(presented.has("action=\"reset-password.html\""));
}

#[actix_web::test]
async fn a_link_that_lacks_a_part_shows_no_form() {
    for query in
        ["", "?email=ada%40example.org", "?token=x", "?email=&token=x", "?email=a&email=b&token=x"]
    {
        let presented = page(&format!("/auth/reset-password.html{query}")).await;

        assert!(
            presented.status == 400 && presented.has("not whole") && !presented.has("<form"),
            "{query}"
        );
    }
}

#[actix_web::test]
async fn the_new_password_reaches_the_desk() {
    let accounts = Arc::new(Accounts::default());

    let presented = filled_in(&accounts, FORM).await;

    assert_eq!(accounts.requests(), ["reset ada+1@example.org the&token the new words"]);
    assert_eq!((presented.status, presented.location()), (303, "reset-password.html?done=changed"));
    let done = page(&format!("/auth/{}", presented.location())).await;
    assert!(done.status == 200 && done.has("Password changed"));
}

#[actix_web::test]
async fn a_link_that_is_spent_leads_to_a_new_one() {
    let presented = render(PasswordResetResult::Invalid).await;

    assert_eq!(presented.status, 400);
    assert!(presented.has("has expired") && presented.targets().contains(&"forgot-password.html"));
    assert!(!presented.has("the&#38;token") && !presented.has("<form"));
}

#[actix_web::test]
async fn a_weak_password_can_be_mended() {
    for field in ["password", "newPassword"] {
        let weak = Violation { field, code: "common", message: String::new() };

        let presented = render(PasswordResetResult::Refused(vec![weak])).await;

        assert_eq!(presented.status, 400);
        assert!(presented.has("<a href=\"#password\">This password is among the first"), "{field}");
        assert!(presented.has("value=\"the&#38;token\"") && !presented.has("the new words"));
    }
}

#[actix_web::test]
async fn a_form_that_lacks_a_part_is_not_requested() {
    for form in ["", "email=a&token=b", "email=a&password=b", "token=a&password=b"] {
        let accounts = Arc::new(Accounts::default());

        let presented = filled_in(&accounts, form).await;

        assert_eq!((presented.status, accounts.requests().len()), (400, 0), "{form}");
    }
}
