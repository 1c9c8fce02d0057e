//! Tests of responses that start with an error.

use super::*;

#[tokio::test]
async fn a_stream_that_starts_with_an_error_falls_back() {
    let answer = || {
        Script::Frames(vec![Ok(pass("data: {\"choices\":[{\"delta\":{}}]}\n\n")), Ok(Frame::Done)])
    };
    let failing =
        |error: &str| Script::Frames(vec![Ok(Frame::Alive), Ok(look(error)), Ok(Frame::Done)]);
    for error in [
        r#"{"error":{"message":"x","type":"server_error","code":null}}"#,
        r#"{"error":{"message":"x","code":503}}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
    ] {
        let env = TestEnv::with_scripts(vec![failing(error), answer()]);

        let stream = stream_text(&env, with_fallback(), &stream_body()).await;

        assert!(
            stream.starts_with("data: {\"choices\":[{\"delta\":{}}]}\n\n")
                && stream.contains(r#""model":"second""#)
        );
        let [record] = env.usage_records().try_into().unwrap();
        assert_eq!(record.model, "second", "{error}");
    }

    // Another key, of the same model.
    let two_keys = catalogue(vec![entry("first").with_key("k2")]);
    let busy = r#"{"error":{"message":"x","type":"rate_limit_error"}}"#;
    let env = TestEnv::with_scripts(vec![failing(busy), answer()]);
    stream_text(&env, two_keys, &stream_body()).await;
    assert_eq!(env.calls().len(), 2);
}

#[tokio::test]
async fn a_stream_that_starts_with_an_error_is_refused_without_a_fallback() {
    let error_of = async |error: &str, body: &Value| {
        let script = Script::Frames(vec![Ok(look(error)), Ok(Frame::Done)]);
        let env = TestEnv::with_scripts(vec![script]);
        let chat = chat(&env, catalogue(vec![entry("first")]));
        let outcome = chat.answer(caller(), Bytes::from(body.to_string())).await;
        assert_eq!(env.usage_records(), [], "nothing is owed for {error}");
        outcome.err().unwrap()
    };
    let mut with_tools = stream_body();
    with_tools["tools"] = json!([{ "type": "function" }]);

    let error = error_of(r#"{"error":{"type":"server_error"}}"#, &stream_body()).await;
    let busy = error_of(r#"{"error":{"code":429}}"#, &stream_body()).await;
    let long_error = r#"{"error":{"code":"context_length_exceeded"}}"#;
    let long_text_error = error_of(long_error, &stream_body()).await;
    let tools = error_of(r#"{"error":{"message":"no tools","code":500}}"#, &with_tools).await;
    assert_eq!(error, AssistantError::UpstreamFailed);
    assert_eq!(long_text_error, AssistantError::ContextTooLong);
    assert_eq!(busy, AssistantError::UpstreamBusy { retry_after: Duration::from_secs(10) });
    assert_eq!(tools, AssistantError::ToolsRefused);
}

#[tokio::test]
async fn a_full_response_that_is_an_error_falls_back() {
    let error = Script::Full(r#"{"error":{"message":"x","type":"server_error"}}"#);
    let env = TestEnv::with_scripts(vec![error, Script::Full(ANSWER)]);

    full(&env, with_fallback(), &request_body()).await.unwrap();

    assert_eq!(called_models(&env), ["first", "second"]);
}
