//! Tests of the page that verifies an address.

use super::*;
use crate::testing::{Accounts, RenderedPage, account_pages, get_request};

const USER: &str = "01935a3c-0000-7000-8000-000000000001";
const URI: &str = "/auth/verify-email.html";

async fn page(query: &str) -> RenderedPage {
    RenderedPage::from_response(show(get_request(&format!("{URI}{query}"))).await).await
}

async fn submit(accounts: &Arc<Accounts>, form: String) -> RenderedPage {
    let account_pages = account_pages(Arc::clone(accounts));
    let request = crate::testing::form_request(URI);
    RenderedPage::from_response(
        handle_submission(&account_pages, &request, Ok(Bytes::from(form))).await,
    )
    .await
}

#[actix_web::test]
async fn opening_the_link_renders_a_button_and_redeems_nothing() {
    let rendered = page(&format!("?userId={USER}&token=the-token")).await;

    assert_eq!(rendered.status, 200);
    assert!(rendered.has(&format!("name=\"userId\" value=\"{USER}\"")));
    assert!(rendered.has("name=\"token\" value=\"the-token\""));
    assert!(rendered.has("<button type=\"submit\">Confirm address</button>"));
}

#[actix_web::test]
async fn an_incomplete_link_has_no_button() {
    let query_for = |user: &str| format!("?userId={user}&token=x");

    for query in [
        "",
        "?token=x",
        &query_for(""),
        &query_for("5"),
        &query_for("%00"),
        &format!("?userId={USER}"),
    ] {
        let rendered = page(query).await;

        assert!(rendered.status == 400 && !rendered.has("<form"), "{query}");
    }
}

#[actix_web::test]
async fn the_button_confirms_the_address() {
    let accounts = Arc::new(Accounts::default());

    let rendered = submit(&accounts, format!("userId={USER}&token=the-token")).await;

    assert_eq!(accounts.requests(), [format!("verify {USER} the-token")]);
    assert_eq!(rendered.status, 303);
    assert_eq!(rendered.location(), "verify-email.html?done=confirmed");
    let done = page("?done=confirmed").await;
    assert!(done.status == 200 && done.has("Email address confirmed"));
}

#[actix_web::test]
async fn a_spent_link_offers_another() {
    let accounts =
        Arc::new(Accounts { verified: VerificationResult::InvalidLink, ..Accounts::default() });

    let rendered = submit(&accounts, format!("userId={USER}&token=the-token")).await;

    assert!(rendered.status == 400 && rendered.has("has expired") && !rendered.has("the-token"));
    assert!(rendered.targets().contains(&"resend-verification.html"));
}

#[actix_web::test]
async fn an_incomplete_form_verifies_nothing() {
    for form in [
        String::new(),
        "token=x".to_owned(),
        format!("userId={USER}"),
        "userId=5&token=x".to_owned(),
    ] {
        let accounts = Arc::new(Accounts::default());

        let rendered = submit(&accounts, form.clone()).await;

        assert_eq!(rendered.status, 400, "{form}");
        assert!(accounts.requests().is_empty(), "{form}");
    }
}
