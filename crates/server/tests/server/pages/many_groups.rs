//! Forms for choosing a group, on a server with 10,000 groups.

use pia_server_testkit::harness::TestConfig;
use pia_testkit::databases::TestDatabase;

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

/// Statement that adds 10,000 groups.
const MANY_GROUPS: &str = "
    INSERT INTO user_groups (id, name, name_folded, is_default, created_at)
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
        SELECT randomblob(16), 'Team ' || n, 'team ' || n, 0, unixepoch() * 1000000 FROM numbers;";

/// Returns the number of options of selections, suggestions and check boxes of a page.
fn count_options(html: &str) -> usize {
    html.matches("<option").count() + html.matches("type=\"checkbox\"").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_moved_to_one_of_many_groups_by_its_name() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    let bob = app.sign_up("bob@example.org").await.user_id();
    app.execute(MANY_GROUPS).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let path = format!("/admin/users/{bob}");
    let move_to = async |query: &str, group: &str| {
        let body = form(&[("csrfToken", &token), ("group", group)]);
        ada.post(&format!("{path}/group{query}"), &[], &body).await
    };

    let before = ada.get(&path).await.text();
    let unknown = move_to("", "Team X").await;
    let german = move_to("?lang=de", "Team X").await.text();
    let empty = move_to("", "").await;
    let moved = move_to("", " TEAM 9999 ").await;
    let listed = ada.get("/admin/users?group=team+9999").await.text();
    let unlisted = ada.get("/admin/users?group=Team+X").await;

    assert!(before.contains("list=\"group-group-list\""), "{before}");
    assert!(before.contains("value=\"Default\""), "{before}");
    assert!((200..300).contains(&count_options(&before)), "{before}");
    assert_eq!((unknown.status, empty.status), (400, 400), "{}", unknown.text());
    assert!(unknown.text().contains("No group has this name."), "{}", unknown.text());
    assert!(unknown.text().contains("value=\"Team X\""), "{}", unknown.text());
    assert!(german.contains("Keine Gruppe hat diesen Namen."), "{german}");
    assert_eq!(moved.status, 303, "{}", moved.text());
    let of_group = "group_id IN (SELECT id FROM user_groups WHERE name = 'Team 9999')";
    assert_eq!(app.count(&format!("accounts WHERE {of_group}")).await, 1);
    assert!(listed.contains("bob@example.org"), "{listed}");
    assert_eq!(unlisted.status, 200);
    let unlisted = unlisted.text();
    assert!(unlisted.contains("No group has this name."), "{unlisted}");
    assert!(!unlisted.contains("bob@example.org"), "{unlisted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn someone_is_invited_to_one_of_many_groups_by_its_name() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite())).await;
    app.execute(MANY_GROUPS).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let invite = async |group: &str| {
        let body = form(&[("csrfToken", &token), ("role", "user"), ("group", group)]);
        ada.post("/admin/invitations", &[], &body).await
    };

    let before = ada.get("/admin/invitations").await.text();
    let unknown = invite("Team X").await;
    let invited = invite("team 9999").await;
    let without_group = invite("").await;

    assert!((200..300).contains(&count_options(&before)), "{before}");
    assert_eq!(unknown.status, 400, "{}", unknown.text());
    assert!(unknown.text().contains("No group has this name."), "{}", unknown.text());
    assert_eq!((invited.status, without_group.status), (200, 200), "{}", invited.text());
    assert!(invited.text().contains(">Team 9999</td>"), "{}", invited.text());
    assert_eq!(app.count("invitations").await, 2);
    assert_eq!(app.count("invitations WHERE group_id IS NULL").await, 1);
}
