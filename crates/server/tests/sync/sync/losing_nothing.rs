//! Tests that all acknowledged pushes survive a crash.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::on_both_databases;
use pia_server_testkit::program::Invocation;
use pia_testkit::databases::TestDatabase;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::sync::Notify;

use super::{NOTHING, changed_ids, id, pull, todo, todos};

on_both_databases!(acknowledged_pushes_survive_a_crash_and_others_are_atomic);

/// Number of concurrent pushes.
const PUSHES: u128 = 60;
/// Number of items in each push.
const ITEMS: u128 = 40;
/// Number of answers after which the server is killed.
const ANSWERED: usize = 5;

async fn acknowledged_pushes_survive_a_crash_and_others_are_atomic(database: TestDatabase) {
    let call = Invocation::new()
        .licensed()
        .with("RateLimits__Sync", "1000000")
        .with("Database__Provider", database.provider().name())
        .with("Database__ConnectionString", &database.url);
    let program = call.start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    program.anonymous().post("/auth/register", &person).await;
    let envelope = program.anonymous().post("/auth/login/local", &person).await;
    let ada = program.anonymous().with_tokens(&envelope.body);

    let answers = AtomicUsize::new(0);
    let enough_answers = Notify::new();
    let pushes = (0..PUSHES).map(|push| {
        let items: Vec<_> = (0..ITEMS).map(|it| todo(push * ITEMS + it, 1, "x")).collect();
        let ada = &ada;
        let body = todos(&items).to_string();
        let answers = &answers;
        let enough_answers = &enough_answers;
        async move {
            let headers = [("content-type", "application/json")];
            let mut socket = ada.begin("POST", "/api/sync/push", &headers, body.as_bytes()).await;
            let mut raw = vec![0; 12];
            let is_accepted = socket.read_exact(&mut raw).await.is_ok() && raw == *b"HTTP/1.1 200";
            if is_accepted && answers.fetch_add(1, Ordering::SeqCst) + 1 == ANSWERED {
                enough_answers.notify_one();
            }
            is_accepted.then_some(push)
        }
    });
    let kill = async {
        enough_answers.notified().await;
        program.signal("KILL");
    };
    let (outcomes, ()) = futures_util::future::join(join_all(pushes), kill).await;
    let answered_pushes: Vec<u128> = outcomes.into_iter().flatten().collect();

    let second_server = call.beside().start().await;
    let envelope = second_server.anonymous().post("/auth/login/local", &person).await;
    let ada = second_server.anonymous().with_tokens(&envelope.body);
    let mut since = NOTHING.to_owned();
    let mut stored_ids = Vec::new();
    loop {
        let page = pull(&ada, &since).await;
        stored_ids.extend(changed_ids(&page).0);
        super::cursor(&page).clone_into(&mut since);
        if page["hasMore"] != true {
            break;
        }
    }

    let answered_count = answered_pushes.len();
    let some_were_in_flight = answered_count < 60;
    assert!(answered_count >= ANSWERED && some_were_in_flight, "{answered_count}");
    for push in 0..PUSHES {
        let count = (0..ITEMS).filter(|it| stored_ids.contains(&id(push * ITEMS + it))).count();
        assert!([0, 40].contains(&count), "push {push} was stored in part: {count}");
        let is_stored = count == 40;
        assert!(is_stored || !answered_pushes.contains(&push), "push {push} was lost");
    }
}
