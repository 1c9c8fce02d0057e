//! Lists of the console: their pages, order and search.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock as _, QueuedEmail, SystemClock, Timestamp, UserId};
use pia_server_testkit::console::Console;
use pia_server_testkit::credentials::{create_api_key, create_app_password};
use pia_server_testkit::harness::{PASSWORD, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::form;
use super::visitor::{ADA, Visitor, start_with_admin};

on_both_databases!(
    groups_are_paged_sorted_and_searched,
    lists_are_sorted_by_each_column,
    users_are_sorted_by_each_of_their_columns,
    users_are_selected_by_role_status_and_factor,
    users_are_selected_by_group,
    the_last_use_of_sessions_of_users_is_listed,
    lists_without_entries_differ_from_those_without_a_match,
    emails_and_assignments_are_searched_by_person,
    feedback_is_searched_by_person,
    lists_by_time_are_read_in_both_directions,
    sessions_of_a_user_are_paged,
    malformed_cursors_are_refused,
    credentials_of_one_day_differ_in_their_times,
);

/// Returns the query of the link to the next page.
fn next_page(html: &str) -> Option<String> {
    let (before, _) = html.split_once("\" rel=\"next\"")?;
    let (_, query) = before.rsplit_once("href=\"")?;
    Some(query.replace("&#38;", "&"))
}

/// Returns the texts of links that begin with a word, such as the names of rows.
fn links(html: &str, word: &str) -> Vec<String> {
    let texts = html.split("</a>").filter_map(|it| it.rsplit_once('>')).map(|it| it.1);
    texts.filter(|it| it.starts_with(word)).map(str::to_owned).collect()
}

/// Returns the texts of links to accounts, which are their addresses.
fn account_links(html: &str) -> Vec<String> {
    links(html, "").into_iter().filter(|it| it.contains('@')).collect()
}

/// Returns the row of an account, and those below it.
fn row_of<'a>(html: &'a str, email: &str) -> &'a str {
    html.split_once(&format!(">{email}</a>")).expect("a row").1
}

/// Returns the number of headings with a link.
fn sort_links(html: &str) -> usize {
    let (before_rows, _) = html.split_once("</thead>").expect("a table");
    before_rows.matches("<a href=\"?").count()
}

async fn groups_are_paged_sorted_and_searched(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let teams: Vec<String> = (1..=60).map(|it| format!("Team {it:02}")).collect();
    for team in &teams {
        let body = form(&[("csrfToken", &token), ("name", team)]);
        assert_eq!(ada.post("/admin/groups", &[], &body).await.status, 303);
    }
    let join_last =
        "UPDATE accounts SET group_id = (SELECT id FROM user_groups WHERE name = 'Team 60')";
    app.execute(join_last).await;
    let open = async |query: &str| ada.get(&format!("/admin/groups{query}")).await.text();

    let overview = ada.get("/admin").await.text();
    let first_page = open("").await;
    let second_page = open(&next_page(&first_page).expect("a second page")).await;
    let descending_page = open("?sort=-name").await;
    let thirties_page = open("?search=TEAM+3&sort=-name").await;
    let empty_page = open("?search=zebra&lang=de").await;

    // The chart has the ten largest of 61 groups.
    assert!(overview.contains("admin/groups\">And 51 more groups</a>"), "{overview}");
    assert!(overview.contains("Team 60") && !overview.contains("Team 10"), "{overview}");
    let first_teams = links(&first_page, "Team");
    let second_teams = links(&second_page, "Team");
    // A page has 50 rows. The first one is the default group.
    assert_eq!(first_teams.len(), 49);
    assert_eq!([first_teams, second_teams].concat(), teams);
    assert_eq!(next_page(&second_page), None);
    let descending: Vec<_> = teams.iter().rev().take(50).cloned().collect();
    assert_eq!(links(&descending_page, "Team"), descending);
    let heading = "aria-sort=\"descending\"><a href=\"?sort=name\">";
    assert!(descending_page.contains(heading), "{descending_page}");
    let thirties: Vec<_> = (30..=39).rev().map(|it| format!("Team {it}")).collect();
    assert_eq!(links(&thirties_page, "Team"), thirties);
    assert!(empty_page.contains("Keine Einträge gefunden"), "{empty_page}");
    let reset = "href=\"../admin/groups?lang=de\">Filter entfernen";
    assert!(empty_page.contains(reset), "{empty_page}");
}

async fn lists_are_sorted_by_each_column(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    let lists: [(&str, &[(&str, &str)]); 5] = [
        ("/admin/policies", &[("document", r#"{"defaults":{},"enforce":{}}"#)]),
        ("/admin/personas", &[("systemPrompt", "Be exact.")]),
        ("/admin/plugins", &[("kind", "mcp_server"), ("configJson", "{}")]),
        ("/admin/connectors", &[]),
        ("/admin/scim", &[("scopes", "users")]),
    ];

    for (path, fields) in lists {
        for name in ["Alpha", "Beta"] {
            let common_fields = [("csrfToken", token.as_str()), ("name", name)];
            let body = form(&[&common_fields[..], fields].concat());
            let created = ada.post(path, &[], &body).await;
            assert!([200, 303].contains(&created.status), "{path}: {}", created.text());
        }
        let ascending = ada.get(&format!("{path}?sort=name")).await.text();
        let descending = ada.get(&format!("{path}?sort=-name")).await.text();
        let search = ada.get(&format!("{path}?search=alph")).await.text();

        assert!(ascending.find("Alpha") < ascending.find("Beta"), "{path}: {ascending}");
        assert!(descending.find("Beta") < descending.find("Alpha"), "{path}: {descending}");
        let headings = ascending.matches("<th scope=\"col\"").count();
        assert_eq!(sort_links(&ascending), headings, "{path}: {ascending}");
        assert!(search.contains("Alpha") && !search.contains("Beta"), "{path}: {search}");
    }
}

async fn users_are_sorted_by_each_of_their_columns(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let [bob, zoe] = ["bob@example.org", "zoe@example.org"];
    app.sign_up(zoe).await;
    app.sign_up(bob).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for (query, expected) in [
        ("", [bob, zoe, ADA]),
        ("?sort=created", [ADA, zoe, bob]),
        ("?sort=-created", [bob, zoe, ADA]),
        ("?sort=email", [ADA, bob, zoe]),
        ("?sort=-email&search=example", [zoe, bob, ADA]),
        ("?sort=role", [ADA, zoe, bob]),
        ("?sort=-role", [bob, zoe, ADA]),
        ("?sort=status", [ADA, zoe, bob]),
        ("?sort=-status", [bob, zoe, ADA]),
    ] {
        let list = ada.get(&format!("/admin/users{query}")).await.text();

        assert_eq!(account_links(&list), expected, "{query}");
        assert_eq!(sort_links(&list), 4, "{query}: {list}");
        assert!(!list.contains("First page"), "{query}: {list}");
    }

    let cursor = format!("1.{}", "0".repeat(32));
    let later_page = ada.get(&format!("/admin/users?search=example&cursor={cursor}")).await.text();
    assert!(later_page.contains("<a href=\"?search=example\">First page</a>"), "{later_page}");
    for refused in ["cursor=x".to_owned(), format!("sort=email&cursor={cursor}")] {
        assert_eq!(ada.get(&format!("/admin/users?{refused}")).await.status, 400, "{refused}");
    }
}

async fn users_are_selected_by_role_status_and_factor(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let [bob, zoe] = ["bob@example.org", "zoe@example.org"];
    app.sign_up(zoe).await;
    app.sign_up(bob).await;
    app.execute("UPDATE accounts SET deactivated_at = created_at WHERE email LIKE 'bob@%'").await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for (query, expected) in [
        ("role=admin", &[ADA][..]),
        ("role=user&sort=email", &[bob, zoe]),
        ("status=active&sort=email", &[ADA, zoe]),
        ("status=deactivated", &[bob]),
        ("factor=none&sort=email", &[ADA, bob, zoe]),
        ("role=admin&status=active&factor=none", &[ADA]),
        ("role=admin&status=deactivated", &[]),
    ] {
        let list = ada.get(&format!("/admin/users?{query}")).await.text();

        assert_eq!(account_links(&list), expected, "{query}");
        assert!(list.contains("Clear filters"), "{query}: {list}");
    }

    let selected = ada.get("/admin/users?role=admin&status=active").await.text();
    for part in [
        "<option value=\"admin\" selected>Administrator</option>",
        "<option value=\"active\" selected>Active</option>",
        "href=\"?role=admin&#38;status=active&#38;sort=email\"",
    ] {
        assert!(selected.contains(part), "{part}: {selected}");
    }
}

async fn users_are_selected_by_group(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let [bob, zoe] = ["bob@example.org", "zoe@example.org"];
    app.sign_up(zoe).await;
    app.sign_up(bob).await;
    app.admin("group create Sales").await.expect("a group");
    app.admin("group add bob@example.org Sales").await.expect("a member");
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let group_of = |html: &str, email: &str| {
        let (_, path) = row_of(html, email).split_once("admin/groups/").expect("a link");
        path.split_once('"').expect("an id").0.to_owned()
    };

    let all = ada.get("/admin/users").await.text();
    let sales = group_of(&all, bob);
    let default = group_of(&all, zoe);
    let of_sales = ada.get(&format!("/admin/users?group={sales}")).await.text();
    let of_default = ada.get(&format!("/admin/users?group={default}&sort=email")).await.text();
    let unknown = ada.get(&format!("/admin/users?group={}", uuid::Uuid::now_v7())).await;

    assert_eq!(account_links(&of_sales), [bob]);
    assert_eq!(account_links(&of_default), [ADA, zoe]);
    let option = format!("<option value=\"{sales}\" selected>Sales</option>");
    assert!(of_sales.contains(&option), "{of_sales}");
    assert!(of_sales.contains("Clear filters"), "{of_sales}");
    assert_eq!(links(&all, "Sales"), ["Sales"]);
    assert_eq!(unknown.status, 404);
}

async fn the_last_use_of_sessions_of_users_is_listed(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let [bob, zoe] = ["bob@example.org", "zoe@example.org"];
    app.sign_up(zoe).await;
    app.sign_up(bob).await;
    let of_zoe = "user_id IN (SELECT id FROM accounts WHERE email = 'zoe@example.org')";
    app.execute(&format!("DELETE FROM sessions WHERE {of_zoe}")).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let list = ada.get("/admin/users").await.text();

    let was_used = |email: &str| {
        let (_, cell) = row_of(&list, email).split_once("\"Last active\">").expect("a cell");
        !cell.starts_with("<span class=\"none\">")
    };
    assert!(was_used(ADA) && was_used(bob), "{list}");
    assert!(!was_used(zoe), "{list}");
}

async fn lists_without_entries_differ_from_those_without_a_match(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let open = async |path: &str| ada.get(path).await.text();

    for (path, filter, empty) in [
        ("/admin/devices", "status=active", "No devices yet."),
        ("/admin/feedback", "status=closed", "No feedback yet."),
    ] {
        let all = open(path).await;
        let filtered = open(&format!("{path}?{filter}")).await;

        assert!(all.contains(empty) && !all.contains("No entries found"), "{all}");
        assert!(filtered.contains("No entries found") && !filtered.contains(empty), "{filtered}");
    }
    let searched = open("/admin/users?search=nobody").await;
    assert!(searched.contains("No entries found"), "{searched}");
    assert!(!searched.contains(" yet."), "{searched}");
}

async fn emails_and_assignments_are_searched_by_person(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let addresses = ["bob@example.org", "eve@example.org"];
    let mut ids = Vec::new();
    for address in addresses {
        let id = app.sign_up(address).await.user.expect("an id");
        let user = UserId(uuid::Uuid::try_parse(&id).expect("an id"));
        let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
        app.queue(email.to_user(SystemClock.now(), user)).await;
        ids.push(id);
    }
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let open = async |path: &str| ada.get(path).await.text();

    let all = open("/admin/mail").await;
    let of_bob = open(&format!("/admin/mail?user={}", ids[0])).await;
    let of_eve = open("/admin/mail?user=EVE%40example.org").await;
    let assignments = open("/admin/assignments?user=bob%40example.org").await;

    assert!(addresses.iter().all(|it| all.contains(it)), "{all}");
    assert!(of_bob.contains(addresses[0]) && !of_bob.contains(addresses[1]), "{of_bob}");
    assert!(of_eve.contains(addresses[1]) && !of_eve.contains(addresses[0]), "{of_eve}");
    assert!(assignments.contains("No entries found"), "{assignments}");
    let lists = ["mail", "assignments", "assignments/schedules", "feedback"];
    for path in lists.map(|it| format!("/admin/{it}?user=nobody")) {
        let unknown = open(&path).await;
        assert!(unknown.contains("No account has this address."), "{unknown}");
        assert!(unknown.contains("No entries found"), "{unknown}");
    }
}

async fn feedback_is_searched_by_person(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database)).await;
    let addresses = ["bob@example.org", "eve@example.org"];
    for address in addresses {
        let report = json!({
            "schemaVersion": 1,
            "messageId": uuid::Uuid::now_v7(),
            "rating": "down",
            "piiTokenized": false,
            "answeredAt": "2026-08-01T09:14:02Z",
            "reportedAt": "2026-08-01T09:15:00Z",
        });
        let client = app.sign_up(address).await;
        assert_eq!(client.post("/api/ai-feedback", &report).await.status, 202);
    }
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    let all = ada.get("/admin/feedback").await.text();
    let of_eve = ada.get("/admin/feedback?user=EVE%40example.org&rating=down").await.text();
    let good_of_eve = ada.get("/admin/feedback?user=eve%40example.org&rating=up").await.text();

    assert_eq!(account_links(&all), ["eve@example.org", "bob@example.org"]);
    assert_eq!(account_links(&of_eve), ["eve@example.org"]);
    assert!(of_eve.contains("Clear filters"), "{of_eve}");
    assert!(good_of_eve.contains("No entries found"), "{good_of_eve}");
}

async fn lists_by_time_are_read_in_both_directions(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let token = ada.csrf_token().await;
    for number in ["one", "two"] {
        let address = format!("invited-{number}@example.org");
        let fields = [("csrfToken", token.as_str()), ("email", address.as_str()), ("role", "user")];
        assert_eq!(ada.post("/admin/invitations", &[], &form(&fields)).await.status, 200);
        let email = QueuedEmail::new("invitation").with("link", "https://pia.example/canary");
        let address = format!("mailed-{number}@example.org");
        app.queue(email.to_address(SystemClock.now(), &address)).await;
    }

    for (path, [old, new]) in [
        ("/admin/invitations", ["invited-one", "invited-two"]),
        ("/admin/mail", ["mailed-one", "mailed-two"]),
        ("/admin/audit", [">Signed in</a>", ">Invitation created</a>"]),
    ] {
        let newest_first = ada.get(path).await.text();
        let oldest_first = ada.get(&format!("{path}?sort=created")).await.text();

        let position = |html: &str, text| html.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(position(&newest_first, new) < position(&newest_first, old), "{newest_first}");
        assert!(position(&oldest_first, old) < position(&oldest_first, new), "{oldest_first}");
        assert!(newest_first.contains("<a href=\"?sort=created\">"), "{newest_first}");
        let heading = "aria-sort=\"ascending\"><a href=\"?sort=-created\">";
        assert!(oldest_first.contains(heading), "{oldest_first}");
        // Invitations are also sorted by the time when they expire.
        let heading_count = if path == "/admin/invitations" { 2 } else { 1 };
        assert_eq!(sort_links(&oldest_first), heading_count, "{path}");
    }

    let search = ada.get("/admin/invitations?search=INVITED-ONE&sort=expires").await.text();
    assert!(search.contains("invited-one") && !search.contains("invited-two"), "{search}");
    for list in ["audit", "mail", "assignments", "feedback", "devices", "invitations"] {
        let page = ada.get(&format!("/admin/{list}?sort=created")).await.text();
        let field = "<input type=\"hidden\" name=\"sort\" value=\"created\">";
        assert!(page.contains(field), "{page}");
    }
    let audit = ada.get("/admin/audit?action=session.started&sort=created").await.text();
    let export = "admin/audit/export?action=session.started&#38;sort=created";
    assert!(audit.contains(export), "{audit}");
}

async fn sessions_of_a_user_are_paged(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with("Jwt__MaxSessions", 100)).await;
    let bob = app.sign_up("bob@example.org").await.user.expect("an id");
    let credentials = json!({ "email": "bob@example.org", "password": PASSWORD });
    for _ in 0..21 {
        let signed_in = app.anonymous().post("/auth/login/local", &credentials).await;
        assert_eq!(signed_in.status, 200, "{}", signed_in.text());
    }
    let all = app
        .count("sessions WHERE user_id IN (SELECT id FROM accounts WHERE email LIKE 'bob@%')")
        .await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let path = format!("/admin/users/{bob}");

    let first_page = ada.get(&path).await.text();
    let query = next_page(&first_page).expect("a second page");
    let second_page = ada.get(&format!("{path}{query}")).await.text();
    let malformed = ada.get(&format!("{path}?sessions=x")).await;

    let [first_count, second_count] = [&first_page, &second_page]
        .map(|it| it.matches("The server’s computer (127.0.0.1)").count());
    assert_eq!(first_count, 20, "{first_page}");
    assert_eq!(i64::try_from(second_count), Ok(all - 20), "{second_page}");
    assert_eq!(next_page(&second_page), None);
    assert!(second_page.contains(">First page</a>"), "{second_page}");
    assert_eq!(malformed.status, 400);
}

async fn malformed_cursors_are_refused(database: TestDatabase) {
    let app = start_with_admin(TestConfig::on(database).with_mail()).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;

    for path in [
        "/admin/users?cursor=",
        "/admin/devices?cursor=",
        "/admin/audit?cursor=",
        "/admin/mail?cursor=",
        "/admin/feedback?cursor=",
        "/admin/invitations?cursor=",
        "/admin/assignments?cursor=",
        "/admin/assignments/schedules?cursor=",
        "/admin/usage?by=user&after=",
    ] {
        assert_eq!(ada.get(path).await.status, 200, "{path}");
        let refused = ada.get(&format!("{path}x")).await;
        let page = refused.text();
        assert_eq!(refused.status, 400, "{path}x: {page}");
        assert!(page.contains("<h1>This link is not valid any more</h1>"), "{path}x: {page}");
        assert!(page.contains(">First page</a>"), "{path}x: {page}");
    }
}

/// Returns the hour and the minute of a time, as pages display them.
fn minute_of(at: Timestamp) -> String {
    let minutes = at.micros() / 60_000_000;
    format!(", {:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
}

async fn credentials_of_one_day_differ_in_their_times(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let config = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock));
    let app = start_with_admin(config).await;
    let envelope = json!({ "email": ADA, "password": PASSWORD });
    let login = app.anonymous().post("/auth/login/local", &envelope).await;
    let client = app.anonymous().with_tokens(&login.body);
    let console = Console::open(&app, ADA).await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let connector =
        console.write("POST", "/api/admin/connectors", json!({ "name": "Files" })).await;
    let id = connector.body["connectorId"].as_str().expect("an id");
    let connector_page = format!("/admin/connectors/{id}");
    let token = ada.csrf_token().await;
    let scim_fields = form(&[("csrfToken", &token), ("name", "IdP"), ("scopes", "users")]);

    let create_all = async || {
        create_api_key(&client, json!({})).await;
        create_app_password(&client, "one").await;
        let connector_token = ada.submit(&format!("{connector_page}/tokens")).await;
        assert_eq!(connector_token.status, 200, "{}", connector_token.text());
        let scim_token = ada.post("/admin/scim", &[], &scim_fields).await;
        assert_eq!(scim_token.status, 200, "{}", scim_token.text());
        minute_of(clock.now())
    };
    let first = create_all().await;
    clock.advance(Duration::from_mins(2));
    let second = create_all().await;

    for path in
        ["/account/api-keys", "/account/app-passwords", "/admin/scim", connector_page.as_str()]
    {
        let page = ada.get(path).await.text();

        assert!(page.contains(&first) && page.contains(&second), "{path}: {page}");
    }
}
