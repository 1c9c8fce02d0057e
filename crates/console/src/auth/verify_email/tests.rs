//! The page that confirms an address.

use super::*;
use crate::testing::{Accounts, RenderedPage, account_pages, opened};

const USER: &str = "01935a3c-0000-7000-8000-000000000001";
const URI: &str = "/auth/verify-email.html";

async fn page(query: &str) -> RenderedPage {
    RenderedPage::from_response(show(opened(&format!("{URI}{query}"))).await).await
}

async fn pressed(accounts: &Arc<Accounts>, form: String) -> RenderedPage {
    let account_pages = account_pages(Arc::clone(accounts));
    let request = crate::testing::sent(URI);
    RenderedPage::from_response(answer(&account_pages, &request, Ok(Bytes::from(form))).await).await
}

#[actix_web::test]
async fn opening_the_link_shows_a_button_and_spends_nothing() {
    let presented = page(&format!("?userId={USER}&token=the-token")).await;

    assert_eq!(presented.status, 200);
    assert!(presented.has(&format!("name=\"userId\" value=\"{USER}\"")));
    assert!(presented.has("name=\"token\" value=\"the-token\""));
    assert!(presented.has("<button type=\"submit\">Confirm</button>"));
}

#[actix_web::test]
async fn a_link_that_lacks_a_part_shows_no_button() {
    let of = |user: &str| format!("?userId={user}&token=x");

    for query in ["", "?token=x", &of(""), &of("5"), &of("%00"), &format!("?userId={USER}")] {
        let presented = page(query).await;

        assert!(presented.status == 400 && !presented.has("<form"), "{query}");
    }
}

#[actix_web::test]
async fn the_button_confirms_the_address() {
    let accounts = Arc::new(Accounts::default());

    let presented = pressed(&accounts, format!("userId={USER}&token=the-token")).await;

    assert_eq!(accounts.requests(), [format!("verify {USER} the-token")]);
    assert_eq!((presented.status, presented.location()), (303, "verify-email.html?done=confirmed"));
    let done = page("?done=confirmed").await;
    assert!(done.status == 200 && done.has("E-mail address confirmed"));
}

#[actix_web::test]
async fn a_spent_link_offers_another() {
    let accounts =
        Arc::new(Accounts { verified: VerificationResult::Invalid, ..Accounts::default() });

    let presented = pressed(&accounts, format!("userId={USER}&token=the-token")).await;

    assert!(presented.status == 400 && presented.has("has expired") && !presented.has("the-token"));
    assert!(presented.targets().contains(&"resend-verification.html"));
}

#[actix_web::test]
async fn a_form_that_lacks_a_part_confirms_nothing() {
    for form in [
        String::new(),
        "token=x".to_owned(),
        format!("userId={USER}"),
        "userId=5&token=x".to_owned(),
    ] {
        let accounts = Arc::new(Accounts::default());

        let presented = pressed(&accounts, form.clone()).await;

        assert_eq!((presented.status, accounts.requests().len()), (400, 0), "{form}");
    }
}
