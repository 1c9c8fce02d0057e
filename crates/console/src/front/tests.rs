//! Tests of the front page.

use std::sync::Arc;

use actix_web::test::TestRequest;
use pia_identity::RegistrationRules;
use pia_kernel::Timestamp;

use super::*;
use crate::setup::testing::{Admins, services};
use crate::testing::{Accounts, RenderedPage, account_pages};

async fn open(state: SetupState, rules: RegistrationRules, uri: &str) -> RenderedPage {
    let (_, console) = services(state, Admins::There, None);
    let account_pages = account_pages(Arc::new(Accounts { rules, ..Accounts::default() }));
    let request = TestRequest::get().uri(uri).insert_header(("accept", "text/html"));
    let page = show(Data::new(console), Data::new(account_pages), request.to_http_request());
    RenderedPage::from_response(page.await.unwrap()).await
}

#[actix_web::test]
async fn the_front_page_describes_the_server_and_links_its_pages() {
    let page = open(SetupState::Done, RegistrationRules::default(), "/?lang=de").await;

    assert!(page.has("<h1>Pia at Example</h1>") && page.has("Konto erstellen"), "{}", page.text);
    let targets = page.targets();
    for target in
        ["auth/register.html?lang=de", "auth/forgot-password.html?lang=de", "openapi/v1.json"]
    {
        assert!(targets.contains(&target), "{targets:?}");
    }
}

#[actix_web::test]
async fn only_available_pages_are_linked() {
    let closed =
        RegistrationRules { policy: RegistrationPolicy::Closed, ..RegistrationRules::default() };
    for (state, rules, offered) in [
        (SetupState::Done, closed, [false, true, false]),
        (
            SetupState::Ended(Timestamp::UNIX_EPOCH),
            RegistrationRules::default(),
            [false, true, true],
        ),
    ] {
        let page = open(state, rules, "/").await;

        let pages = ["auth/register.html", "auth/forgot-password.html", "admin/setup"];
        assert_eq!(pages.map(|it| page.targets().contains(&it)), offered);
    }
}

#[actix_web::test]
async fn programs_get_not_found() {
    let (_, console) = services(SetupState::Done, Admins::There, None);
    let account_pages = Data::new(account_pages(Arc::default()));

    let request = TestRequest::get().uri("/").to_http_request();
    let refused = show(Data::new(console), account_pages, request).await.unwrap_err();

    assert_eq!(actix_web::ResponseError::status_code(&refused), 404);
}
