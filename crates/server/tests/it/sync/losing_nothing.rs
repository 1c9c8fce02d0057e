//! What was answered is there, whatever happens next.

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::{NOTHING, id, moved, pull, todo, todos};
use crate::harness::PASSWORD;
use crate::program::Call;

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_was_answered_outlives_a_kill_and_another_is_whole_or_absent() {
    let call = Call::new().licensed().with("RateLimits__Sync", "1000000");
    let program = call.start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    program.stranger().post("/auth/register", &person).await;
    let envelope = program.stranger().post("/auth/login/local", &person).await;
    let ada = program.stranger().with_tokens(&envelope.body);

    // Each push is of five; some are answered when the server is killed.
    let body =
        |push: u128| todos(&(0..5).map(|it| todo(push * 5 + it, 1, "x")).collect::<Vec<_>>());
    let mut answered = Vec::new();
    for push in 0..10 {
        assert_eq!(ada.post("/api/sync/push", &body(push)).await.status, 200);
        answered.push(push);
    }
    let pushes = (10..60_u128).map(|push| {
        let (ada, body) = (&ada, body(push).to_string());
        async move {
            let headers = [("content-type", "application/json")];
            let mut socket = ada.begin("POST", "/api/sync/push", &headers, body.as_bytes()).await;
            let mut raw = Vec::new();
            drop(socket.read_to_end(&mut raw).await);
            raw.starts_with(b"HTTP/1.1 200").then_some(push)
        }
    });
    let killed = async {
        tokio::task::yield_now().await;
        program.signal("KILL");
    };
    let (late, ()) = futures_util::future::join(join_all(pushes), killed).await;
    answered.extend(late.into_iter().flatten());

    let again = call.beside().licensed().start().await;
    let envelope = again.stranger().post("/auth/login/local", &person).await;
    let kept = moved(&pull(&again.stranger().with_tokens(&envelope.body), NOTHING).await).0;

    for push in 0..60_u128 {
        let there = (0..5).filter(|it| kept.contains(&id(push * 5 + it))).count();
        assert!([0, 5].contains(&there), "push {push} is half there: {there}");
        assert!(there == 5 || !answered.contains(&push), "push {push} was answered and is gone");
    }
}
