//! Turns of several calls in one stream.

use super::*;

#[tokio::test]
async fn a_search_in_a_stream_is_hidden() {
    let event = |json: &str| Ok(look(json));
    let searches = vec![
        Ok(pass("data: {\"choices\":[{\"delta\":{\"content\":\"I look. \"}}]}\n\n")),
        event(
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"pia_web_search","arguments":""}}]}}]}"#,
        ),
        event(
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"query\":\"x\"}"}}]}}]}"#,
        ),
        event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#),
        event(r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#),
        Ok(Frame::Done),
    ];
    let answers = vec![
        Ok(pass("data: {\"choices\":[{\"delta\":{\"content\":\"Fine.\"}}]}\n\n")),
        event(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#),
        event(r#"{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":3}}"#),
        Ok(Frame::Done),
    ];
    let env = TestEnv::with_scripts(vec![Script::Frames(searches), Script::Frames(answers)])
        .with_results(Err(DOWN));

    let stream = stream_text(&env, searching(), &stream_body()).await;

    let (words, usage) = stream.split_once("data: {\"choices\":[],").unwrap_or((&stream, ""));
    assert!(!stream.contains("tool_calls") && !stream.contains("pia_web_search"), "{stream}");
    assert!(words.contains("I look. ") && words.contains("Fine."), "{stream}");
    assert!(stream.contains(r#""prompt_tokens":40,"completion_tokens":5"#), "{stream} {usage}");
    assert_eq!(stream.matches("finish_reason").count(), 1);
    let result = env.calls()[1].body["messages"][2]["content"].to_string();
    assert!(result.contains("The search failed"), "{result}");
    assert_eq!(env.usage_records().len(), 2);
}

#[tokio::test]
async fn the_calls_of_a_turn_become_one_stream() {
    let start_event = |id: &str| {
        Ok(look(&format!(
            r#"{{"id":"{id}","model":"{id}","choices":[{{"index":0,"delta":{{"role":"assistant","content":""}}}}]}}"#
        )))
    };
    let text_event = |id: &str| {
        Ok(pass(&format!(
            "data: {{\"id\":\"{id}\",\"model\":\"{id}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"Fine.\"}}}}]}}\n\n"
        )))
    };
    let searches = vec![
        start_event("one"),
        Ok(look(
            r#"{"id":"one","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"pia_web_search","arguments":"{\"query\":\"x\"}"}}]}}]}"#,
        )),
        Ok(look(r#"{"id":"one","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#)),
        Ok(Frame::Done),
    ];
    let answers = vec![
        start_event("two"),
        text_event("two"),
        Ok(look(r#"{"id":"two","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#)),
        Ok(Frame::Done),
    ];
    let env = TestEnv::with_scripts(vec![Script::Frames(searches), Script::Frames(answers)])
        .with_results(Err(DOWN));

    let stream = stream_text(&env, searching(), &stream_body()).await;

    assert_eq!(stream.matches(r#""role":"assistant""#).count(), 1, "{stream}");
    assert!(stream.contains("Fine.") && !stream.contains("two"), "{stream}");
}

#[tokio::test]
async fn a_role_that_came_with_a_server_call_is_sent_with_the_text() {
    let searches = vec![
        Ok(look(
            r#"{"id":"one","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"pia_web_search","arguments":"{\"query\":\"x\"}"}}]}}]}"#,
        )),
        Ok(look(r#"{"id":"one","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#)),
        Ok(Frame::Done),
    ];
    let answers = vec![
        Ok(look(
            r#"{"id":"two","choices":[{"index":0,"delta":{"role":"assistant","content":"Fine."}}]}"#,
        )),
        Ok(look(r#"{"id":"two","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#)),
        Ok(Frame::Done),
    ];
    let env = TestEnv::with_scripts(vec![Script::Frames(searches), Script::Frames(answers)])
        .with_results(Err(DOWN));

    let stream = stream_text(&env, searching(), &stream_body()).await;

    assert_eq!(stream.matches(r#""role":"assistant""#).count(), 1, "{stream}");
    assert!(stream.contains("Fine.") && !stream.contains("tool_calls"), "{stream}");
}
