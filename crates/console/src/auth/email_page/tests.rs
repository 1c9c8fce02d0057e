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
async fn the_form_asks_for_an_address() {
    for page in PAGES {
        let shown = RenderedPage::from_response(page.show(&opened(&uri(page)))).await;

        assert!(shown.has(&format!("action=\"{}\"", page.page)) && shown.has("name=\"email\""));
    }
}

#[actix_web::test]
async fn a_link_is_asked_for() {
    for (page, letter) in PAGES.into_iter().zip(["PasswordReset", "Verification"]) {
        let accounts = Arc::new(Accounts::default());

        let sent = filled_in(page, &accounts, "email=ada%40example.org").await;
        let shown =
            RenderedPage::from_response(page.show(&opened(&format!("/auth/{}", sent.location()))))
                .await;

        assert_eq!(accounts.requests(), [format!("mail {letter} to ada@example.org")]);
        assert_eq!((sent.status, shown.status), (303, 200));
        assert_eq!(sent.location(), format!("{}?done=mailed", page.page));
        assert!(shown.has("If there is an account with this address"));
        assert!(!shown.has("ada@") && !shown.has("<form"), "{}", shown.text);
    }
}

#[actix_web::test]
async fn an_address_that_was_typed_survives_another_language() {
    let accounts = Arc::new(Accounts::default());

    let form = "email=ada%40example.org&switch=language";
    let shown = filled_in(&FORGOT_PASSWORD, &accounts, form).await;

    assert_eq!((shown.status, accounts.requests().len()), (200, 0));
    assert!(shown.has("value=\"ada@example.org\"") && !shown.has("role=\"alert\""));
}

#[actix_web::test]
async fn a_server_without_mail_says_so() {
    let accounts =
        Arc::new(Accounts { asked_for: EmailRequestResult::NoMail, ..Accounts::default() });

    let shown = filled_in(&FORGOT_PASSWORD, &accounts, "email=ada%40example.org").await;

    assert!(shown.status == 400 && shown.has("This server sends no mail"), "{}", shown.text);
}

#[actix_web::test]
async fn what_cannot_be_an_address_is_not_asked_for() {
    for form in ["", "email=", "email=+", "email=ada", "email=ada%40example.org%0D%0ABcc%3Ax"] {
        let accounts = Arc::new(Accounts::default());

        let shown = filled_in(&FORGOT_PASSWORD, &accounts, form).await;

        assert_eq!((shown.status, accounts.requests().len()), (400, 0), "{form}");
        assert!(shown.has("id=\"email-fault\""), "{form}");
    }
}
