//! Lists with many rows.

use std::collections::BTreeSet;

use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::accessible::{PageChecker, paths_of_pages, plant_usage};
use super::page_routes::pattern_of;
use super::planted;
use super::visitor::{ADA, Visitor, start_with_admin};

/// Script that returns the texts of the rows of the list with a next page, which is
/// the last one before the link.
const ROWS: &str = "
    const next = document.querySelector('a[rel=next]');
    const table = [...document.querySelectorAll('main table')].findLast(
        it => next.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_PRECEDING);
    return [...table.tBodies[0].rows].map(it => it.textContent.trim())";
/// Statements that add 10,000 accounts, whose numbers and times other rows take.
const MANY_ACCOUNTS: &str = "
    CREATE TEMP TABLE numbers AS
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
        SELECT n, unixepoch() * 1000000 - n * 60000000 AS at FROM numbers;
    INSERT INTO accounts (id, email, email_folded, provider, customer_type, created_at)
        SELECT randomblob(16), 'user' || n || '@example.org', 'user' || n || '@example.org', 'local',
            0, at FROM numbers;";

/// Lists of people, of what the server records, of the members of a group, and of the groups of a
/// persona.
const RECORDS: [&str; 11] = [
    "/admin/users",
    "/admin/users?group=00000000-0000-7000-8000-000000000001",
    "/admin/invitations",
    "/admin/devices",
    "/admin/groups",
    "/admin/audit",
    "/admin/mail",
    "/admin/feedback",
    "/admin/usage?by=user",
    "/admin/personas/018f0000-0000-7000-8000-0000000000bb",
    "/account/sessions",
];
/// Statements that add 10,000 rows to each of these lists.
const MANY_RECORDS: &str = "
    INSERT INTO invitations (id, hash, email_folded, role, created_at, expires_at)
        SELECT randomblob(16), randomblob(32), 'guest' || n || '@example.org', 'user', at,
            at + 7776000000000 FROM numbers;
    INSERT INTO devices (id, user_id, device_id, name, status, agreement_key, signing_key,
            created_at, activated_at, seen_at)
        SELECT randomblob(16), id, 'laptop', 'Laptop of ' || email, 1, '', '', created_at,
            created_at, created_at FROM accounts WHERE email LIKE 'user%';
    INSERT INTO user_groups (id, name, name_folded, is_default, created_at)
        SELECT randomblob(16), 'Team ' || n, 'team ' || n, 0, at FROM numbers;
    INSERT INTO managed_personas (id, name, system_prompt, tool_scope, schema_version, is_active,
            created_at, updated_at)
        SELECT x'018f00000000700080000000000000bb', 'Editor', 'Be exact.', 0, 1, 1, created_at,
            created_at FROM user_groups WHERE is_default;
    INSERT INTO group_personas (group_id, persona_id)
        SELECT id, x'018f00000000700080000000000000bb' FROM user_groups;
    INSERT INTO audit_entries (id, at, action, object)
        SELECT randomblob(16), at, 'session.started', 'session:' || n FROM numbers;
    INSERT INTO mails (id, user_id, letter, queued_at, due_at, tries, failed_at, failure)
        SELECT randomblob(16), id, 'invitation', created_at, created_at, 1, created_at, 'refused'
            FROM accounts WHERE email LIKE 'user%';
    INSERT INTO ai_feedback (id, user_id, schema_version, message_id, rating, comment, pii_tokenized,
            privacy_concern, answered_at, reported_at, extension, received_at, status, updated_at)
        SELECT randomblob(16), id, 1, id, 'down', email, 0, 0, created_at, created_at, '{}',
            created_at, 'new', created_at FROM accounts WHERE email LIKE 'user%';
    INSERT INTO usage_by_group
        VALUES (unixepoch() / 86400, zeroblob(16), 'OpenAI', 'gpt-5', 10000, 0, 10000, 0, 10000,
            198894000000, 10000, 10000000);
    INSERT INTO usage_by_user (week, user_id, calls_0, spent_0)
        SELECT unixepoch() / 604800, id, 1, length(email) * 1000000 FROM accounts
            WHERE email LIKE 'user%';
    INSERT INTO usage_users
        SELECT id, unixepoch() / 86400 FROM accounts WHERE email LIKE 'user%';
    INSERT INTO sign_ins (id, at, user_id, outcome, method)
        SELECT randomblob(16), at, id, 'wrong_password', 'password' FROM numbers, accounts
            WHERE email = 'ada@example.org';";

/// Lists of what administrators publish, and of the assistant's work.
const CONTENTS: [&str; 8] = [
    "/admin/policies",
    "/admin/personas",
    "/admin/connectors",
    "/admin/knowledge",
    "/admin/assignments",
    "/admin/assignments/schedules",
    "/admin/knowledge/018f0000-0000-7000-8000-0000000000aa",
    "/admin/knowledge/018f0000-0000-7000-8000-0000000000aa/questions",
];
/// Statements that add 10,000 rows to each of these lists.
const MANY_CONTENTS: &str = "
    INSERT INTO client_policies (id, name, name_folded, document, updated_at)
        SELECT randomblob(16), 'Policy ' || n, 'policy ' || n, '{}', at FROM numbers;
    INSERT INTO managed_personas (id, name, system_prompt, tool_scope, schema_version, is_active,
            created_at, updated_at)
        SELECT randomblob(16), 'Persona ' || n, 'Be exact.', 0, 1, 1, at, at FROM numbers;
    INSERT INTO assignments (id, user_id, skill_name, mode, status, step_count, tokens_spent,
            tokens_abandoned, created_at, updated_at, completed_at, fence, failed_attempts,
            restarts, event_count, skill)
        SELECT randomblob(16), id, 'brief', 'Assistant', 'Completed', 1, 42, 0, created_at,
            created_at, created_at, 0, 0, 0, 0, '{}' FROM accounts WHERE email LIKE 'user%';
    INSERT INTO assignment_schedules (id, user_id, skill_name, cron, time_zone, catch_up, next_at,
            created_at, updated_at, input)
        SELECT randomblob(16), id, 'brief', '0 7 * * *', 'Europe/Vienna', 'skip',
            created_at + 7776000000000, created_at, created_at, x''
            FROM accounts WHERE email LIKE 'user%';
    INSERT INTO knowledge_bases (id, group_id, name, name_folded, created_at, served_at)
        SELECT x'018f00000000700080000000000000aa', id, 'Travel', 'travel', created_at, created_at
            FROM user_groups WHERE is_default;
    INSERT INTO knowledge_documents (id, base_id, title, content_type, content_hash, size_bytes,
            status, chunk_count, tokens, new_chunks, new_embedded, is_held, reserved_tokens,
            failures, fence, retrieval_count, created_at, updated_at)
        SELECT randomblob(16), id, 'Document ' || n, 'text/markdown', randomblob(32), n, 'Ready', 0,
            n, 0, 0, 0, 0, 0, 0, n, at, at FROM numbers, knowledge_bases;
    INSERT INTO knowledge_questions (id, group_id, question, seen_count, first_seen_at, last_seen_at)
        SELECT randomblob(16), group_id, 'Where is office ' || n || '?', n, at, at
            FROM numbers, knowledge_bases;
    INSERT INTO knowledge_bases (id, group_id, name, name_folded, created_at, served_at)
        SELECT randomblob(16), user_groups.id, 'Base ' || n, 'base ' || n, at, at
            FROM numbers, user_groups WHERE is_default;
    INSERT INTO connectors (id, name, name_folded, created_at)
        SELECT randomblob(16), 'Connector ' || n, 'connector ' || n, at FROM numbers;";

/// Lists of what extends the server and the apps, and of the versions and groups of a policy.
const EXTENSIONS: [&str; 6] = [
    "/admin/operators",
    "/admin/plugins",
    "/admin/certificates",
    "/admin/connectors/pods",
    "/admin/policies/018f0000-0000-7000-8000-0000000000cc",
    "/admin/policies/018f0000-0000-7000-8000-0000000000cc/versions",
];
/// Statements that add 10,000 rows to each of these lists.
const MANY_EXTENSIONS: &str = "
    INSERT INTO operators (id, name, skill, skill_name_folded, is_custom, is_active, updated_at)
        SELECT randomblob(16), 'Operator ' || n, json_set(skill, '$.name', 'brief-' || n),
            'brief-' || n, 1, 1, at FROM numbers, operators WHERE skill_name_folded = 'brief';
    INSERT INTO plugins (id, kind, name, config_json, version, is_preloaded, is_active, updated_at)
        SELECT randomblob(16), 'mcp_server', 'Plugin ' || n, '{}', '1.0.0', 0, 1, at FROM numbers;
    INSERT INTO trusted_certificates (id, name, thumbprint, der, updated_at)
        SELECT randomblob(16), 'Signer ' || n, hex(randomblob(20)), randomblob(16), at FROM numbers;
    INSERT INTO connectors (id, name, name_folded, created_at)
        VALUES (x'018f00000000700080000000000000dd', 'Depot', 'depot', unixepoch() * 1000000);
    INSERT INTO connected_pods (id, connector_id, host, connected_at, alive_until, calls, failures,
            milliseconds, description, is_draining)
        SELECT randomblob(16), id, 'depot', at, at + 7776000000000, 0, 0, 0,
            json_object('protocol', 1, 'name', 'Pod ' || n), 0 FROM numbers, connectors;
    INSERT INTO client_policies (id, name, name_folded, document, updated_at)
        VALUES (x'018f00000000700080000000000000cc', 'Laptops', 'laptops', '{}',
            unixepoch() * 1000000);
    INSERT INTO client_policy_versions (policy_id, number, name, document, written_at)
        SELECT id, n, 'Laptops', '{}', at FROM numbers, client_policies;
    INSERT INTO user_groups (id, name, name_folded, is_default, created_at, client_policy_id)
        SELECT randomblob(16), 'Team ' || n, 'team ' || n, 0, at, id FROM numbers, client_policies;";

/// Pages with tables that need no pages, with the bound of their rows.
const BOUNDED: [(&str, &str); 21] = [
    ("/account/api-keys", "20 keys of an account"),
    ("/account/api-keys/{id}", "one row for each period of a budget"),
    ("/account/app-passwords", "20 app passwords of an account"),
    ("/account/credits", "one row for each period of a budget"),
    ("/account/devices", "50 devices of an account"),
    ("/account/passkeys", "20 passkeys of an account"),
    ("/admin", "the usage of two periods"),
    ("/admin/assignments/workers", "one row for each instance"),
    ("/admin/audit/{id}", "the fields that one act changed"),
    ("/admin/connectors/{id}", "100 tokens of a connector, and its connected pods"),
    ("/admin/connectors/{id}/test-call", "the tools of a connector"),
    ("/admin/first-steps", "the steps"),
    ("/admin/groups/{id}", "50 entries of each kind, and ten members"),
    ("/admin/jobs", "the kinds of maintenance"),
    ("/admin/licence", "the features"),
    ("/admin/models", "the configured models"),
    ("/admin/operators/{id}/deliveries", "the latest 100 deliveries"),
    ("/admin/policies/{id}/versions/{number}", "the changes of one version"),
    ("/admin/scim", "20 tokens"),
    ("/admin/settings", "the settings"),
    ("/admin/users/{id}", "the sessions, keys and devices that an account may have"),
];
/// Beginnings of a table, and of the text in place of one without rows.
const TABLES: [&str; 2] = ["<table class=\"rows\"", "<p class=\"empty\""];

/// Checks a list of a server that has many rows, and its next page.
async fn check_list(checker: &PageChecker, path: &str) {
    checker.check_twice(path).await;
    let browser = &checker.browser;
    let first_page = browser.run(ROWS, json!([])).await;
    let url = browser.url().await;
    browser.click_on("a[rel=next]").await;
    until(async || (browser.url().await != url).then_some(())).await;
    browser.find("a[rel=next]").await;
    let next_page = browser.run(ROWS, json!([])).await;

    let rows = first_page.as_array().expect("a list");
    let next_rows = next_page.as_array().expect("a list");
    assert!((50..=100).contains(&rows.len()), "{path}: {first_page}");
    assert_eq!(next_rows.len(), rows.len(), "{path}");
    let is_new = next_rows.iter().all(|it| !rows.contains(it));
    assert!(is_new, "{path}: {first_page} {next_page}");
    assert!(!browser.is_too_wide().await, "{path}");
}

/// Adds rows to a server, and returns a browser of its administrator.
async fn open_with(app: &TestApp, rows: &str) -> PageChecker {
    let checker = PageChecker::start(app).await;
    checker.sign_in(ADA).await;
    app.execute(&format!("{MANY_ACCOUNTS}{rows}")).await;
    checker
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_ten_thousand_people_are_paged_and_accessible() {
    let app = start_with_admin(TestConfig::on(TestDatabase::sqlite()).with_mail()).await;
    let checker = open_with(&app, MANY_RECORDS).await;

    for path in RECORDS {
        check_list(&checker, path).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_ten_thousand_contents_are_paged_and_accessible() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    let checker = open_with(&app, MANY_CONTENTS).await;

    for path in CONTENTS {
        check_list(&checker, path).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_ten_thousand_extensions_are_paged_and_accessible() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    let checker = open_with(&app, MANY_EXTENSIONS).await;

    for path in EXTENSIONS {
        check_list(&checker, path).await;
    }
}

/// Finds the pages with tables on a server with data of each kind: each must be checked with many
/// rows, or have a bound.
#[tokio::test(flavor = "multi_thread")]
async fn each_page_with_a_table_is_checked_or_has_a_bound() {
    let upstream = planted::upstream("Fine.").await;
    let app = start_with_admin(planted::with_everything(TestDatabase::sqlite(), &upstream)).await;
    plant_usage(&app).await;
    planted::plant(&app, "Travel").await;
    let ada = Visitor::sign_in(&app, "admin", ADA).await;
    let checked = RECORDS.iter().chain(&CONTENTS).chain(&EXTENSIONS);
    let mut known: BTreeSet<&str> = checked.map(|it| pattern_of(it)).collect();
    for (pattern, bound) in BOUNDED {
        assert_eq!(pattern_of(pattern), pattern, "{bound}");
        assert!(known.insert(pattern), "{pattern} is checked");
    }

    let mut with_table = BTreeSet::new();
    for path in paths_of_pages(&app).await {
        let page = ada.get(&path).await.text();
        if TABLES.iter().any(|it| page.contains(it)) {
            with_table.insert(pattern_of(&path));
        }
    }

    let unknown: Vec<_> = with_table.difference(&known).collect();
    assert!(unknown.is_empty(), "neither checked with many rows nor bounded: {unknown:?}");
    assert!(with_table.len() > 30, "{with_table:?}");
}
