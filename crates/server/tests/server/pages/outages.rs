//! Pages while the database fails, and after an unexpected error.

use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::databases::TestDatabase;

use super::html::PageParts;
use super::visitor::{ADA, Visitor, sign_in, start_with_admin};
use super::{form, is_page};

on_both_databases!(
    pages_explain_an_outage_without_its_details,
    pages_explain_an_unexpected_error_without_its_details,
);

/// Pages with the first page of their area, and a table that they read.
const PAGES: [(&str, &str, &str); 7] = [
    ("/admin/audit", "../admin", "audit_entries"),
    ("/admin/mail", "../admin", "mails"),
    ("/admin/invitations", "../admin", "invitations"),
    ("/admin/groups", "../admin", "user_groups"),
    ("/account/api-keys", "../account", "api_keys"),
    ("/account/sessions", "../account", "sign_ins"),
    ("/admin/users", "../admin", "accounts"),
];
/// Headings of the page of an outage, by language.
const HEADINGS: [(&str, &str); 2] =
    [("en", "Temporarily unavailable"), ("de", "Vorübergehend nicht verfügbar")];

/// Headings of the page of an unexpected error, by language.
const ERROR_HEADINGS: [(&str, &str); 2] =
    [("en", "Something went wrong"), ("de", "Etwas ist schiefgegangen")];

/// Asserts that an answer is the page of an outage with a link to the first page of a
/// folder, and says nothing about the table that failed.
fn assert_outage(answer: &TestResponse, heading: &str, home: &str, table: &str) {
    let text = answer.text();
    assert_eq!(answer.status, 503, "{text}");
    assert!(is_page(answer), "{text}");
    assert_eq!(answer.header("retry-after"), Some("1"), "{text}");

    assert!(text.contains(&format!("<h1>{heading}</h1>")), "{heading}: {text}");
    let links = PageParts::parse(&text).links;
    assert!(links.iter().any(|it| it.starts_with(home)), "{home}: {links:?}");
    for detail in [table, "no such", "does not exist", "relation"] {
        assert!(!text.contains(detail), "{detail}: {text}");
    }
}

async fn pages_explain_an_outage_without_its_details(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let new_group = form(&[("csrfToken", &ada.csrf_token().await), ("name", "Sales")]);
    let credentials = [("email", ADA), ("password", PASSWORD)];

    for (path, home, table) in PAGES {
        assert_eq!(ada.get(path).await.status, 200, "{path}");
        app.execute(&format!("ALTER TABLE {table} RENAME TO away_{table}")).await;

        for (language, heading) in HEADINGS {
            let answer = ada.get(&format!("{path}?lang={language}")).await;
            assert_outage(&answer, heading, home, table);
        }
        app.execute(&format!("ALTER TABLE away_{table} RENAME TO {table}")).await;
    }

    app.execute("ALTER TABLE user_groups RENAME TO away_user_groups").await;
    let created = ada.post("/admin/groups?lang=de", &[], &new_group).await;
    app.execute("ALTER TABLE accounts RENAME TO away_accounts").await;
    let signed_in = sign_in(&app, "account", &credentials).await;
    assert_outage(&created, HEADINGS[1].1, "../admin", "user_groups");
    assert_outage(&signed_in, HEADINGS[0].1, "../account", "accounts");
    let profile = ada.get("/account").await;
    assert_outage(&profile, HEADINGS[0].1, "account", "accounts");
    assert_eq!(app.count("away_user_groups").await, 1);
}

/// A counter of credits is damaged: the end of its time is beyond the range of numbers, so the sum
/// ends the request.
async fn pages_explain_an_unexpected_error_without_its_details(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    app.admin("group set default credits.group-daily=100").await.expect("a limit");
    let group_path = "/admin/groups/00000000-0000-7000-8000-000000000001";
    let pages = [("/account/credits", "account/security"), (group_path, "admin/users")];
    for (path, _) in pages {
        assert_eq!(ada.get(path).await.status, 200, "{path}");
    }

    app.execute(&format!(
        "INSERT INTO credit_windows (key, kind, owner_id, group_id, total, used, reserved, \
             last_used, buckets) \
         SELECT '00000000-0000-7000-8000-000000000001:group-daily', 'group-daily', id, id, 0, 0, \
             0, 0, '{}:1' FROM user_groups",
        i64::MAX
    ))
    .await;

    for (path, nav_item) in pages {
        for (language, heading) in ERROR_HEADINGS {
            let answer = ada.get(&format!("{path}?lang={language}")).await;
            let text = answer.text();
            assert_eq!(answer.status, 500, "{path}: {text}");
            assert!(is_page(&answer), "{path}: {text}");
            assert!(text.contains(&format!("<h1>{heading}</h1>")), "{path}: {text}");
            assert!(text.contains(nav_item), "{path}: {text}");
            for detail in ["credit_windows", "overflow", "panic", "task", "internal_error"] {
                assert!(!text.contains(detail), "{path} {detail}: {text}");
            }
        }
    }
}
