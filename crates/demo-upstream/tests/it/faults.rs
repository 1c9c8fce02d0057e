//! Failures that requests trigger.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use pia_demo_upstream::Demo;
use serde_json::json;

use crate::harness::{request, send, stream_request};

#[test]
fn a_status_comes_in_openais_shape() {
    let demo = Demo::start(0).expect("a demo upstream");

    let answer = send(&demo, &request("demo:status=429 retry-after=7"));

    assert_eq!(answer.status, 429);
    assert_eq!(answer.retry_after.as_deref(), Some("7"));
    assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
}

#[test]
fn too_long_a_conversation_is_refused_as_openai_does() {
    let demo = Demo::start(0).expect("a demo upstream");

    let answer = send(&demo, &request("demo:context-length"));

    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["code"], "context_length_exceeded");
}

#[test]
fn requests_with_tools_are_refused_on_demand() {
    let demo = Demo::start(0).expect("a demo upstream");
    let mut with_tools = request("demo:no-tools");
    with_tools["tools"] = json!([{ "type": "function", "function": { "name": "look" } }]);

    let accepted = send(&demo, &request("demo:no-tools"));
    let refused_response = send(&demo, &with_tools);

    assert_eq!(accepted.status, 200);
    assert_eq!(refused_response.status, 400);
}

#[test]
fn html_and_broken_json_replace_responses() {
    let demo = Demo::start(0).expect("a demo upstream");

    let page = send(&demo, &request("demo:html"));
    let broken = send(&demo, &request("demo:broken"));

    assert!(page.text.starts_with("<html>"), "{}", page.text);
    assert!(serde_json::from_str::<serde_json::Value>(&broken.text).is_err(), "{}", broken.text);
}

#[test]
fn a_cut_response_breaks_half_way() {
    let demo = Demo::start(0).expect("a demo upstream");

    for body in [request("demo:cut, please"), stream_request("demo:cut, please")] {
        let answer = send(&demo, &body);

        assert!(!answer.complete && !answer.text.is_empty(), "{}", answer.text);
        assert!(!answer.text.contains("[DONE]"), "{}", answer.text);
    }
}

#[test]
fn an_error_comes_within_a_stream() {
    let demo = Demo::start(0).expect("a demo upstream");

    let answer = send(&demo, &stream_request("demo:error in the middle"));

    assert!(answer.events().last().is_some_and(|it| it["error"]["message"].is_string()));
}

#[test]
fn usage_and_end_can_be_missing() {
    let demo = Demo::start(0).expect("a demo upstream");

    let answer = send(&demo, &stream_request("demo:no-usage demo:no-done"));

    assert!(answer.complete && !answer.text.contains("[DONE]"), "{}", answer.text);
    assert!(answer.events().iter().all(|it| it["usage"].is_null()), "{}", answer.text);
}

#[test]
fn an_invalid_chat_request_is_rejected() {
    let demo = Demo::start(0).expect("a demo upstream");

    let answer = send(&demo, &json!({ "model": "m" }));

    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"]["message"].is_string());
}

#[tokio::test]
async fn a_reader_that_leaves_is_noticed() {
    let demo = Demo::start(0).expect("a demo upstream");
    for (body, streams) in [(request("demo:silent"), 0), (stream_request("demo:silent=2"), 1)] {
        let mut client = TcpStream::connect(demo.url().replace("http://", "")).expect("a socket");
        let body = body.to_string();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: demo\r\ncontent-length:";
        write!(client, "{head} {}\r\n\r\n{body}", body.len()).expect("written");
        assert!(demo.until(|it| (it.open, it.open_streams) == (1, streams)).await);
        if streams > 0 {
            assert!(client.read(&mut [0; 16]).expect("the stream's beginning") > 0);
        }

        client.shutdown(Shutdown::Both).expect("closed");

        assert!(demo.until(|it| it.open == 0).await, "{:?}", demo.call_counts());
    }
}
