//! Turns of several calls in one stream.

use serde_json::{Value, json};

use crate::fakes::turns::{
    DOWN, catalogue_of, entry, full_answer, stream_body, stream_text, with_search,
};
use crate::fakes::{Script, TestEnv, look, pass};
use crate::ports::Frame;
use crate::routing::target::Target;

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

    let stream = stream_text(&env, with_search(), &stream_body()).await;

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

    let stream = stream_text(&env, with_search(), &stream_body()).await;

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

    let stream = stream_text(&env, with_search(), &stream_body()).await;

    assert_eq!(stream.matches(r#""role":"assistant""#).count(), 1, "{stream}");
    assert!(stream.contains("Fine.") && !stream.contains("tool_calls"), "{stream}");
}

#[tokio::test]
async fn a_streams_usage_has_the_calls_of_the_vision_model() {
    const LOOKS: &str = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"pia_look_at_picture","arguments":"{\"picture\":1,\"question\":\"what?\"}"}}]}}],"usage":{"prompt_tokens":100,"completion_tokens":20}}"#;
    const CAT: &str = r#"{"choices":[{"message":{"content":"A cat."}}],"usage":{"prompt_tokens":100,"completion_tokens":20}}"#;
    const USAGE: &str =
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}"#;
    let looks = vec![
        Ok(look(
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"pia_look_at_picture","arguments":"{\"picture\":1,\"question\":\"what?\"}"}}]}}]}"#,
        )),
        Ok(look(USAGE)),
        Ok(Frame::Done),
    ];
    let answers = vec![
        Ok(pass("data: {\"choices\":[{\"delta\":{\"content\":\"A cat.\"}}]}\n\n")),
        Ok(look(USAGE)),
        Ok(Frame::Done),
    ];
    let streaming_env = TestEnv::with_scripts(vec![
        Script::Frames(looks),
        Script::Full(CAT),
        Script::Frames(answers),
    ]);
    let env = TestEnv::with_scripts([LOOKS, CAT, CAT].map(Script::Full).into());
    let blind = Target { vision: false, vision_tool: Some("eyes".to_owned()), ..entry("first") };
    let entries = || catalogue_of(vec![blind.clone(), entry("eyes")]);
    let picture =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } });
    let messages = json!([{ "role": "user", "content": [picture] }]);
    let mut streamed_body = stream_body();
    streamed_body["messages"] = messages.clone();

    let answer = full_answer(&env, entries(), &json!({ "messages": messages })).await.unwrap();
    let stream = stream_text(&streaming_env, entries(), &streamed_body).await;

    assert_eq!(answer["usage"]["prompt_tokens"], 300);
    assert_eq!(answer["usage"]["completion_tokens"], 60);
    let mut events = stream
        .lines()
        .filter_map(|it| serde_json::from_str::<Value>(it.strip_prefix("data: ")?).ok());
    let usage_chunk = events.find(|it| it["usage"].is_object()).unwrap();
    assert_eq!(usage_chunk["usage"], answer["usage"], "{stream}");
}
