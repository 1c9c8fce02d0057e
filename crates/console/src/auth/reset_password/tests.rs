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
    let shown = page(LINK).await;

    assert_eq!(shown.status, 200);
    assert!(shown.has("<input type=\"hidden\" name=\"token\" value=\"the&#38;token\">"));
    assert!(shown.has("value=\"ada+1@example.org\" autocomplete=\"username\""), "{}", shown.text);
    assert!(shown.has("autocomplete=\"new-password\"") && shown.has("At least 8 characters."));
    // The token is in the form, not in the address that it is sent to.
    assert!(shown.has("action=\"reset-password.html\""));
}

#[actix_web::test]
async fn a_link_that_lacks_a_part_shows_no_form() {
    for query in
        ["", "?email=ada%40example.org", "?token=x", "?email=&token=x", "?email=a&email=b&token=x"]
    {
        let shown = page(&format!("/auth/reset-password.html{query}")).await;

        assert!(shown.status == 400 && shown.has("not whole") && !shown.has("<form"), "{query}");
    }
}

#[actix_web::test]
async fn the_new_password_reaches_the_desk() {
    let accounts = Arc::new(Accounts::default());

    let shown = filled_in(&accounts, FORM).await;

    assert_eq!(accounts.requests(), ["reset ada+1@example.org the&token the new words"]);
    assert_eq!((shown.status, shown.location()), (303, "reset-password.html?done=changed"));
    let done = page(&format!("/auth/{}", shown.location())).await;
    assert!(done.status == 200 && done.has("Password changed"));
}

#[actix_web::test]
async fn a_link_that_is_spent_leads_to_a_new_one() {
    let shown = render(PasswordResetResult::Invalid).await;

    assert_eq!(shown.status, 400);
    assert!(shown.has("has expired") && shown.targets().contains(&"forgot-password.html"));
    assert!(!shown.has("the&#38;token") && !shown.has("<form"));
}

#[actix_web::test]
async fn a_weak_password_can_be_mended() {
    for field in ["password", "newPassword"] {
        let weak = Violation { field, code: "common", message: String::new() };

        let shown = render(PasswordResetResult::Refused(vec![weak])).await;

        assert_eq!(shown.status, 400);
        assert!(shown.has("<a href=\"#password\">This password is among the first"), "{field}");
        assert!(shown.has("value=\"the&#38;token\"") && !shown.has("the new words"));
    }
}

#[actix_web::test]
async fn a_form_that_lacks_a_part_is_not_asked_for() {
    for form in ["", "email=a&token=b", "email=a&password=b", "token=a&password=b"] {
        let accounts = Arc::new(Accounts::default());

        let shown = filled_in(&accounts, form).await;

        assert_eq!((shown.status, accounts.requests().len()), (400, 0), "{form}");
    }
}
