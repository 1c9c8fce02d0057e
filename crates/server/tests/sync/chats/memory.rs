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

    let creation_response = put_text(&ada, &id, &document).await;
    let growth_of_creation = peak(&program) - previous_peak;
    let stored_chat = get(&ada, &id).await;
    let lost_response = put_text(&ada, &id, &long(&id, 0, 10 * MIB)).await;
    let list = ada.get(CHATS).await;
    let growth_of_all = peak(&program) - previous_peak;

    assert_eq!(creation_response.status, 201);
    assert_eq!(stored_chat.status, 200);
    assert_eq!(lost_response.status, 409);
    assert_eq!(list.status, 200);
    // Without `assert_eq`, which would print megabytes.
    assert!(stored_chat.bytes == creation_response.bytes);
    assert!(lost_response.bytes == creation_response.bytes);
    assert!(growth_of_creation < 80 * MIB, "{} MiB for 10 MiB", growth_of_creation / MIB);
    assert!(growth_of_all < 200 * MIB, "{} MiB for all", growth_of_all / MIB);
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
    let growth = peak(&program) - previous_peak;

    assert_eq!(list.body["chats"].as_array().expect("chats").len(), 1);
    assert_eq!(list.body["hasMore"], true);
    assert!(growth < 48 * MIB, "{} MiB", growth / MIB);
}
