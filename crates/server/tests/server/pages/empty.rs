//! Pages of a server on which little was created.

use pia_server_testkit::console::Console;
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::planted;
use super::strangers::Walk;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    no_page_has_an_empty_choice_or_table,
    a_group_without_models_to_choose_from_leads_to_the_models,
);

const GROUP: &str = "/admin/groups/00000000-0000-7000-8000-000000000001";

/// Returns the contents of these elements of a page, which are not nested.
fn contents<'a>(page: &'a str, element: &str) -> Vec<&'a str> {
    let start = format!("<{element}");
    let end = format!("</{element}>");
    let elements = page.split(start.as_str()).skip(1);
    elements.filter_map(|it| Some(it.split_once('>')?.1.split_once(&end)?.0)).collect()
}

async fn no_page_has_an_empty_choice_or_table(database: TestDatabase) {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(database, &upstream)).await;
    let console = Console::open(&app, ADA).await;
    let group = GROUP.rsplit('/').next();
    let base = json!({ "name": "Own", "groupId": group });
    let created = console.write("POST", "/api/admin/knowledge-bases", base).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let mut walk = Walk::new(Visitor::sign_in(&app, "admin", ADA).await);

    walk.visit().await;

    for (path, page) in &walk.pages {
        for (element, part) in [("fieldset", "<input"), ("select", "<option"), ("tbody", "<tr")] {
            let is_filled = contents(page, element).iter().all(|it| it.contains(part));
            assert!(is_filled, "{path} {element}: {page}");
        }
        assert!(!page.contains("<p class=\"empty\"></p>"), "{path}: {page}");
    }
    let settings = walk.pages.iter().find(|it| it.0.ends_with("/settings") && it.0.len() > 20);
    let settings = settings.expect("the settings of the base").1;
    assert!(settings.contains("There are no other groups yet."), "{settings}");
}

async fn a_group_without_models_to_choose_from_leads_to_the_models(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for (language, text) in [
        ("en", "There are no models for members to choose from yet"),
        ("de", "Es gibt noch keine Modelle, die Mitglieder wählen können"),
    ] {
        let page = ada.get(&format!("{GROUP}?lang={language}")).await.text();
        let (_, message) = page.split_once(text).expect("a message");
        let (before_form, _) = message.split_once("<form").expect("a form");
        assert!(before_form.contains("href=\"../../admin/models\""), "{message}");
        assert!(!page.contains("name=\"models\""), "{page}");
    }
}
