//! Long chats, and what the server holds of them.

use pia_server_testkit::harness::PASSWORD;
use pia_server_testkit::program::{Call, ServerProcess, peak};

use super::*;

const MIB: usize = 1 << 20;

/// The real server, so that its memory is its alone.
async fn program() -> (ServerProcess, Client) {
    let program = Call::new().licensed().start().await;
    let person = json!({ "email": "ada@example.org", "password": PASSWORD });
    let caller = program.stranger();
    assert_eq!(caller.post("/auth/register", &person).await.status, 200);
    let envelope = caller.post("/auth/login/local", &person).await;
    (program, caller.with_tokens(&envelope.body))
}

/// A chat of so many bytes in short messages, of which a tree would take many
/// times as much.
fn long(id: &str, second: usize, bytes: usize) -> String {
    let message = r#"{"role":"user","content":"Hello","future":[1,2,3,4,5,6,7,8,9,10]},"#;
    let messages = message.repeat(bytes / message.len());
    let messages = messages.trim_end_matches(',');
    let at = format!("2026-08-01T00:00:{second:02}Z");
    format!(r#"{{"id":"{id}","updatedAt":"{at}","messages":[{messages}]}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_chat_costs_a_few_times_its_length() {
    let (program, ada) = program().await;
    stored(&ada).await;
    let id = new_id();
    let document = long(&id, 1, 10 * MIB);
    let before = peak(&program);

    let made = put_text(&ada, &id, &document).await;
    let stored = peak(&program) - before;
    let reported = get(&ada, &id).await;
    let lost = put_text(&ada, &id, &long(&id, 0, 10 * MIB)).await;
    let list = ada.get(CHATS).await;
    let all = peak(&program) - before;

    assert_eq!([made.status, reported.status, lost.status, list.status], [201, 200, 409, 200]);
    assert!(reported.bytes == made.bytes && lost.bytes == made.bytes);
    assert!(stored < 80 * MIB, "{} MiB for one of 10", stored / MIB);
    assert!(all < 200 * MIB, "{} MiB for all", all / MIB);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_long_chats_are_not_all_held_at_once() {
    let (program, ada) = program().await;
    for second in 0..12 {
        let id = new_id();
        assert_eq!(put_text(&ada, &id, &long(&id, second, 4 * MIB)).await.status, 201);
    }
    let before = peak(&program);

    let list = ada.get(&format!("{CHATS}?limit=500")).await;
    let grown = peak(&program) - before;

    assert_eq!(
        (list.body["chats"].as_array().expect("chats").len(), &list.body["hasMore"]),
        (1, &json!(true))
    );
    assert!(grown < 48 * MIB, "{} MiB", grown / MIB);
}
