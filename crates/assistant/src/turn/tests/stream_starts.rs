//! Tests of responses that start with an error.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::error::AssistantError;
use crate::fakes::turns::{
    ANSWER, EMPTY_EVENT, called_models, catalogue_of, entry, full_answer, new_chat, request_body,
    stream_body, stream_text, used_keys, with_fallback,
};
use crate::fakes::{Script, TestEnv, caller, look, pass};
use crate::ports::Frame;

fn answer() -> Script {
    Script::Frames(vec![Ok(pass(EMPTY_EVENT)), Ok(Frame::Done)])
}

/// Returns a stream whose first event is an error.
fn failing(error: &str) -> Script {
    Script::Frames(vec![Ok(Frame::Alive), Ok(look(error)), Ok(Frame::Done)])
}

#[tokio::test]
async fn a_stream_that_starts_with_an_error_falls_back() {
    for error in [
        r#"{"error":{"message":"x","type":"server_error","code":null}}"#,
        r#"{"error":{"message":"x","code":503}}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
    ] {
        let env = TestEnv::with_scripts(vec![failing(error), answer()]);

        let stream = stream_text(&env, with_fallback(), &stream_body()).await;

        assert!(stream.starts_with(EMPTY_EVENT), "{stream}");
        assert!(stream.contains(r#""model":"second""#), "{stream}");
        let [record] = env.usage_records().try_into().unwrap();
        assert_eq!(record.model, "second", "{error}");
    }
}

#[tokio::test]
async fn a_key_whose_stream_starts_with_an_error_is_replaced() {
    let busy = r#"{"error":{"message":"x","type":"rate_limit_error"}}"#;
    let env = TestEnv::with_scripts(vec![failing(busy), answer()]);
    let two_keys = catalogue_of(vec![entry("first").with_key("k2")]);

    stream_text(&env, two_keys, &stream_body()).await;

    assert_eq!(used_keys(&env).len(), 2);
}

#[tokio::test]
async fn a_stream_that_starts_with_an_error_is_refused_without_a_fallback() {
    let error_of = async |error: &str, body: &Value| {
        let script = Script::Frames(vec![Ok(look(error)), Ok(Frame::Done)]);
        let env = TestEnv::with_scripts(vec![script]);
        let chat = new_chat(&env, catalogue_of(vec![entry("first")]));
        let outcome = chat.answer(caller(), Bytes::from(body.to_string())).await;
        assert_eq!(env.usage_records(), [], "nothing is owed for {error}");
        outcome.err().unwrap()
    };
    let mut with_tools = stream_body();
    with_tools["tools"] = json!([{ "type": "function" }]);

    let server_error = error_of(r#"{"error":{"type":"server_error"}}"#, &stream_body()).await;
    let busy_error = error_of(r#"{"error":{"code":429}}"#, &stream_body()).await;
    let context_json = r#"{"error":{"code":"context_length_exceeded"}}"#;
    let context_error = error_of(context_json, &stream_body()).await;
    let tools_json = r#"{"error":{"message":"no tools","code":500}}"#;
    let tools_error = error_of(tools_json, &with_tools).await;

    assert_eq!(server_error, AssistantError::UpstreamFailed);
    assert_eq!(busy_error, AssistantError::UpstreamBusy { retry_after: Duration::from_secs(10) });
    assert_eq!(context_error, AssistantError::ContextTooLong);
    assert_eq!(tools_error, AssistantError::ToolsRefused);
}

#[tokio::test]
async fn a_full_response_that_is_an_error_falls_back() {
    let error = Script::Full(r#"{"error":{"message":"x","type":"server_error"}}"#);
    let env = TestEnv::with_scripts(vec![error, Script::Full(ANSWER)]);

    full_answer(&env, with_fallback(), &request_body()).await.unwrap();

    assert_eq!(called_models(&env), ["first", "second"]);
}
