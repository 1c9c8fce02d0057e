//! The pages to ask for a link.

use super::*;
use crate::testing::{Accounts, RenderedPage, account_pages, opened};

const PAGES: [&EmailPage; 2] = [&FORGOT_PASSWORD, &RESEND_VERIFICATION];

fn uri(page: &EmailPage) -> String {
    format!("/auth/{}", page.page)
}

async fn filled_in(page: &EmailPage, accounts: &Arc<Accounts>, form: &'static str) -> RenderedPage {
    let (account_pages, body) =
        (account_pages(Arc::clone(accounts)), Bytes::from_static(form.as_bytes()));
    let request = crate::testing::sent(&uri(page));
    RenderedPage::from_response(page.answer(&account_pages, &request, Ok(body)).await).await
}

#[actix_web::test]
async fn the_form_requests_an_address() {
    for page in PAGES {
        let presented = RenderedPage::from_response(page.show(&opened(&uri(page)))).await;

        assert!(
            presented.has(&format!("action=\"{}\"", page.page)) && presented.has("name=\"email\"")
        );
    }
}

#[actix_web::test]
async fn a_link_is_called_for() {
    for (page, letter) in PAGES.into_iter().zip(["PasswordReset", "Verification"]) {
        let accounts = Arc::new(Accounts::default());

        let sent = filled_in(page, &accounts, "email=ada%40example.org").await;
        let presented =
            RenderedPage::from_response(page.show(&opened(&format!("/auth/{}", sent.location()))))
                .await;

        assert_eq!(accounts.requests(), [format!("mail {letter} to ada@example.org")]);
        assert_eq!((sent.status, presented.status), (303, 200));
        assert_eq!(sent.location(), format!("{}?done=mailed", page.page));
        assert!(presented.has("If there is an account with this address"));
        assert!(!presented.has("ada@") && !presented.has("<form"), "{}", presented.text);
    }
}

#[actix_web::test]
async fn an_address_that_was_typed_survives_another_language() {
    let accounts = Arc::new(Accounts::default());

    let form = "email=ada%40example.org&switch=language";
    let presented = filled_in(&FORGOT_PASSWORD, &accounts, form).await;

    assert_eq!((presented.status, accounts.requests().len()), (200, 0));
    assert!(presented.has("value=\"ada@example.org\"") && !presented.has("role=\"alert\""));
}

#[actix_web::test]
async fn a_server_without_mail_states_so() {
    let accounts =
        Arc::new(Accounts { requested_links: EmailRequestResult::NoMail, ..Accounts::default() });

    let presented = filled_in(&FORGOT_PASSWORD, &accounts, "email=ada%40example.org").await;

    assert!(
        presented.status == 400 && presented.has("This server sends no mail"),
        "{}",
        presented.text
    );
}

#[actix_web::test]
async fn what_cannot_be_an_address_is_not_requested() {
    for form in ["", "email=", "email=+", "email=ada", "email=ada%40example.org%0D%0ABcc%3Ax"] {
        let accounts = Arc::new(Accounts::default());

        let presented = filled_in(&FORGOT_PASSWORD, &accounts, form).await;

        assert_eq!((presented.status, accounts.requests().len()), (400, 0), "{form}");
        assert!(presented.has("id=\"email-fault\""), "{form}");
    }
}
