//! Tests of the memory that long chats take.

use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::program::{Invocation, ServerProcess, peak};

use super::*;

const MIB: usize = 1 << 20;

/// Starts the server as a separate process, so that its memory can be measured.
async fn program() -> (ServerProcess, Client) {
    let program = Invocation::new().licensed().start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    let caller = program.anonymous();
    assert_eq!(caller.post("/auth/register", &person).await.status, 200);
    let envelope = caller.post("/auth/login/local", &person).await;
    (program, caller.with_tokens(&envelope.body))
}

/// Returns a chat of short messages, of which a parsed tree would take a
/// multiple of `bytes`.
fn long(id: &str, second: usize, bytes: usize) -> String {
    let message = r#"{"role":"user","content":"Hello","future":[1,2,3,4,5,6,7,8,9,10]},"#;
    let repeated = message.repeat(bytes / message.len());
    let messages = repeated.trim_end_matches(',');
    let at = format!("2026-08-01T00:00:{second:02}Z");
    format!(r#"{{"id":"{id}","updatedAt":"{at}","messages":[{messages}]}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_chat_takes_a_small_multiple_of_its_length() {
    let (program, ada) = program().await;
    create_chat(&ada).await;
    let id = new_id();
    let document = long(&id, 1, 10 * MIB);
    let previous_peak = peak(&program);

    let response = put_text(&ada, &id, &document).await;
    let stored_peak = peak(&program) - previous_peak;
    let fetched = get(&ada, &id).await;
    let lost_response = put_text(&ada, &id, &long(&id, 0, 10 * MIB)).await;
    let list = ada.get(CHATS).await;
    let grown = peak(&program) - previous_peak;

    assert_eq!(
        [response.status, fetched.status, lost_response.status, list.status],
        [201, 200, 409, 200]
    );
    assert!(fetched.bytes == response.bytes && lost_response.bytes == response.bytes);
    assert!(stored_peak < 80 * MIB, "{} MiB for one of 10", stored_peak / MIB);
    assert!(grown < 200 * MIB, "{} MiB for all", grown / MIB);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_long_chats_are_not_in_memory_at_once() {
    let (program, ada) = program().await;
    for second in 0..12 {
        let id = new_id();
        assert_eq!(put_text(&ada, &id, &long(&id, second, 4 * MIB)).await.status, 201);
    }
    let previous_peak = peak(&program);

    let list = ada.get(&format!("{CHATS}?limit=500")).await;
    let grown = peak(&program) - previous_peak;

    assert_eq!(list.body["chats"].as_array().expect("chats").len(), 1);
    assert_eq!(list.body["hasMore"], true);
    assert!(grown < 48 * MIB, "{} MiB", grown / MIB);
}
