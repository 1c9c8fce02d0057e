//! Tests of recorded usage.

use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_demo_upstream::Demo;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::ai_client::{
    CHAT, JSON, Live, OPTIMIZE, chat_request, streaming_request, upstream_config,
};
use pia_server_testkit::client::Client;
use pia_server_testkit::console::{Console, administrator};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_storage::schema::ai_usage;
use pia_storage::{Database, DbError, DbUid, on_conn};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use uuid::Uuid;

on_both_databases! {
    usage_is_recorded_as_the_upstream_reports_it,
    unreported_usage_is_estimated,
    a_disconnected_caller_is_charged,
    calls_that_break_are_recorded_and_refused_ones_are_not,
    answers_do_not_wait_for_a_database_that_is_down,
    usage_is_reported_to_administrators,
    calls_of_today_are_charted_by_hour,
    managers_of_an_organisation_read_the_usage_of_their_group,
    usage_by_person_is_searched_and_paged,
    usage_by_model_is_paged_sorted_and_searched,
}

/// Recorded call, with its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
struct Row {
    mode: String,
    provider: String,
    model: String,
    outcome: String,
    input: i64,
    cached: i64,
    output: i64,
    is_estimated: bool,
}

struct Ledger {
    db: Database,
    user: Uuid,
}

impl Ledger {
    /// Opens the recorded usage of a caller.
    fn of(app: &TestApp, caller: &Client) -> Self {
        let startup = app.config.latest().database.startup.clone();
        let db = Database::open(&startup.target, startup.options).expect("a database");
        let user = caller.user.as_deref().and_then(|it| it.parse().ok());
        Self { db, user: user.expect("an id") }
    }

    /// Returns the rows in the order of their calls' ends.
    async fn rows(&self) -> Vec<Row> {
        let query = ai_usage::table
            .filter(ai_usage::user_id.eq(DbUid(self.user)))
            .order((ai_usage::at, ai_usage::id))
            .select((
                ai_usage::mode,
                ai_usage::provider,
                ai_usage::model,
                ai_usage::outcome,
                ai_usage::input_tokens,
                ai_usage::cached_input_tokens,
                ai_usage::output_tokens,
                ai_usage::estimated,
            ));
        let rows: Result<Vec<Row>, DbError> =
            on_conn!(self.db.reader(), |conn| query.load(conn).await?);
        rows.expect("rows")
    }

    /// Returns the rows once there are at least `count`.
    async fn once(&self, count: usize) -> Vec<Row> {
        until(async || Some(self.rows().await).filter(|it| it.len() >= count)).await
    }

    async fn alter(&self, sql: &str) {
        let result: Result<(), DbError> =
            on_conn!(self.db.writer(), |conn| conn.batch_execute(sql).await?);
        result.expect("a statement");
    }
}

/// Server with an upstream, and a caller whose usage is read.
struct Scene {
    demo: Demo,
    ada: Client,
    ledger: Ledger,
    _app: TestApp,
}

async fn start(database: TestDatabase) -> Scene {
    let demo = Demo::start(0).expect("a demo upstream");
    let app = TestConfig::on(database)
        .with_upstream(&demo.endpoint())
        .with("Ai__SilenceTimeout", "800ms")
        .start()
        .await;
    let ada = app.signed_in().await;
    let ledger = Ledger::of(&app, &ada);
    Scene { demo, ada, ledger, _app: app }
}

/// Returns the row of a completed call with this many tokens in and out.
fn completed(mode: &str, input: i64, output: i64) -> Row {
    Row {
        mode: mode.to_owned(),
        provider: "OpenAI".to_owned(),
        model: "test-model".to_owned(),
        outcome: "completed".to_owned(),
        input,
        cached: 0,
        output,
        is_estimated: false,
    }
}

/// Asserts the names of a row, whose tokens must be estimated.
fn assert_estimated(row: &Row, outcome: &str) {
    assert_eq!(row.mode, "Assistant");
    assert_eq!(row.provider, "OpenAI");
    assert_eq!(row.model, "test-model");
    assert_eq!(row.outcome, outcome);
    assert!(row.is_estimated);
}

async fn usage_is_recorded_as_the_upstream_reports_it(database: TestDatabase) {
    let scene = start(database).await;
    let Scene { ada, ledger, .. } = &scene;
    let research = [JSON, ("x-service-mode", "research")];

    ada.post(CHAT, &chat_request("good day")).await;
    ada.post(CHAT, &streaming_request("good day")).await;
    ada.send("POST", CHAT, &research, chat_request("good day").to_string().as_bytes()).await;
    let rows = ledger.once(3).await;
    let optimized = ada.post(OPTIMIZE, &json!({ "text": "good day" })).await;
    let all = ledger.once(4).await;

    let expected = |mode| completed(mode, 2, 5);
    assert_eq!(rows, [expected("Assistant"), expected("Assistant"), expected("Research")]);
    let tokens = |key: &str| optimized.body[key].as_i64().unwrap_or_default();
    assert_eq!(all[3], completed("Optimize", tokens("inputTokens"), tokens("outputTokens")));
}

async fn unreported_usage_is_estimated(database: TestDatabase) {
    let scene = start(database).await;
    let Scene { ada, ledger, .. } = &scene;
    let text = format!("demo:no-usage demo:chunks=50 {}", "word ".repeat(200));

    ada.post(CHAT, &streaming_request(&text)).await;
    let rows = ledger.once(1).await;

    let row = &rows[0];
    assert_estimated(row, "completed");
    assert_eq!(row.cached, 0);
    assert!((200..400).contains(&row.input), "{}", row.input);
    assert!((200..300).contains(&row.output), "several tokens a chunk: {}", row.output);
}

async fn a_disconnected_caller_is_charged(database: TestDatabase) {
    let scene = start(database).await;
    let Scene { demo, ada, ledger, .. } = &scene;
    let text = "demo:slow=20 demo:chunks=10000 Hello";

    let mut streaming = Live::ask(ada, CHAT, &streaming_request(text)).await;
    streaming.until_count("data: ", 5).await;
    drop(streaming);
    ledger.once(1).await;
    for body in [chat_request(text), streaming_request("demo:silent")] {
        let waiting_call = Live::ask(ada, CHAT, &body).await;
        assert!(demo.until(|it| it.open == 1).await);
        drop(waiting_call);
        assert!(demo.until(|it| it.open == 0).await);
    }
    let rows = ledger.once(3).await;

    for row in &rows {
        assert_estimated(row, "abandoned");
        assert!((5..40).contains(&row.input), "{}", row.input);
    }
    let outputs: Vec<_> = rows.iter().map(|it| it.output).collect();
    assert!(outputs[0] >= 4 && outputs[1..] == [0, 0], "{outputs:?}");
}

async fn calls_that_break_are_recorded_and_refused_ones_are_not(database: TestDatabase) {
    let scene = start(database).await;
    let Scene { ada, ledger, .. } = &scene;

    for refused in ["demo:status=500", "demo:status=429", "demo:context-length"] {
        assert_eq!(ada.post(CHAT, &chat_request(refused)).await.status, 502);
        assert_eq!(ada.post(CHAT, &streaming_request(refused)).await.status, 502);
    }
    for broken in ["demo:cut one two", "demo:error one two", "demo:silent=3 one two"] {
        assert_eq!(ada.post(CHAT, &streaming_request(broken)).await.status, 200, "{broken}");
    }
    assert_eq!(ada.post(CHAT, &chat_request("demo:cut")).await.status, 502);
    let rows = ledger.once(4).await;

    assert_eq!(rows.len(), 4);
    for row in &rows {
        assert_estimated(row, "failed");
        assert!(row.input > 0, "{}", row.input);
    }
    assert!(rows[..3].iter().all(|it| it.output > 0), "{rows:?}");
}

async fn answers_do_not_wait_for_a_database_that_is_down(database: TestDatabase) {
    let scene = start(database).await;
    let Scene { ada, ledger, .. } = &scene;
    ledger.alter("ALTER TABLE ai_usage RENAME TO away").await;

    let full_response = ada.post(CHAT, &chat_request("good day")).await;
    let stream = ada.post(CHAT, &streaming_request("good day")).await;
    ledger.alter("ALTER TABLE away RENAME TO ai_usage").await;
    let rows = ledger.once(2).await;

    assert_eq!(full_response.status, 200);
    assert_eq!(stream.status, 200);
    assert!(stream.text().ends_with("data: [DONE]\n\n"), "{}", stream.text());
    assert_eq!(rows, [completed("Assistant", 2, 5), completed("Assistant", 2, 5)]);
}

/// Returns the sum of a member of items.
fn sum(items: &Value, key: &str) -> i64 {
    items.as_array().into_iter().flatten().filter_map(|it| it[key].as_i64()).sum()
}

async fn usage_is_reported_to_administrators(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let setting = TestConfig::on(database).with_upstream(&demo.endpoint());
    let (_app, ada, console) = administrator(setting).await;

    assert_eq!(ada.post(CHAT, &chat_request("good day")).await.status, 200);
    let slow = streaming_request("demo:slow=100 demo:cut one two");
    assert_eq!(ada.post(CHAT, &slow).await.status, 200);
    let days = until(async || {
        let body = console.get("/api/admin/usage").await.body;
        (sum(&body["items"], "calls") == 2).then_some(body)
    })
    .await;

    let items = &days["items"];
    assert_eq!(days["by"], "day");
    assert_eq!(items.as_array().map(Vec::len), Some(30));
    assert_eq!(sum(items, "failed"), 1);
    assert_eq!(sum(items, "users"), 1);
    assert!(sum(items, "meanMillis") >= 50, "{days}");
    assert_eq!(items[29]["day"], days["to"]);

    let micros = sum(items, "spentMicros");
    assert!(sum(items, "outputTokens") >= 5 && micros > 0, "{days}");
    for (by, key, name) in [
        ("user", "email", "ada@example.org"),
        ("group", "groupName", "Default"),
        ("model", "model", "test-model"),
    ] {
        let query = format!("by={by}&from={}", days["from"].as_str().expect("a day"));
        let items = console.get(&format!("/api/admin/usage?{query}")).await.body["items"].clone();
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{items}");
        assert_eq!(items[0][key], name);
        assert_eq!(items[0]["calls"], 2);
        assert_eq!(items[0]["spentMicros"], micros);
        for path in ["/api/admin/usage/export", "/admin/usage/export"] {
            let file = console.get(&format!("{path}?{query}")).await;
            assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8"));
            let credits = format!(",{name},2,{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            assert!(file.text().contains(&credits), "{credits} {}", file.text());
        }
        let page = console.get(&format!("/admin/usage?{query}")).await.text();
        assert!(page.contains(name) && page.contains("<svg"), "{page}");
    }

    let overview = console.get("/admin").await.text();
    for chart in [
        "People by day",
        "Calls by day",
        "Credits by day",
        "Average response time by day",
        "Errors by day",
    ] {
        assert!(overview.contains(chart), "{chart}: {overview}");
    }
    for wrong in ["from=x", "to=2026-02-30", "from=2020-01-01", "by=planet"] {
        let response = console.get(&format!("/api/admin/usage?{wrong}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{wrong}");
    }
}

async fn calls_of_today_are_charted_by_hour(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let now = SystemClock.now();
    let setting = TestConfig::on(database)
        .with_upstream(&demo.endpoint())
        .at(Arc::new(ManualClock::new(now)));
    let (app, ada, console) = administrator(setting).await;

    let overview_before = console.get("/admin").await.text();
    for _ in 0..2 {
        assert_eq!(ada.post(CHAT, &chat_request("good day")).await.status, 200);
    }
    let booked = "usage_by_hour WHERE calls = 2";
    until(async || (app.count(booked).await == 1).then_some(())).await;
    let overview = console.get("/admin").await.text();
    let hours = console.get("/api/admin/usage/hours").await.body;

    assert!(!overview_before.contains("by hour"), "{overview_before}");
    let figures = ["People", "Calls", "Credits", "Average response time", "Errors"];
    for figure in figures {
        let title = format!("<figcaption>{figure} today, by hour (UTC)</figcaption>");
        assert!(overview.contains(&title), "{title}: {overview}");
    }
    let cells = overview.split("data-label=\"Metric\">").skip(1);
    let names: Vec<_> = cells.filter_map(|it| it.split('<').next()).collect();
    assert_eq!(names, figures, "{overview}");
    let hour = now.micros() / 3_600_000_000 % 24;
    let index = usize::try_from(hour).expect("an hour");
    let sums = ["hour", "calls", "users", "failed"].map(|it| hours[index][it].as_i64());
    assert_eq!(hours.as_array().map(Vec::len), Some(24), "{hours}");
    assert_eq!(sums, [Some(hour), Some(2), Some(1), Some(0)], "{hours}");
    for (title, number) in [("People", 1), ("Calls", 2), ("Errors", 0)] {
        let table = overview.split(&format!("{title} today, by hour (UTC)</th>")).nth(1);
        let row = format!("<td>{hour:02}:00</td><td class=\"number\">{number}</td>");
        let rows = table.and_then(|it| it.split("</table>").next()).unwrap_or_default();
        assert!(rows.contains(&row), "{row}: {rows}");
    }
    assert_eq!(overview.matches(":00</td><td class=\"number\">").count(), 5 * 24, "{overview}");
}

async fn managers_of_an_organisation_read_the_usage_of_their_group(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let setting = TestConfig::on(database).with_upstream(&demo.endpoint());
    let (app, ada, console) = administrator(setting).await;
    let olga = app.sign_up("olga@example.org").await;
    let group = console.write("POST", "/api/admin/groups", json!({ "name": "Sales" })).await.body;
    let path = format!("/api/admin/users/{}/group", olga.user.as_deref().expect("an id"));
    let move_response = console.write("PUT", &path, json!({ "groupId": group["id"] })).await;
    assert_eq!(move_response.status, 200, "{}", move_response.text());
    app.admin("grant olga@example.org --role org_manager").await.expect("a role");
    let credentials = json!({ "email": "olga@example.org", "password": PASSWORD });
    let signed_in = app.anonymous().post("/admin/login", &credentials).await;
    let manager = Console::from_answer(&app, &signed_in);

    for caller in [&ada, &olga] {
        assert_eq!(caller.post(CHAT, &chat_request("good day")).await.status, 200);
    }
    until(async || {
        let body = console.get("/api/admin/usage").await.body;
        (sum(&body["items"], "calls") == 2).then_some(())
    })
    .await;

    let days = manager.get("/api/admin/usage").await.body;
    assert_eq!(sum(&days["items"], "calls"), 1);
    assert!(!days.to_string().contains("\"users\""), "{days}");
    for (by, key, name) in [
        ("user", "email", "olga@example.org"),
        ("group", "groupName", "Sales"),
        ("model", "model", "test-model"),
    ] {
        let items = manager.get(&format!("/api/admin/usage?by={by}")).await.body["items"].clone();
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{items}");
        assert_eq!(items[0][key], name);
        assert_eq!(items[0]["calls"], 1);
        for path in ["/api/admin/usage/export", "/admin/usage/export", "/admin/usage"] {
            let text = manager.get(&format!("{path}?by={by}&user=ada%40example.org")).await.text();
            assert!(text.contains(name) && !text.contains("ada@example.org"), "{path}: {text}");
        }
    }
}

async fn usage_by_person_is_searched_and_paged(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let setting = TestConfig::on(database).with_upstream(&demo.endpoint());
    let (_app, ada, console) = administrator(setting).await;
    assert_eq!(ada.post(CHAT, &chat_request("good day")).await.status, 200);
    until(async || {
        let body = console.get("/api/admin/usage").await.body;
        (sum(&body["items"], "calls") == 1).then_some(())
    })
    .await;

    for (query, text) in [
        ("user=ADA%40example.org", "ada@example.org</a>"),
        ("user=nobody", "No account has this address."),
        ("after=0.0.00000000-0000-7000-8000-000000000001", "No entries found"),
    ] {
        let page = console.get(&format!("/admin/usage?by=user&{query}")).await.text();
        assert!(page.contains(text), "{query}: {page}");
    }
    let people = console.get("/admin/usage?by=user").await.text();
    assert!(people.contains("class=\"number\" aria-sort=\"descending\">Credits</th>"), "{people}");
    let malformed = console.get("/admin/usage?by=user&after=malformed").await;
    assert_eq!(malformed.status, 400, "{}", malformed.text());
}

async fn usage_by_model_is_paged_sorted_and_searched(database: TestDatabase) {
    let demo = Demo::start(0).expect("a demo upstream");
    let setting = TestConfig::on(database).with_upstream(&demo.endpoint());
    let (app, ada, console) = administrator(setting).await;
    assert_eq!(ada.post(CHAT, &chat_request("good day")).await.status, 200);
    until(async || {
        let body = console.get("/api/admin/usage").await.body;
        (sum(&body["items"], "calls") == 1).then_some(())
    })
    .await;
    // Models with more calls are the first ones, also in the chart.
    for number in 0..60 {
        let sums = "failed, input_tokens, cached_input_tokens, output_tokens, spent_micros, \
                    timed_calls, duration_millis";
        let copy = format!(
            "INSERT INTO usage_by_group (day, group_id, provider, model, calls, {sums})
            SELECT day, group_id, provider, 'planted-{number:02}', {number} + 2, {sums}
            FROM usage_by_group WHERE model = 'test-model'"
        );
        TestApp::execute(&app, &copy).await;
    }
    let open =
        async |query: &str| console.get(&format!("/admin/usage?by=model{query}")).await.text();

    let by_cost = open("").await;
    let by_name = open("&sort=name").await;
    let (before, _) = by_name.split_once("\" rel=\"next\"").expect("a link to the next page");
    let (_, next) = before.rsplit_once("after=").expect("the key of a row");
    let last = open(&format!("&sort=name&after={next}")).await;
    let found_page = open("&search=PLANTED-0").await;

    assert!(by_cost.contains("planted-10") && !by_cost.contains("test-model"), "{by_cost}");
    assert!(by_name.contains("planted-00") && !by_name.contains("test-model"), "{by_name}");
    assert!(next.ends_with("planted-49"), "{next}");
    assert!(last.contains("test-model") && !last.contains("planted-00"), "{last}");
    assert!(last.contains("First page") && !last.contains("rel=\"next\""), "{last}");
    assert!(
        found_page.contains("planted-09") && !found_page.contains("test-model"),
        "{found_page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_usage_is_counted_in_the_metrics() {
    let demo = Demo::start(0).unwrap();
    let app = upstream_config(&demo.endpoint()).start().await;
    let ada = app.signed_in().await;

    ada.post(CHAT, &chat_request("good day")).await;

    until(async || {
        let metrics = app.anonymous().get("/metrics").await.text();
        metrics.contains("pia_ai_usage_written_total 1\n").then_some(())
    })
    .await;
}
