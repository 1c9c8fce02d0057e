//! Pages of the server's settings.

use pia_server_testkit::harness::{JWT_KEY, MASTER_KEY, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::visitor::{ADA, Visitor, start_with_admin};
use super::{form, planted};

on_both_databases!(
    settings_begin_with_a_list_of_their_areas,
    settings_are_listed_by_area_without_secrets,
    settings_are_searched_by_key_and_description,
    a_setting_that_needs_a_restart_is_explained_and_not_changed,
    a_setting_with_few_values_has_a_choice,
    an_empty_secret_is_refused,
    each_setting_is_described_in_both_languages,
    the_reason_of_an_invalid_setting_is_in_the_language_of_the_page,
    a_secret_setting_keeps_its_blanks_and_its_error_leads_to_the_field,
    a_setting_that_is_no_longer_used_is_removed,
);

/// List of all settings: each name contains a colon.
const ALL_SETTINGS: &str = "/admin/settings?search=%3A";

async fn settings_begin_with_a_list_of_their_areas(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let body = form(&[("csrfToken", &ada.csrf_token().await), ("value", "30")]);
    let changed = ada.post("/admin/settings/Audit:RetentionDays/change", &[], &body).await;

    let page = ada.get("/admin/settings").await.text();
    let all_page = ada.get(ALL_SETTINGS).await.text();
    let setting_page = ada.get("/admin/settings/Audit:RetentionDays").await.text();

    assert_eq!(changed.status, 303, "{}", changed.text());
    let (_, section) = page.split_once("<section id=\"areas\"").expect("a section");
    let rows: Vec<&str> = section.split("<tr role=\"row\">").skip(2).collect();
    assert_eq!(rows.len(), 10, "{section}");
    for row in &rows {
        let is_changed = row.contains("admin/settings?area=records\">Records and monitoring</a>");
        let count = if is_changed { ">1</td>" } else { ">0</td>" };
        assert!(row.contains(count), "{row}");
    }
    assert!(section.contains("admin/settings?area=storage\">"), "{section}");
    assert!(!section.contains("area=other"), "a section is in no area: {section}");
    for key in ["Audit:RetentionDays", "Smtp:Host", "Database:StatementTimeout"] {
        assert!(all_page.contains(key) && !page.contains(key), "{key}: {page}");
    }
    assert!(setting_page.contains("admin/settings?area=records\">"), "{setting_page}");
}

async fn settings_are_listed_by_area_without_secrets(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let all_page = ada.get(ALL_SETTINGS).await.text();
    let email_page = ada.get("/admin/settings?area=email").await.text();

    for heading in ["Accounts and sign-in", "Rate limits", "Database and encryption"] {
        assert!(all_page.contains(&format!("{heading}</h2>")), "{heading}: {all_page}");
    }
    assert!(!all_page.contains("Other settings</h2>"), "a section is in no area: {all_page}");
    assert!(all_page.contains("Set, not displayed"), "{all_page}");
    assert!(!all_page.contains(JWT_KEY), "{all_page}");
    assert!(!all_page.contains(MASTER_KEY), "{all_page}");

    assert!(email_page.contains("Smtp:Host"), "{email_page}");
    assert!(email_page.contains("Not set"), "{email_page}");
    assert!(!email_page.contains("Server:Name"), "{email_page}");
    assert!(!email_page.contains("Set, not displayed"), "{email_page}");
}

async fn settings_are_searched_by_key_and_description(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with("Server__Name", "Pia of Ada")).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let page_of_key = ada.get("/admin/settings?search=server%3Aname").await.text();
    let page_of_description = ada.get("/admin/settings?search=Authenticator%20Apps").await.text();
    let empty_page = ada.get("/admin/settings?search=nothing").await.text();

    assert!(page_of_key.contains("Pia of Ada"), "{page_of_key}");
    assert!(!page_of_key.contains("Smtp:Host"), "{page_of_key}");
    assert!(page_of_description.contains("Server:Name"), "{page_of_description}");
    assert!(!page_of_description.contains("Smtp:Host"), "{page_of_description}");
    assert!(empty_page.contains("No entries found"), "{empty_page}");
}

async fn a_setting_that_needs_a_restart_is_explained_and_not_changed(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with("Server__Name", "Pia of Ada")).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let page = ada.get("/admin/settings/Server:Name").await.text();
    let german_page = ada.get("/admin/settings/Server:Name?lang=de").await.text();
    let refusal = ada.submit("/admin/settings/Server:Name/change").await;

    for text in ["Environment", "Server__Name", "authenticator apps and passkeys"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("/change\""), "{page}");
    assert!(german_page.contains("den Server neu"), "{german_page}");
    assert_eq!(refusal.status, 404);
    assert_eq!(app.count("setting_overrides").await, 0);
}

async fn a_setting_with_few_values_has_a_choice(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let page = ada.get("/admin/settings/LocalAuth:Registration").await.text();

    for choice in ["open", "invitation", "closed"] {
        assert!(page.contains(&format!("<option value=\"{choice}\"")), "{choice}: {page}");
    }
}

async fn an_empty_secret_is_refused(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let page = ada.get("/admin/settings/Metrics:Token").await.text();
    let refusal = ada.submit("/admin/settings/Metrics:Token/change").await;
    let german_refusal = ada.submit("/admin/settings/Metrics:Token/change?lang=de").await;

    assert!(page.contains("Not set"), "{page}");
    assert_eq!(refusal.status, 400);
    assert!(refusal.text().contains("reset the setting"), "{}", refusal.text());
    assert!(german_refusal.text().contains("die Einstellung zurück"), "{}", german_refusal.text());
    assert_eq!(app.count("setting_overrides").await, 0);
}

async fn each_setting_is_described_in_both_languages(database: TestDatabase) {
    let upstream = planted::upstream("Hello").await;
    let config = planted::with_everything(database, &upstream)
        .with("Ai__Modes__Assistant__Model", "large-model")
        .with("Ai__Providers__0__Id", "small")
        .with("Ai__Providers__0__ProviderType", "OpenAICompatible")
        .with("Ai__Providers__0__Endpoint", "http://127.0.0.1:9")
        .with("Ai__Providers__0__Model", "small-model");
    let app = start_with_admin(config).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for (language, heading) in [("en", "Setting"), ("de", "Einstellung")] {
        let page = ada.get(&format!("{ALL_SETTINGS}&lang={language}")).await.text();
        let label = format!("data-label=\"{heading}\">");
        let cells: Vec<_> =
            page.split(&label).skip(1).filter_map(|it| it.split("</td>").next()).collect();

        for key in ["Ai:Modes:Assistant:Model", "Ai:Providers:0:Model", "OAuth:oidc:Scopes"] {
            assert!(cells.iter().any(|it| it.contains(key)), "{key}: {page}");
        }
        for cell in cells {
            assert!(cell.contains("<span class=\"detail\">"), "no description: {cell}");
        }
    }
}

async fn the_reason_of_an_invalid_setting_is_in_the_language_of_the_page(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let change = async |language: &str| {
        let body = form(&[("csrfToken", &token), ("value", "nonsense")]);
        let path = format!("/admin/settings/LocalAuth:Registration/change?lang={language}");
        ada.post(&path, &[], &body).await
    };

    let german = change("de").await;
    let english = change("en").await;

    for (page, text) in [(german, "Geben Sie eines davon ein: "), (english, "Enter one of these: ")]
    {
        assert_eq!(page.status, 400, "{}", page.text());
        let count = page.text().matches(text).count();
        assert_eq!(count, 2, "at the field and above the form: {}", page.text());
        assert!(!page.text().contains("SVC-CFG"), "{}", page.text());
        assert!(!page.text().contains("<span lang"), "{}", page.text());
    }
}

async fn a_secret_setting_keeps_its_blanks_and_its_error_leads_to_the_field(
    database: TestDatabase,
) {
    const PATH: &str = "/admin/settings/Metrics:Token/change";
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let change = async |secret: &str| {
        ada.post(PATH, &[], &form(&[("csrfToken", &token), ("secret", secret)])).await
    };

    let with_blank = change("an0ther-word-of-thirty-two-letters ").await;
    let without_blank = change("an0ther-word-of-thirty-two-letters").await;

    assert_eq!(with_blank.status, 400, "{}", with_blank.text());
    for text in ["signs without blanks", "<a href=\"#change-secret\">"] {
        assert!(with_blank.text().contains(text), "{text}: {}", with_blank.text());
    }
    assert!(!with_blank.text().contains("thirty-two-letters"), "{}", with_blank.text());
    assert_eq!(without_blank.status, 303, "{}", without_blank.text());
}

async fn a_setting_that_is_no_longer_used_is_removed(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let body = form(&[("csrfToken", &ada.csrf_token().await), ("value", "30")]);
    let change = ada.post("/admin/settings/Audit:RetentionDays/change", &[], &body).await;
    assert_eq!(change.status, 303, "{}", change.text());
    let page_while_used = ada.get("/admin/settings").await.text();
    app.execute("UPDATE setting_overrides SET key = 'Old:Days'").await;

    let all_page = ada.get("/admin/settings").await.text();
    let search_page = ada.get("/admin/settings?search=old%3A").await.text();
    let email_page = ada.get("/admin/settings?area=email").await.text();
    let removal = ada.submit("/admin/settings/Old:Days/reset").await;
    let repeated_removal = ada.submit("/admin/settings/Old:Days/reset").await;

    assert!(!page_while_used.contains("No longer used"), "{page_while_used}");
    for page in [&all_page, &search_page] {
        assert!(page.contains("No longer used") && page.contains("Old:Days/reset"), "{page}");
    }
    assert!(!search_page.contains("No entries found"), "{search_page}");
    assert!(!email_page.contains("Old:Days"), "{email_page}");
    assert_eq!(removal.status, 303, "{}", removal.text());
    assert_eq!(removal.header("location"), Some("../../../admin/settings?done=removed"));
    assert_eq!(repeated_removal.status, 404, "{}", repeated_removal.text());
    assert_eq!(app.count("setting_overrides").await, 0);
}
