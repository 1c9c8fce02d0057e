//! Changes of one's profile by its pages.

use pia_server_testkit::emails::{emails_to, link_to, target};
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::form;
use super::html::PageParts;
use super::visitor::{ADA, Visitor, sign_in, start_with_admin};

on_both_databases!(
    a_missing_password_is_requested_in_the_words_of_the_page,
    an_address_is_changed_by_a_link_to_the_new_one,
    an_incomplete_account_opens_only_pages_that_complete_or_secure_it,
);

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

async fn a_missing_password_is_requested_in_the_words_of_the_page(database: TestDatabase) {
    let app = TestConfig::on(database).with_mail().start().await;
    app.sign_up(ADA).await;
    let ada = Visitor::sign_in(&app, "account", ADA).await;
    let csrf = ("csrfToken", &*ada.csrf_token().await);

    for (language, text) in [
        ("en", "Confirm that this is your account."),
        ("de", "Bestätigen Sie, dass dieses Konto Ihnen gehört."),
    ] {
        for path in ["email", "security/authenticator", "data/delete"] {
            let body = form(&[csrf, ("email", NEW), ("confirm", "DELETE"), ("proof", "")]);
            let answer = ada.post(&format!("/account/{path}?lang={language}"), &[], &body).await;
            let page = answer.text();

            assert_eq!(answer.status, 400, "{path}: {page}");
            assert!(page.contains(text), "{path}: {page}");
            assert!(!page.contains("required:") && !page.contains('`'), "{path}: {page}");
            assert!(path != "data/delete" || page.contains("value=\"DELETE\""), "{page}");
        }
    }
    assert_eq!(app.count("accounts").await, 1);
}

async fn an_incomplete_account_opens_only_pages_that_complete_or_secure_it(database: TestDatabase) {
    const UNDECLARED: &str = "Declare your business first";
    let app = start_with_admin(TestConfig::on(database)).await;
    app.reload(&json!({ "LocalAuth": { "RequireBusinessDeclaration": true } }));
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let csrf = ("csrfToken", &*ada.csrf_token().await);
    let group = form(&[csrf, ("name", "Small")]);
    let declaration = form(&[csrf, ("companyName", "Ada & Co"), ("actingAsBusiness", "true")]);

    let of_program = ada.send("POST", "/api/admin/groups", &[], "").await;
    let of_form = ada.post("/admin/groups", &[], &group).await;
    let count_before = app.count("user_groups").await;
    let of_settings = ada.send("GET", "/api/admin/settings", &[], "").await;
    for path in
        ["/admin", "/admin/my-group", "/admin/knowledge", "/admin/settings", "/account/credits"]
    {
        let page = ada.get(path).await;
        assert_eq!(page.status, 403, "{path}: {}", page.text());
        assert!(page.text().contains(UNDECLARED), "{path}: {}", page.text());
    }
    for part in ["", "/email", "/security", "/passkeys", "/api-keys", "/sessions", "/data"] {
        let page = ada.get(&format!("/account{part}")).await;
        assert_eq!(page.status, 200, "{part}: {}", page.text());
    }
    let declared = ada.post("/account", &[], &declaration).await;
    let of_complete = ada.post("/admin/groups", &[], &group).await;
    app.reload(&json!({ "LocalAuth": { "RequireEmailVerification": true } }));
    let of_unverified = ada.get("/admin/groups?lang=de").await;
    for path in ["/admin/settings", "/admin/mail", "/api/admin/settings", "/api/admin/outbox"] {
        let answer = ada.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }

    assert_eq!(of_program.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(of_settings.refusal(), (403, "business_profile_incomplete"));
    assert_eq!(of_form.status, 403, "{}", of_form.text());
    assert!(of_form.text().contains(UNDECLARED), "{}", of_form.text());
    assert!(PageParts::parse(&of_form.text()).links.contains(&"../account".to_owned()));
    assert_eq!(count_before, 1);
    assert_eq!(declared.status, 303, "{}", declared.text());
    assert_eq!(of_complete.status, 303, "{}", of_complete.text());
    assert_eq!(app.count("user_groups").await, 2);
    let unverified_text = of_unverified.text();
    assert_eq!(of_unverified.status, 403, "{unverified_text}");
    assert!(unverified_text.contains("Bestätigen Sie zuerst"), "{unverified_text}");
    let links = PageParts::parse(&unverified_text).links;
    assert!(links.contains(&"../account".to_owned()), "{links:?}");
}
