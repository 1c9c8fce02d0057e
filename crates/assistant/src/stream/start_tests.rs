//! Tests of answers that begin with an error.

use super::*;

#[tokio::test]
async fn a_stream_that_begins_with_an_error_falls_back_as_if_it_had_been_refused() {
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
        let around = Surroundings::with_scripts(vec![failing(error), answer()]);

        let stream = streamed(&around, with_fallback(), &stated_for_a_stream()).await;

        assert!(
            stream.starts_with("data: {\"choices\":[{\"delta\":{}}]}\n\n")
                && stream.contains(r#""model":"second""#)
        );
        let [record] = around.noted().try_into().unwrap();
        assert_eq!(record.model, "second", "{error}");
    }

    // Another key, of the same model.
    let two_keys = catalogue(vec![entry("first").with_key("k2")]);
    let busy = r#"{"error":{"message":"x","type":"rate_limit_error"}}"#;
    let around = Surroundings::with_scripts(vec![failing(busy), answer()]);
    streamed(&around, two_keys, &stated_for_a_stream()).await;
    assert_eq!(models(&around).len(), 2);
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_and_has_no_fallback_is_refused_with_a_status() {
    let refused = async |error: &str, body: &Value| {
        let script = Script::Frames(vec![Ok(look(error)), Ok(Frame::Done)]);
        let around = Surroundings::with_scripts(vec![script]);
        let chat = chat(&around, catalogue(vec![entry("first")]));
        let requested = chat.answer(caller(), Bytes::from(body.to_string())).await;
        assert_eq!(around.noted(), [], "nothing is owed for {error}");
        requested.err().unwrap()
    };
    let mut with_tools = stated_for_a_stream();
    with_tools["tools"] = json!([{ "type": "function" }]);

    let failed = refused(r#"{"error":{"type":"server_error"}}"#, &stated_for_a_stream()).await;
    let busy = refused(r#"{"error":{"code":429}}"#, &stated_for_a_stream()).await;
    let long = r#"{"error":{"code":"context_length_exceeded"}}"#;
    let long = refused(long, &stated_for_a_stream()).await;
    let tools = refused(r#"{"error":{"message":"no tools","code":500}}"#, &with_tools).await;

    assert_eq!((failed, long), (AssistantError::UpstreamFailed, AssistantError::ContextTooLong));
    assert_eq!(busy, AssistantError::UpstreamBusy { retry_after: Duration::from_secs(10) });
    assert_eq!(tools, AssistantError::ToolsRefused);
}

#[tokio::test]
async fn a_whole_answer_that_is_an_error_falls_back_too() {
    let error = Script::Whole(r#"{"error":{"message":"x","type":"server_error"}}"#);
    let around = Surroundings::with_scripts(vec![error, Script::Whole(ANSWER)]);

    whole(&around, with_fallback(), &request_body()).await.unwrap();

    let requested: Vec<_> = models(&around).into_iter().map(|it| it.0).collect();
    assert_eq!(requested, ["first", "second"]);
}
