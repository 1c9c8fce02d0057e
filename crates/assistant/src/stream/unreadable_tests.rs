//! Streams with unreadable events.

use super::*;

#[tokio::test]
async fn a_stream_without_readable_events_is_a_failure() {
    let unreadable = || pass("data: {\"x\":}\n\n");
    for script in [
        vec![Frame::Done],
        vec![Frame::Alive, Frame::Done],
        vec![Frame::Unreadable, Frame::Done],
        vec![unreadable(), Frame::Unreadable, Frame::Done],
        vec![],
    ] {
        let env = frames(script);

        assert_eq!(open_stream(&env, PLAIN).await.err(), Some(AssistantError::UpstreamFailed));
        assert_eq!(env.usage_records(), [], "nothing is owed");
    }
}

#[tokio::test]
async fn a_stream_without_readable_content_ends_with_an_error() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let about = "data: {\"choices\":[],\"status\":\"working\"}\n\n";
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}"#;

    let lossy_env = frames([pass(role), Frame::Unreadable, look(STOP), Frame::Done]);
    let lost_first = frames([Frame::Unreadable, look(STOP), Frame::Done]);
    let no_answer = frames([pass(about), Frame::Done]);
    let billed_env = frames([pass(about), look(usage), Frame::Done]);

    assert_eq!(read_stream(&lossy_env, PLAIN).await, format!("{role}data: {STOP}\n\n{FAILED}"));
    assert_eq!(read_stream(&lost_first, PLAIN).await, format!("data: {STOP}\n\n{FAILED}"));
    assert_eq!(read_stream(&no_answer, PLAIN).await, format!("{about}{FAILED}"));
    assert_eq!(read_stream(&billed_env, PLAIN).await, format!("{about}{FAILED}"));
    assert_eq!(billed_env.usage_records()[0].tokens.input, 9);
}

#[tokio::test]
async fn unreadable_events_within_a_response_are_dropped() {
    let env_without_text = frames([look(STOP), Frame::Done]);
    let env_with_unreadable_events =
        frames([Frame::Unreadable, pass(ANSWER), Frame::Unreadable, look(STOP)]);

    assert_eq!(
        read_stream(&env_without_text, PLAIN).await,
        format!("data: {STOP}\n\ndata: [DONE]\n\n")
    );
    let expected = format!("{ANSWER}data: {STOP}\n\ndata: [DONE]\n\n");
    assert_eq!(read_stream(&env_with_unreadable_events, PLAIN).await, expected);
}

#[tokio::test]
async fn invalid_utf8_ends_the_stream() {
    let garbled =
        Frame::Inspect(Bytes::from_static(b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}"));
    let failing_env = frames([garbled.clone(), look(STOP), Frame::Done]);
    let interrupted_env = frames([pass(ANSWER), garbled, look(STOP), Frame::Done]);

    assert_eq!(open_stream(&failing_env, PLAIN).await.err(), Some(AssistantError::UpstreamFailed));
    assert_eq!(read_stream(&interrupted_env, PLAIN).await, format!("{ANSWER}{FAILED}"));
}

#[tokio::test]
async fn an_error_without_an_error_member_is_not_passed_on() {
    let error = || look(r#"{"object":"error","message":"Incorrect key sk-1","code":500}"#);
    let ping = || look(r#"{"type":"ping"}"#);
    let failing_env = frames([ping(), error(), Frame::Done]);
    let interrupted_env = frames([pass(ANSWER), ping(), error(), Frame::Done]);

    assert_eq!(open_stream(&failing_env, PLAIN).await.err(), Some(AssistantError::UpstreamFailed));
    assert_eq!(failing_env.usage_records(), [], "nothing is owed");
    assert_eq!(read_stream(&interrupted_env, PLAIN).await, format!("{ANSWER}{FAILED}"));
}

#[tokio::test]
async fn a_role_is_sent_once() {
    let event = |text: &str| {
        format!(r#"{{"choices":[{{"delta":{{"role":"assistant","content":"{text}"}}}}]}}"#)
    };
    let env = frames([look(&event("a")), look(&event("b")), look(STOP), Frame::Done]);

    let stream = read_stream(&env, PLAIN).await;

    assert_eq!(stream.matches("assistant").count(), 1, "{stream}");
    assert!(stream.contains(r#"{"choices":[{"delta":{"content":"b"}}]}"#), "{stream}");
}
