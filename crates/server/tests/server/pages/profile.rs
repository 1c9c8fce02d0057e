//! Changes of one's profile by its pages.

use pia_server_testkit::emails::{emails_to, link_to, target};
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::form;
use super::signed_in::{Visitor, sign_in};

on_both_databases!(an_address_is_changed_by_a_link_to_the_new_one);

const ADA: &str = "ada@example.org";
const NEW: &str = "ada@engines.example";

async fn an_address_is_changed_by_a_link_to_the_new_one(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    app.sign_up(ADA).await;
    let ada = Visitor::sign_in(&app, "account", ADA).await;
    let csrf = ("csrfToken", &*ada.csrf_token().await);

    let wrong = [csrf, ("email", NEW), ("proof", "wrong horse battery")];
    let wrong = ada.post("/account/email", &[], &form(&wrong)).await;
    let requested =
        ada.post("/account/email", &[], &form(&[csrf, ("email", NEW), ("proof", PASSWORD)])).await;
    let link = link_to(&app, NEW).await;
    let signed_out = app.anonymous().send("GET", target(&app, &link), &[super::HTML], b"").await;
    let page = ada.get(target(&app, &link)).await;
    let token = link.rsplit_once("token=").expect("a token").1;
    let confirm = form(&[csrf, ("email", NEW), ("token", token)]);
    let confirmed = ada.post("/account/email/confirm", &[], &confirm).await;
    let second_response = ada.post("/account/email/confirm", &[], &confirm).await;
    let renamed =
        ada.post("/account/name", &[], &form(&[csrf, ("displayName", "Ada <b>King</b>")])).await;

    assert_eq!(wrong.status, 403, "{}", wrong.text());
    assert_eq!(requested.header("location"), Some("../account?done=address-requested"));
    assert_eq!(signed_out.status, 303);
    assert!(page.text().contains(NEW) && page.text().contains(token), "{}", page.text());
    assert_eq!(confirmed.header("location"), Some("../../account?done=address-changed"));
    assert_eq!(second_response.status, 400, "{}", second_response.text());
    assert_eq!(renamed.status, 303);
    let profile = ada.get("/account").await;
    assert!(profile.text().contains("Ada &#60;b&#62;King&#60;/b&#62;"), "{}", profile.text());
    for (email, status) in [(ADA, 401), (NEW, 303)] {
        let answer = sign_in(&app, "account", &[("email", email), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, status, "{email}");
    }
    let to_old: Vec<_> = emails_to(&app, ADA).await.into_iter().map(|it| it.template).collect();
    assert_eq!(to_old, ["address-change-requested", "address-changed"]);
}
