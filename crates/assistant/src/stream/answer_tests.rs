//! Exact bytes of streams, and their usage records.

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::*;
use crate::chat::{Chat, ChatAnswer};
use crate::credits::usage::{CallOutcome, Usage};
use crate::fakes::{Script, TestEnv, caller, look, not_ready, pass};
use crate::tools::calls::MAX_CALLS;

const PLAIN: &str = r#"{"messages":[{"role":"user","content":"12345678"}],"stream":true}"#;
const WITH_USAGE: &str = r#"{"messages":[{"role":"user","content":"12345678"}],"stream":true,"stream_options":{"include_usage":true}}"#;
const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Answer\"}}]}\n\n";
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const TIMED_OUT: &str = "data: {\"error\":\"Bad Gateway\",\"message\":\"Request to upstream AI provider timed out.\"}\n\ndata: [DONE]\n\n";
const FAILED: &str = "data: {\"error\":\"Bad Gateway\",\"message\":\"The upstream AI provider could not answer the request.\"}\n\ndata: [DONE]\n\n";

async fn open_stream(env: &TestEnv, body: &'static str) -> Result<Box<ChatStream>, AssistantError> {
    let chat = Chat::new(env.gateway());
    match chat.answer(caller(), Bytes::from_static(body.as_bytes())).await? {
        ChatAnswer::Stream(answer) => Ok(answer),
        ChatAnswer::Complete(_) => panic!("not a stream"),
    }
}

async fn read_stream(env: &TestEnv, body: &'static str) -> String {
    let chunks: Vec<Bytes> = open_stream(env, body).await.unwrap().collect().await;
    String::from_utf8(chunks.concat()).unwrap()
}

fn frames(frames: impl IntoIterator<Item = Frame>) -> TestEnv {
    TestEnv::new(Script::Frames(frames.into_iter().map(Ok).collect()))
}

#[tokio::test]
async fn a_stream_is_forwarded_unchanged() {
    let env = frames([pass(ANSWER), look(STOP), Frame::Done]);

    let stream = read_stream(&env, PLAIN).await;

    assert_eq!(
        stream,
        "data: {\"choices\":[{\"delta\":{\"content\":\"Answer\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    );
}

#[tokio::test]
async fn a_stream_without_a_finish_reason_gets_one() {
    let call = r#"{"id":"c1","choices":[{"delta":{"tool_calls":[]}}]}"#;

    let text_stream = read_stream(&frames([pass(ANSWER), Frame::Done]), PLAIN).await;
    let call_stream = read_stream(&frames([look(call), Frame::Done]), PLAIN).await;

    let stop = r#""model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    assert!(text_stream.ends_with(&format!("{stop}\n\ndata: [DONE]\n\n")), "{text_stream}");
    let tools = r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(call_stream, format!("data: {call}\n\ndata: {tools}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn chunks_of_the_server_have_the_head_of_a_stream_without_a_role() {
    let chunk =
        "data: {\"id\":\"c1\",\"model\":\"x\",\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n";

    let stream = read_stream(&frames([pass(chunk), pass(ANSWER), Frame::Done]), PLAIN).await;

    let stop =
        r#"{"id":"c1","model":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    assert_eq!(stream, format!("{chunk}{ANSWER}data: {stop}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn nulls_are_removed_from_chunks() {
    let null = "data: {\"choices\":[{\"delta\":{\"content\":\"A\"},\"logprobs\":null}]}\n\n";

    let stream = read_stream(&frames([pass(null), look(STOP), Frame::Done]), PLAIN).await;

    let without_null = "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n";
    assert!(stream.starts_with(without_null), "{stream}");
}

#[tokio::test]
async fn a_stream_without_done_gets_one() {
    let env = frames([pass(ANSWER), look(STOP)]);

    let stream = read_stream(&env, PLAIN).await;

    assert_eq!(stream, format!("{ANSWER}data: {STOP}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn an_upstreams_guardrail_mark_is_not_passed_on() {
    let mark = r#"{"guardrail":{"protected":true}}"#;
    let marked_chunk = r#"{"choices":[{"delta":{"content":"!"}}],"guardrail":{"protected":true}}"#;
    let env = frames([look(mark), pass(ANSWER), look(marked_chunk), look(STOP), Frame::Done]);

    let stream = read_stream(&env, PLAIN).await;

    let chunk = r#"{"choices":[{"delta":{"content":"!"}}]}"#;
    assert_eq!(stream, format!("{ANSWER}data: {chunk}\n\ndata: {STOP}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn messages_become_deltas_and_a_final_one_is_not_repeated() {
    let part = r#"{"choices":[{"message":{"content":"A"}}]}"#;
    let final_message = r#"{"choices":[{"message":{"content":"Answer"},"finish_reason":"stop"}]}"#;

    let only_messages = frames([look(part), look(part), look(STOP), Frame::Done]);
    let message_after_delta = frames([pass(ANSWER), look(final_message), Frame::Done]);

    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n";
    let stream = read_stream(&only_messages, PLAIN).await;
    assert_eq!(stream, format!("{delta}{delta}data: {STOP}\n\ndata: [DONE]\n\n"));
    let stop = r#"{"choices":[{"finish_reason":"stop","delta":{}}]}"#;
    let stream = read_stream(&message_after_delta, PLAIN).await;
    assert_eq!(stream, format!("{ANSWER}data: {stop}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn values_of_a_wrong_type_are_repaired_or_removed() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":"0","id":7,"function":{"name":"f","arguments":{"a":1}}},null]}}]}"#;
    let usage = r#"{"choices":[],"usage":"many"}"#;
    let odd_usage = r#"{"choices":[],"usage":{"prompt_tokens":"9","completion_tokens":2.0}}"#;
    let env = frames([look(call), look(STOP), look(odd_usage), look(usage), Frame::Done]);

    let stream = read_stream(&env, WITH_USAGE).await;

    let events: Vec<Value> = stream
        .lines()
        .filter_map(|it| serde_json::from_str(it.strip_prefix("data: ")?).ok())
        .collect();
    let function = json!({ "name": "f", "arguments": "{\"a\":1}" });
    let call = json!({ "index": 0, "id": "7", "function": function });
    let details = json!({ "cached_tokens": 0 });
    let usage = json!({
        "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
        "prompt_tokens_details": details,
    });
    let expected = [
        json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }),
        serde_json::from_str(STOP).unwrap(),
        json!({ "choices": [], "usage": usage }),
    ];
    assert_eq!(events, expected);
    assert!(stream.ends_with("\n\ndata: [DONE]\n\n"), "{stream}");
}

#[tokio::test]
async fn calls_without_an_index_are_numbered() {
    let call = |id: &str| {
        look(&format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}]}}}}]}}"#
        ))
    };
    let env = frames([call("a"), call("b"), look(STOP), Frame::Done]);

    let stream = read_stream(&env, PLAIN).await;

    let indices: Vec<Value> = stream
        .lines()
        .filter_map(|it| serde_json::from_str::<Value>(it.strip_prefix("data: ")?).ok())
        .filter_map(|it| it.pointer("/choices/0/delta/tool_calls/0/index").cloned())
        .collect();
    assert_eq!(indices, [0, 1], "{stream}");
}

#[tokio::test]
async fn too_many_tool_calls_end_the_stream() {
    let call = |number: usize| {
        look(&format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"c{number}","function":{{"name":"f"}}}}]}}}}]}}"#
        ))
    };
    let env = frames((0..MAX_CALLS).map(call).chain([look(STOP), Frame::Done]));
    let failing_env = frames((0..=MAX_CALLS).map(call).chain([look(STOP), Frame::Done]));

    let stream = read_stream(&env, PLAIN).await;
    let failed_stream = read_stream(&failing_env, PLAIN).await;

    assert!(stream.ends_with(&format!("data: {STOP}\n\ndata: [DONE]\n\n")), "{stream}");
    assert!(failed_stream.ends_with(FAILED), "{failed_stream}");
    assert_eq!(failing_env.usage_records()[0].outcome, CallOutcome::Failed);
}

#[tokio::test]
async fn usage_is_sent_once_after_the_finish_if_requested() {
    let usage = r#"{"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"completion_tokens_details":{"reasoning_tokens":1}}}"#;
    let early_usage = r#"{"choices":[{"delta":{"content":"!"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let env = || frames([pass(ANSWER), look(early_usage), look(STOP), look(usage), Frame::Done]);
    let start = format!(
        "{ANSWER}data: {{\"choices\":[{{\"delta\":{{\"content\":\"!\"}}}}]}}\n\ndata: {STOP}\n\n"
    );

    assert_eq!(read_stream(&env(), PLAIN).await, format!("{start}data: [DONE]\n\n"));

    let env_with_usage = env();
    assert_eq!(
        read_stream(&env_with_usage, WITH_USAGE).await,
        format!("{start}data: {usage}\n\ndata: [DONE]\n\n")
    );
    let [record] = env_with_usage.usage_records().try_into().unwrap();
    assert_eq!(
        record.tokens,
        Usage { input: 9, cached_input: 0, output: 2, connector: 0, reasoning: 1 }
    );
    assert!(!record.estimated);
    assert_eq!(record.outcome, CallOutcome::Completed);
}

#[tokio::test]
async fn text_after_usage_is_forwarded_and_charged() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let env = frames([look(usage), pass(ANSWER), look(STOP), Frame::Done, Frame::Done]);

    let stream = read_stream(&env, WITH_USAGE).await;

    let usage = r#""choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":0}}}"#;
    assert!(stream.starts_with(&format!("{ANSWER}data: {STOP}\n\ndata: ")), "{stream}");
    assert!(stream.ends_with(&format!("{usage}\n\ndata: [DONE]\n\n")), "{stream}");
    assert_eq!(stream.matches("[DONE]").count(), 1, "{stream}");
    assert_eq!(env.usage_records()[0].tokens.output, 2);
}

#[tokio::test]
async fn unreported_usage_is_estimated() {
    let env = frames([pass(ANSWER), pass(ANSWER), look(STOP), Frame::Done]);

    let stream = read_stream(&env, WITH_USAGE).await;

    let usage = r#""model":"m","choices":[],"usage":{"prompt_tokens":6,"completion_tokens":3,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}}"#;
    assert!(stream.ends_with(&format!("{usage}\n\ndata: [DONE]\n\n")), "{stream}");
    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(
        record.tokens,
        Usage { input: 6, cached_input: 0, output: 3, connector: 0, reasoning: 0 }
    );
    assert!(record.estimated);
    assert_eq!(record.outcome, CallOutcome::Completed);
}

#[tokio::test]
async fn a_finish_without_a_delta_gets_one() {
    let env = frames([look(r#"{"choices":[{"finish_reason":"stop"}]}"#), Frame::Done]);

    let stream = read_stream(&env, PLAIN).await;

    assert_eq!(
        stream,
        "data: {\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{}}]}\n\ndata: [DONE]\n\n"
    );
}

#[tokio::test]
async fn tool_calls_are_forwarded_unchanged() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let end = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
    let env = frames([look(call), look(end), Frame::Done]);

    let stream = read_stream(&env, PLAIN).await;

    assert_eq!(stream, format!("data: {call}\n\ndata: {end}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn a_failure_within_a_stream_ends_it_with_an_error_chunk() {
    for (err, end) in [
        (UpstreamError::Silent, TIMED_OUT),
        (UpstreamError::Cut, FAILED),
        (UpstreamError::TooLong, FAILED),
    ] {
        let env = TestEnv::new(Script::Frames(vec![Ok(pass(ANSWER)), Err(err)]));

        assert_eq!(read_stream(&env, WITH_USAGE).await, format!("{ANSWER}{end}"));

        let [record] = env.usage_records().try_into().unwrap();
        assert_eq!(record.outcome, CallOutcome::Failed);
        assert!(record.estimated);
        assert_eq!(record.tokens.input, 6);
        assert_eq!(record.tokens.output, 2);
    }
}

#[tokio::test]
async fn an_upstream_error_is_reported_in_our_own_words() {
    let error = r#"{"error":{"message":"key sk-1 of acme is over quota","code":429}}"#;
    let env = frames([pass(ANSWER), look(error), pass(ANSWER)]);

    assert_eq!(read_stream(&env, PLAIN).await, format!("{ANSWER}{FAILED}"));
    assert_eq!(env.usage_records()[0].outcome, CallOutcome::Failed);
}

#[tokio::test]
async fn an_invalid_event_ends_the_stream() {
    let env = frames([pass(ANSWER), look("{\"usage\": ")]);

    assert_eq!(read_stream(&env, PLAIN).await, format!("{ANSWER}{FAILED}"));
}

#[tokio::test]
async fn a_failure_before_the_first_event_has_its_own_status_and_no_cost() {
    let refusal = UpstreamError::Refused { status: 500, retry_after: None, body: Bytes::new() };
    let error = look(r#"{"error":{"message":"maximum context length"}}"#);
    for (script, expected) in [
        (Script::Fails(refusal), AssistantError::UpstreamFailed),
        (Script::Frames(vec![Ok(Frame::Alive), Ok(error)]), AssistantError::ContextTooLong),
    ] {
        let env = TestEnv::new(script);

        assert_eq!(open_stream(&env, PLAIN).await.err(), Some(expected));
        assert_eq!(env.usage_records(), []);
    }
}

#[tokio::test]
async fn a_timeout_before_the_first_event_is_recorded() {
    let env = TestEnv::new(Script::Fails(UpstreamError::Silent));

    assert_eq!(open_stream(&env, PLAIN).await.err(), Some(AssistantError::UpstreamTimeout));

    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(record.outcome, CallOutcome::Failed);
    assert_eq!(record.tokens.input, 6);
}

#[tokio::test]
async fn a_stream_opens_after_ten_seconds_and_then_fails_in_band() {
    let env = TestEnv::new(Script::FailsLater(UpstreamError::Silent));
    let mut opening = Box::pin(open_stream(&env, PLAIN));
    env.advance(Duration::ZERO);
    not_ready(&mut opening).await;
    env.advance(Duration::from_millis(9_999));
    not_ready(&mut opening).await;

    env.advance(Duration::from_millis(1));
    let mut answer = opening.await.unwrap();
    assert!(answer.next().now_or_never().is_none());
    env.advance(Duration::from_secs(15));
    assert_eq!(answer.next().now_or_never().unwrap().unwrap(), ": keep-alive\n\n");
    env.advance(Duration::from_secs(35));

    assert_eq!(answer.next().await.unwrap(), TIMED_OUT);
    assert_eq!(answer.next().await, None);
}

#[tokio::test]
async fn a_comment_of_the_upstream_does_not_open_a_stream() {
    let env = TestEnv::new(Script::FramesAndSilence(vec![Ok(Frame::Alive)]));
    let mut opening = Box::pin(open_stream(&env, PLAIN));

    not_ready(&mut opening).await;
}

#[tokio::test]
async fn a_silent_stream_sends_keep_alive_comments() {
    let env = TestEnv::new(Script::FramesAndSilence(vec![Ok(pass(ANSWER))]));
    let mut answer = open_stream(&env, PLAIN).await.unwrap();
    env.advance(Duration::from_secs(9));
    assert_eq!(answer.next().await.unwrap(), ANSWER);

    assert!(answer.next().now_or_never().is_none());
    env.advance(Duration::from_millis(14_999));
    assert!(answer.next().now_or_never().is_none());
    env.advance(Duration::from_millis(1));
    assert_eq!(answer.next().now_or_never().unwrap().unwrap(), ": keep-alive\n\n");
    assert!(answer.next().now_or_never().is_none());
    env.advance(Duration::from_secs(15));
    assert_eq!(answer.next().now_or_never().unwrap().unwrap(), ": keep-alive\n\n");
}

#[tokio::test]
async fn a_stop_ends_an_open_stream_and_refuses_one_that_is_opening() {
    let env = TestEnv::new(Script::FramesAndSilence(vec![Ok(pass(ANSWER))]));
    let mut answer = open_stream(&env, PLAIN).await.unwrap();
    assert_eq!(answer.next().await.unwrap(), ANSWER);

    env.stop_now();

    assert_eq!(
        answer.next().await.unwrap(),
        "data: {\"error\":\"Service Unavailable\",\"message\":\"The server is stopping. Send the request again.\"}\n\ndata: [DONE]\n\n"
    );
    assert_eq!(answer.next().await, None);
    drop(answer);
    assert_eq!(env.usage_records()[0].outcome, CallOutcome::Failed);

    let env = TestEnv::new(Script::Silence);
    let mut opening = Box::pin(open_stream(&env, PLAIN));
    not_ready(&mut opening).await;
    env.stop_now();
    assert_eq!(opening.await.err(), Some(AssistantError::Stopping));
}

#[tokio::test]
async fn a_caller_who_leaves_is_recorded_once() {
    let env = TestEnv::new(Script::FramesAndSilence(vec![Ok(pass(ANSWER)), Ok(pass(ANSWER))]));
    let mut answer = open_stream(&env, PLAIN).await.unwrap();
    assert_eq!(answer.next().await.unwrap(), ANSWER);
    assert_eq!(answer.next().await.unwrap(), ANSWER);

    drop(answer);

    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(record.outcome, CallOutcome::Abandoned);
    assert!(record.estimated);
    assert_eq!(
        record.tokens,
        Usage { input: 6, cached_input: 0, output: 3, connector: 0, reasoning: 0 }
    );
}

#[tokio::test]
async fn a_caller_who_leaves_before_the_stream_opens_is_recorded() {
    let env = TestEnv::new(Script::Silence);
    let mut opening = Box::pin(open_stream(&env, PLAIN));
    not_ready(&mut opening).await;

    drop(opening);

    let [record] = env.usage_records().try_into().unwrap();
    assert_eq!(record.outcome, CallOutcome::Abandoned);
    assert_eq!(record.tokens.input, 6);
}

#[test]
fn a_stream_is_send() {
    fn is_send<T: Send>() {}

    is_send::<ChatStream>();
}

#[path = "unreadable_tests.rs"]
mod unreadable;
