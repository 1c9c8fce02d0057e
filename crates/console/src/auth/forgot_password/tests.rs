//! The page to ask for a link.

use super::*;
use crate::testing::{Accounts, Shown, opened, reception};

const URI: &str = "/auth/forgot-password.html";

async fn filled_in(accounts: &Arc<Accounts>, form: &'static str) -> Shown {
    let (reception, body) = (reception(Arc::clone(accounts)), Bytes::from_static(form.as_bytes()));
    Shown::of(answer(&reception, &crate::testing::sent(URI), Ok(body)).await).await
}

#[actix_web::test]
async fn the_form_asks_for_an_address() {
    let shown = Shown::of(show(opened(URI)).await).await;

    assert!(shown.has("action=\"forgot-password.html\"") && shown.has("name=\"email\""));
}

#[actix_web::test]
async fn a_link_is_asked_for() {
    let accounts = Arc::new(Accounts::default());

    let shown = filled_in(&accounts, "email=ada%40example.org").await;

    assert_eq!((shown.status, accounts.asked()), (200, vec!["mail ada@example.org".to_owned()]));
    assert!(shown.has("If there is an account with this address"));
    assert!(!shown.has("ada@"), "{}", shown.text);
}

#[actix_web::test]
async fn a_server_without_mail_says_so() {
    let accounts = Arc::new(Accounts { asked_for: LinkAsked::NoMail, ..Accounts::default() });

    let shown = filled_in(&accounts, "email=ada%40example.org").await;

    assert!(shown.status == 400 && shown.has("This server sends no mail"), "{}", shown.text);
}

#[actix_web::test]
async fn what_cannot_be_an_address_is_not_asked_for() {
    for form in ["", "email=", "email=+", "email=ada", "email=ada%40example.org%0D%0ABcc%3Ax"] {
        let accounts = Arc::new(Accounts::default());

        let shown = filled_in(&accounts, form).await;

        assert_eq!((shown.status, accounts.asked().len()), (400, 0), "{form}");
        assert!(shown.has("id=\"email-fault\""), "{form}");
    }
}
