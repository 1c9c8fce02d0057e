//! Tests of budgets, as callers experience them.

use std::sync::Arc;
use std::time::Duration;

use pia_demo_upstream::Demo;
use pia_kernel::{Clock, SystemClock, Timestamp};
use pia_server_testkit::ai_client::{CHAT, Live, OPTIMIZE, chat_request, streaming_request};
use pia_server_testkit::ai_peer::Fixed;
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::console::Console;
use pia_server_testkit::credentials::create_api_key;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::program::Invocation;
use pia_storage::DatabaseKind;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};

on_both_databases!(
    without_limits_nothing_else_is_reported,
    what_is_spent_is_reported_by_window,
    whoever_calls_with_a_key_is_reported_of_its_purse_too,
    a_members_hour_and_day_refuse_by_their_names,
    a_week_that_is_used_up_reports_of_pool_and_top_ups,
    a_groups_caps_refuse_without_the_pool,
    a_suspended_free_tier_serves_nobody_who_does_not_pay_and_makes_no_accounts,
    two_hundred_calls_at_once_on_two_servers_spend_a_budget_for_fifty,
    an_answer_is_capped_by_what_is_left,
    a_text_that_the_budget_had_cut_off_is_refused_as_the_budget_is,
    who_hangs_up_before_the_usage_is_reported_pays_for_what_was_streamed,
    nobody_is_admitted_unseen_while_the_database_is_away,
    top_ups_are_granted_and_checked_from_the_command_line,
    reservations_of_a_killed_server_are_released_by_another,
);

const CREDITS: &str = "/api/ai/credits";

/// Server and its upstream, with a user.
struct Scene {
    demo: Demo,
    app: TestApp,
    ada: Client,
    clock: Arc<ManualClock>,
}

/// Starts a server whose default group has these settings; a token in and out costs a
/// credit.
async fn start(database: TestDatabase, settings: &str) -> Scene {
    start_with(TestConfig::on(database), settings).await
}

async fn start_with(setting: TestConfig, settings: &str) -> Scene {
    let demo = Demo::start(0).expect("a demo upstream");
    // In the middle of a week, so that none ends while a test runs.
    let now = SystemClock.now().micros();
    let week = i64::try_from(Duration::from_hours(7 * 24).as_micros()).expect("a week");
    let wednesday = (now / week) * week + week - week / 7;
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(wednesday)));
    let setting = setting
        .with_upstream(&demo.endpoint())
        .at(Arc::clone(&clock) as Arc<dyn Clock>)
        .with("Jwt__AccessTokenLifetime", "1.00:00:00");
    let app = priced(setting).start().await;
    let ada = app.signed_in().await;
    if !settings.is_empty() {
        app.admin(&format!("group set default {settings}")).await.expect("settings");
    }
    Scene { demo, app, ada, clock }
}

/// Sets the price of a token, in or out, to a credit.
fn priced(setting: TestConfig) -> TestConfig {
    let kinds = ["Input", "Output", "CachedInput"];
    kinds.into_iter().fold(setting, |setting, kind| {
        setting.with(&format!("Ai__CreditRates__{kind}PerMillion"), 1_000_000)
    })
}

/// Returns a request for an answer of this many tokens at most.
fn capped(text: &str, tokens: i64) -> Value {
    let mut body = chat_request(text);
    body["max_tokens"] = tokens.into();
    body
}

async fn reported(client: &Client) -> Value {
    let answer = client.get(CREDITS).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.body
}

/// Returns the reported credits once they fulfil a condition.
async fn reported_once(client: &Client, is_expected: impl Fn(&Value) -> bool) -> Value {
    until(async || Some(reported(client).await).filter(|it| is_expected(it))).await
}

/// Returns the refusal for a budget, without its message and the time of the reset.
fn refused(answer: &TestResponse) -> Value {
    assert_eq!(answer.status, 429, "{}", answer.text());
    assert_eq!(answer.error(), "Token Limit Exceeded");
    let wait = answer.header("retry-after").and_then(|it| it.parse::<u64>().ok());
    assert!(wait.is_some_and(|it| it > 0), "{:?}", answer.headers);

    let mut body = answer.body.clone();
    let fields = body.as_object_mut().expect("an object");
    fields.remove("error");
    assert!(fields.remove("message").is_some_and(|it| it.is_string()));

    let resets = fields.remove("resetsAt");
    assert!(resets.is_some_and(|it| it.as_str().is_some_and(|it| it.ends_with('Z'))));
    body
}

async fn without_limits_nothing_else_is_reported(database: TestDatabase) {
    let scene = start(database, "").await;
    let Scene { ada, app, demo, .. } = &scene;

    let previous_credits = reported(ada).await;
    ada.post(CHAT, &chat_request("good day")).await;

    assert_eq!(previous_credits, json!({ "limited": false }));
    assert_eq!(demo.last().body.get("max_tokens"), None);
    assert_eq!(app.anonymous().get(CREDITS).await.refusal(), (401, "unauthorized"));
}

async fn what_is_spent_is_reported_by_window(database: TestDatabase) {
    let settings = "credits.hourly=4000 credits.daily=5000 credits.weekly=6000 \
                    credits.group-daily=7000 credits.group-weekly=8000 credits.pool=true";
    let scene = start(database, settings).await;
    let Scene { ada, .. } = &scene;

    ada.post(CHAT, &capped("good day", 1000)).await;
    let reported = reported_once(ada, |it| it["hourly"]["used"] == 7).await;

    let ends = reported["weekly"]["resetsAt"].clone();
    let expected = json!({
        "limited": true,
        "hourly": { "limit": 4000, "used": 7 },
        "daily": { "limit": 5000, "used": 7 },
        "weekly": { "limit": 6000, "used": 7, "resetsAt": ends },
        "pool": { "total": 0, "used": 0, "remaining": 0, "resetsAt": ends },
        "groupCap": {
            "daily": { "limit": 7000, "used": 7 },
            "weekly": { "limit": 8000, "used": 7, "resetsAt": ends },
        },
    });
    assert_eq!(reported, expected);
    let monday = ends.as_str().unwrap_or_default();
    assert!(monday.ends_with("T22:00:00Z") || monday.ends_with("T23:00:00Z"), "{monday}");
}

async fn whoever_calls_with_a_key_is_reported_of_its_purse_too(database: TestDatabase) {
    let setting = TestConfig::on(database).with("Admin__RequireSecondFactor", false);
    let Scene { app, demo: _demo, .. } = start_with(setting, "").await;
    let ada = app.sign_up("ada@example.org").await;
    let wish = json!({ "weeklyCredits": 1006 });
    let created = create_api_key(&ada, wish).await;
    let key = created["apiKey"].as_str().expect("a key").to_owned();
    let script = Client { access: Some(key), ..app.anonymous() };

    assert_eq!(script.post(CHAT, &chat_request("good day")).await.status, 200);
    let unlimited_credits = reported_once(&script, |it| it["key"]["used"] == 7).await;
    app.admin("group set default credits.daily=5000").await.expect("settings");
    let refusal = refused(&script.post(CHAT, &chat_request("good day")).await);
    let limited_credits = reported_once(&script, |it| it["limited"] == true).await;
    let own_credits = reported(&ada).await;
    app.admin("group set default credits.weekly=5000 credits.pool=true").await.expect("a pool");
    let pooled_refusal = refused(&script.post(CHAT, &chat_request("good day")).await);
    let console = Console::open(&app, "ada@example.org").await;
    let id = created["id"].as_str().expect("an id");
    let page = console.get(&format!("/account/api-keys/{id}")).await.text();

    let ends = unlimited_credits["key"]["resetsAt"].clone();
    let purse = json!({ "limit": 1006, "used": 7, "resetsAt": ends });
    assert_eq!(unlimited_credits, json!({ "limited": false, "key": purse }));

    let of_key = json!({ "period": "weekly", "unit": "credits", "limit": 1006, "used": 7 });
    assert_eq!(refusal, of_key);
    let mut of_both = of_key;
    of_both["poolLimit"] = json!(0);
    of_both["poolUsed"] = json!(0);
    assert_eq!(pooled_refusal, of_both);

    let daily = json!({ "limit": 5000, "used": 0 });
    assert_eq!(limited_credits, json!({ "limited": true, "daily": daily, "key": purse }));
    assert_eq!(own_credits, json!({ "limited": true, "daily": daily }));
    for cell in ["This week", ">999<", ">7<", ">1,006<"] {
        assert!(page.contains(cell), "{cell}: {page}");
    }
}

async fn a_members_hour_and_day_refuse_by_their_names(database: TestDatabase) {
    let settings = "credits.hourly=1200 credits.daily=2300";
    let scene = start(database, settings).await;
    let Scene { ada, clock, .. } = &scene;
    let long_text = format!("demo:chunks=300 {}", "word ".repeat(50));

    let first_response = ada.post(CHAT, &capped(&long_text, 1000)).await;
    reported_once(ada, |it| it["hourly"]["used"].as_i64() > Some(200)).await;
    let hourly = refused(&ada.post(CHAT, &capped("good day", 1000)).await);
    let hourly_use = reported(ada).await["hourly"]["used"].clone();
    let mut last_refusal = Value::Null;
    for _ in 0..9 {
        clock.advance(Duration::from_mins(62));
        let answer = ada.post(CHAT, &capped(&long_text, 1000)).await;
        if answer.status != 200 {
            last_refusal = refused(&answer);
            break;
        }
        reported_once(ada, |it| it["hourly"]["used"].as_i64() > Some(200)).await;
    }

    assert_eq!(first_response.status, 200, "{}", first_response.text());
    let of = |period: &str, limit: i64, used: &Value| json!({ "period": period, "unit": "credits", "limit": limit, "used": used });
    assert_eq!(hourly, of("hourly", 1200, &hourly_use));
    assert_eq!(last_refusal["period"], "daily", "{last_refusal}");
    assert_eq!(last_refusal, of("daily", 2300, &last_refusal["used"]));
}

async fn a_week_that_is_used_up_reports_of_pool_and_top_ups(database: TestDatabase) {
    let scene = start(database, "credits.weekly=900").await;
    let Scene { ada, app, .. } = &scene;

    let plain_refusal = refused(&ada.post(CHAT, &chat_request("good day")).await);
    app.admin("group set default credits.pool=true").await.expect("a pool");
    let pooled_refusal = refused(&ada.post(CHAT, &chat_request("good day")).await);
    app.admin("credits top-up default 1").await.expect("a top-up");
    let topped_up_refusal = refused(&ada.post(CHAT, &chat_request("good day")).await);
    app.admin("credits top-up default 5000").await.expect("a top-up");
    let served_response = ada.post(CHAT, &chat_request("good day")).await;

    let week = |more: Value| {
        let mut reported =
            json!({ "period": "weekly", "unit": "credits", "limit": 900, "used": 0 });
        let fields = more.as_object().cloned().unwrap_or_default();
        reported.as_object_mut().expect("an object").extend(fields);
        reported
    };
    assert_eq!(plain_refusal, week(json!({})));
    assert_eq!(pooled_refusal, week(json!({ "poolLimit": 0, "poolUsed": 0 })));

    let both = json!({ "poolLimit": 0, "poolUsed": 0, "topUpGranted": 1, "topUpUsed": 0 });
    assert_eq!(topped_up_refusal, week(both));
    assert_eq!(served_response.status, 200, "{}", served_response.text());

    let reported = reported_once(ada, |it| it["weekly"]["used"] == 7).await;
    let top_up = json!({ "granted": 5001, "consumed": 0, "remaining": 5001, "isActive": true });
    assert_eq!(reported["topUp"], top_up);
}

async fn a_groups_caps_refuse_without_the_pool(database: TestDatabase) {
    let settings = "credits.weekly=9000 credits.pool=true credits.group-daily=900";
    let scene = start(database, settings).await;
    let Scene { ada, app, .. } = &scene;

    let answer = ada.post(CHAT, &chat_request("good day")).await;
    let daily = refused(&answer);
    // It requests more than there ever is: a minute would not help.
    let wait: u64 = answer.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((86_400..=87_300).contains(&wait), "{wait}");
    let set = "group set default credits.group-daily=0 credits.group-weekly=900";
    app.admin(set).await.expect("settings");
    // As a stream it is refused before it begins, with the same status.
    let weekly = refused(&ada.post(CHAT, &streaming_request("good day")).await);

    let of = |period| json!({ "period": period, "unit": "credits", "limit": 900, "used": 0 });
    assert_eq!(daily, of("group-daily"));
    assert_eq!(weekly, of("group-weekly"));
}

async fn a_suspended_free_tier_serves_nobody_who_does_not_pay_and_makes_no_accounts(
    database: TestDatabase,
) {
    let scene = start(database, "").await;
    let Scene { ada, app, demo, clock } = &scene;
    app.reload(&json!({ "FreeTier": { "Suspended": true } }));

    let refusal = refused(&ada.post(CHAT, &chat_request("good day")).await);
    let suspended_credits = reported(ada).await;
    let person =
        json!({ "email": "new@example.org", "password": pia_server_testkit::harness::PASSWORD });
    let register = app.anonymous().post("/auth/register", &person).await;
    app.admin("group create Paying").await.expect("a group");
    let email = ada.get("/auth/me").await.body["email"].as_str().unwrap_or_default().to_owned();
    app.admin(&format!("group add {email} Paying")).await.expect("a member");
    // Who is in which group is remembered for five seconds.
    clock.advance(Duration::from_secs(6));
    let paying = until(async || {
        Some(ada.post(CHAT, &chat_request("good day")).await).filter(|it| it.status == 200)
    });

    assert_eq!(refusal, json!({ "period": "free_tier_suspended" }));
    assert_eq!(suspended_credits, json!({ "limited": false, "suspended": true }));
    assert_eq!(register.refusal(), (403, "free_tier_suspended"));
    assert_eq!(demo.call_counts().calls, 0);
    paying.await;
}

async fn two_hundred_calls_at_once_on_two_servers_spend_a_budget_for_fifty(database: TestDatabase) {
    const CALLS: u32 = 200;
    const AFFORDABLE_CALLS: u32 = 50;
    const MAX_TOKENS: i64 = 1_000;
    const MAX_PROMPT_TOKENS: i64 = 10;
    let budget = i64::from(AFFORDABLE_CALLS) * (MAX_TOKENS + MAX_PROMPT_TOKENS);
    let scene = start(database, &format!("credits.group-weekly={budget}")).await;
    let Scene { ada, app, demo, clock } = &scene;
    let beside = TestConfig::beside(app).at(Arc::clone(clock) as Arc<dyn Clock>);
    let other_server = priced(beside.with_upstream(&demo.endpoint())).start().await;
    let remote_client = Client { access: ada.access.clone(), ..other_server.anonymous() };

    // Nobody is answered before all have asked.
    let body = capped("demo:silent", MAX_TOKENS);
    let mut open_calls = Vec::new();
    for at in 0..CALLS {
        let client = if at % 2 == 0 { ada } else { &remote_client };
        open_calls.push(Live::ask(client, CHAT, &body).await);
    }
    assert!(demo.until(|it| it.open == u64::from(AFFORDABLE_CALLS)).await);

    until(async || {
        let mut refusal_count = 0;
        for server in [app.anonymous(), other_server.anonymous()] {
            let text = server.get("/metrics").await.text();
            let line = text.lines().find_map(|it| it.strip_prefix("pia_ai_refusals_total "));
            refusal_count += line.and_then(|it| it.parse::<u64>().ok()).unwrap_or_default();
        }
        (refusal_count == u64::from(CALLS - AFFORDABLE_CALLS)).then_some(())
    })
    .await;
    let check = app.admin("credits check").await;
    drop(open_calls);
    reported_once(ada, |it| it["groupCap"]["weekly"]["used"].as_i64() > Some(0)).await;

    assert_eq!(demo.call_counts().calls, u64::from(AFFORDABLE_CALLS));
    assert!(check.is_ok(), "{check:?}");
}

async fn an_answer_is_capped_by_what_is_left(database: TestDatabase) {
    let scene = start(database, "credits.daily=2000").await;
    let Scene { ada, demo, .. } = &scene;

    ada.post(CHAT, &capped("good day", 1500)).await;
    let requested = demo.last().body["max_tokens"].clone();
    let mut body = chat_request("good day");
    body["max_completion_tokens"] = 90_000.into();
    reported_once(ada, |it| it["daily"]["used"] == 7).await;
    ada.post(CHAT, &body).await;
    let last_request = demo.last().body;

    assert_eq!(requested, 1500);
    let cap = last_request["max_completion_tokens"].as_i64().unwrap_or_default();
    assert!((1900..2000).contains(&cap), "{last_request}");
    assert_eq!(last_request.get("max_tokens"), None);
}

async fn a_text_that_the_budget_had_cut_off_is_refused_as_the_budget_is(database: TestDatabase) {
    let scene = start(database, "credits.daily=3000").await;
    let Scene { ada, app, clock, .. } = &scene;
    let cut = json!({
        "choices": [{ "message": { "content": "Half a" }, "finish_reason": "length" }],
        "usage": { "prompt_tokens": 300, "completion_tokens": 1200 },
    });
    let upstream = Fixed::with_json(&cut.to_string()).await;
    let beside = TestConfig::beside(app).at(Arc::clone(clock) as Arc<dyn Clock>);
    let other_server = priced(beside.with_upstream(&upstream.endpoint)).start().await;
    let remote_client = Client { addr: other_server.addr, ..ada.clone() };

    let optimised = remote_client.post(OPTIMIZE, &json!({ "text": "x" })).await;
    let reported = reported_once(ada, |it| it["daily"]["used"] == 1500).await;

    let daily = json!({ "period": "daily", "unit": "credits", "limit": 3000, "used": 1500 });
    assert_eq!(refused(&optimised), daily);
    let wait: u64 = optimised.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((86_400..=87_300).contains(&wait), "{wait}");
    assert_eq!(reported["daily"], json!({ "limit": 3000, "used": 1500 }));
}

async fn who_hangs_up_before_the_usage_is_reported_pays_for_what_was_streamed(
    database: TestDatabase,
) {
    let scene = start(database, "credits.daily=90000").await;
    let Scene { ada, app, .. } = &scene;

    let text = "demo:slow=5 demo:chunks=10000 Hello";
    let mut streaming = Live::ask(ada, CHAT, &streaming_request(text)).await;
    streaming.until_count("data: ", 30).await;
    drop(streaming);
    let reported = reported_once(ada, |it| it["daily"]["used"].as_i64() > Some(0)).await;

    let daily_use = reported["daily"]["used"].as_i64().unwrap_or_default();
    assert!((29..400).contains(&daily_use), "{daily_use}");
    assert!(app.admin("credits check").await.is_ok());
}

async fn nobody_is_admitted_unseen_while_the_database_is_away(database: TestDatabase) {
    let scene = start(database, "credits.daily=90000").await;
    let Scene { ada, app, demo, .. } = &scene;
    app.execute("ALTER TABLE credit_windows RENAME TO away").await;

    let response = ada.post(CHAT, &chat_request("good day")).await;
    app.execute("ALTER TABLE away RENAME TO credit_windows").await;
    let served_response = ada.post(CHAT, &chat_request("good day")).await;

    assert_eq!(response.refusal(), (503, "unavailable"));
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(served_response.status, 200);
    assert_eq!(demo.call_counts().calls, 1);
}

async fn top_ups_are_granted_and_checked_from_the_command_line(database: TestDatabase) {
    let scene = start(database, "").await;
    let Scene { app, .. } = &scene;

    let input = app.admin("credits top-up default 7").await;
    let repeated_top_up = app.admin("credits top-up DEFAULT 3").await;
    let unknown_top_up = app.admin("credits top-up Nobody 3").await;
    let sound = app.admin("credits check").await;
    app.execute("UPDATE credit_windows SET reserved = 5").await;
    let unsound = app.admin("credits check").await;

    assert_eq!(input.expect("a top-up"), "7 credits added to group Default, 7 in total\n");
    assert_eq!(
        repeated_top_up.expect("a top-up"),
        "3 credits added to group Default, 10 in total\n"
    );
    assert!(
        unknown_top_up
            .is_err_and(|it| it.to_string().contains("no group has the name or id Nobody"))
    );
    assert_eq!(sound.expect("a check"), "Reserved credits match the reservations of open calls\n");
    assert!(unsound.is_err_and(|it| it.to_string().contains("top-up: reserved 5, open 0")));
    assert_eq!(app.count("audit_entries WHERE action = 'Group.ToppedUp'").await, 2);
}

/// Returns the number of rows of a table, which may have a condition.
async fn count_rows(database: &TestDatabase, table: &str) -> i64 {
    use diesel::sql_types::BigInt;
    use diesel_async::RunQueryDsl;
    let db = database.connect().await;
    let count = diesel::dsl::sql::<BigInt>(&format!("(SELECT COUNT(*) FROM {table})"));
    let query = diesel::select(count);
    let result: Result<i64, pia_storage::DbError> =
        pia_storage::on_conn!(db.reader(), |conn| query.get_result(conn).await?);
    result.expect("a count")
}

/// Kills a real process.
async fn reservations_of_a_killed_server_are_released_by_another(database: TestDatabase) {
    const OPEN_CALLS: u32 = 100;
    let demo = Demo::start(0).expect("a demo upstream");
    let server = Invocation::new()
        .licensed()
        .with("Ai__Endpoint", &demo.endpoint())
        .with("Ai__Model", "m")
        .with("RateLimits__Ai", "1000000")
        .with("Database__Provider", database.provider().name())
        .with("Database__ConnectionString", &database.url);
    let program = server.start().await;
    let person =
        json!({ "email": "ada@example.org", "password": pia_server_testkit::harness::PASSWORD });
    assert_eq!(program.anonymous().post("/auth/register", &person).await.status, 200);

    let envelope = program.anonymous().post("/auth/login/local", &person).await;
    let ada = program.anonymous().with_tokens(&envelope.body);
    let arguments = ["admin", "group", "set", "default", "credits.weekly=900"];
    let set = arguments.iter().fold(server.beside(), |call, word| call.argument(word)).run();
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));

    // The server caches the settings of the group for five seconds.
    until(async || reported(&ada).await["limited"].as_bool().filter(|it| *it)).await;

    let mut open_calls = Vec::new();
    for _ in 0..OPEN_CALLS {
        open_calls.push(Live::ask(&ada, CHAT, &capped("demo:silent", 1000)).await);
    }
    assert!(demo.until(|it| it.open == u64::from(OPEN_CALLS)).await);

    let previous_count = count_rows(&database, "credit_reservations").await;
    program.signal("KILL");
    program.end().await;
    let remaining_count = count_rows(&database, "credit_reservations").await;
    // As if fifteen seconds had passed.
    let past = match database.provider() {
        DatabaseKind::Postgres => "now() - interval '1 second'",
        DatabaseKind::Sqlite => "1",
    };
    let expire = format!("UPDATE credit_instances SET alive_until = {past}");
    pia_server_testkit::harness::execute(&database.connect().await, &expire).await;
    let next_server = server.beside().start().await;
    until(async || (count_rows(&database, "credit_reservations").await == 0).then_some(())).await;
    let arguments = ["admin", "credits", "check"];
    let check = arguments.iter().fold(server.beside(), |call, word| call.argument(word)).run();

    assert_eq!(previous_count, i64::from(OPEN_CALLS));
    assert_eq!(remaining_count, previous_count);
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    assert_eq!(count_rows(&database, "credit_windows WHERE reserved <> 0").await, 0);
    drop((open_calls, next_server));
}
