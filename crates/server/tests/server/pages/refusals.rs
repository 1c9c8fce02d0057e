//! Pages about refused requests, for browsers that are signed in.

use pia_identity::Role;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::html::PageParts;
use super::page_routes::{is_path_of, pages, with_unknown_ids};
use super::strangers::resolve;
use super::visitor::{ADA, Visitor, sign_up_with_role, start_with_admin};
use super::{HTML, is_page};

on_both_databases!(
    a_refusal_keeps_the_navigation_and_leads_back,
    the_address_of_a_form_leads_to_its_page,
);

/// Returns the links of the message on a page, without those of the frame.
fn links_of_message(page: &str) -> Vec<String> {
    let section = page.split("<section id=\"refusal\"").nth(1);
    let message = section.and_then(|it| it.split("</section>").next());
    PageParts::parse(message.unwrap_or_default()).links
}

async fn a_refusal_keeps_the_navigation_and_leads_back(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let manager = sign_up_with_role(&app, Role::KbManager).await;
    let kate = Visitor::sign_in(&app, "admin", &manager).await;
    app.sign_up("bob@example.org").await;
    let bob = Visitor::sign_in(&app, "account", "bob@example.org").await;
    let unknown_user = with_unknown_ids("/admin/users/{id}");

    for (visitor, path, status, title, links) in [
        (&ada, "/admin/nope", 404, "Page not found", &["../admin"][..]),
        (&ada, &unknown_user, 404, "Page not found", &["../../admin/users", "../../admin"]),
        (&ada, "/account/nope?lang=de", 404, "Seite nicht gefunden", &["../account"]),
        (&bob, "/account/nope", 404, "Page not found", &["../account"]),
        (&kate, "/admin/users", 403, "You do not have access", &["../admin"]),
        (&kate, "/admin/users?lang=de", 403, "Kein Zugriff", &["../admin"]),
    ] {
        let answer = visitor.get(path).await;
        let page = answer.text();

        assert_eq!(answer.status, status, "{path}: {page}");
        assert!(is_page(&answer), "{path}: {page}");
        assert!(page.contains(&format!("<h1>{title}</h1>")), "{path}: {page}");
        assert!(page.contains("account/sign-out\""), "{path}: {page}");
        assert_eq!(links_of_message(&page), links, "{path}: {page}");
    }
    let of_account = bob.get("/admin/nope").await.text();
    assert!(!of_account.contains("account/sign-out"), "{of_account}");
}

async fn the_address_of_a_form_leads_to_its_page(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let opened: Vec<&str> = pages().filter(|it| it.method == "GET").map(|it| it.path).collect();
    let mut count = 0;

    for route in pages().filter(|it| it.method == "POST" && !opened.contains(&it.path)) {
        let path = with_unknown_ids(route.path);
        let answer = ada.get(&path).await;
        let program = app.anonymous().get(&path).await;

        assert_eq!(answer.status, 303, "{path}: {}", answer.text());
        let location = answer.header("location").expect("a location");
        let target = resolve(&path, location).expect("a page of this server");
        assert!(opened.iter().any(|it| is_path_of(it, &target)), "{path}: {target}");
        assert!(path.starts_with(&target), "{path}: {target}");
        assert_eq!(program.refusal(), (405, "method_not_allowed"), "{path}");
        count += 1;
    }

    assert!(count > 50, "{count}");
    let headers = [HTML, ("accept-language", "de")];
    let setup = app.anonymous().send("GET", "/admin/setup/license", &[HTML], b"").await;
    let deleted = app.anonymous().send("DELETE", "/admin/groups", &headers, b"").await;
    assert_eq!(setup.header("location"), Some("../../admin/setup"));
    assert!(deleted.status == 405 && is_page(&deleted), "{}", deleted.text());
    assert!(deleted.text().contains("nimmt nur ein Formular an"), "{}", deleted.text());
}
