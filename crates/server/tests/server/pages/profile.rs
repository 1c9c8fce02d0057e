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

    let request_change = async |proof: &str| {
        let body = form(&[csrf, ("email", NEW), ("proof", proof)]);
        ada.post("/account/email", &[], &body).await
    };

    let refusal = request_change("wrong horse battery").await;
    let change = request_change(PASSWORD).await;
    let link = link_to(&app, NEW).await;
    let path = target(&app, &link);
    let anonymous_page = app.anonymous().send("GET", path, &[super::HTML], b"").await;
    let page = ada.get(path).await;
    let token = link.rsplit_once("token=").expect("a token").1;
    let confirmation_form = form(&[csrf, ("email", NEW), ("token", token)]);
    let confirmation = ada.post("/account/email/confirm", &[], &confirmation_form).await;
    let second_confirmation = ada.post("/account/email/confirm", &[], &confirmation_form).await;
    let name_form = form(&[csrf, ("displayName", "Ada <b>King</b>")]);
    let renaming = ada.post("/account/name", &[], &name_form).await;

    assert_eq!(refusal.status, 403, "{}", refusal.text());
    assert_eq!(change.header("location"), Some("../account?done=address-requested"));
    assert_eq!(anonymous_page.status, 303);
    assert!(page.text().contains(NEW) && page.text().contains(token), "{}", page.text());
    assert_eq!(confirmation.header("location"), Some("../../account?done=address-changed"));
    assert_eq!(second_confirmation.status, 400, "{}", second_confirmation.text());
    assert_eq!(renaming.status, 303);
    let profile = ada.get("/account").await;
    assert!(profile.text().contains("Ada &#60;b&#62;King&#60;/b&#62;"), "{}", profile.text());
    for (email, status) in [(ADA, 401), (NEW, 303)] {
        let answer = sign_in(&app, "account", &[("email", email), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, status, "{email}");
    }
    let to_old: Vec<_> = emails_to(&app, ADA).await.into_iter().map(|it| it.template).collect();
    assert_eq!(to_old, ["address-change-requested", "address-changed"]);
}
