//! Lists with many rows.

use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::polling::until;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::accessible::PageChecker;
use super::planted;
use super::visitor::{ADA, start_with_admin};

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

/// Lists of people, of what the server records, and of the groups of a persona.
const RECORDS: [&str; 9] = [
    "/admin/users",
    "/admin/invitations",
    "/admin/devices",
    "/admin/groups",
    "/admin/audit",
    "/admin/mail",
    "/admin/feedback",
    "/admin/usage?by=user",
    "/admin/personas/018f0000-0000-7000-8000-0000000000bb",
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
        SELECT id, unixepoch() / 86400 FROM accounts WHERE email LIKE 'user%';";

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
