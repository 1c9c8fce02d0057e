//! Successful responses, full and streamed.

use pia_demo_upstream::{Demo, DemoOptions};
use serde_json::json;

use crate::harness::{request, send, stream_request};

#[test]
fn equal_requests_have_equal_responses() {
    let demo = Demo::start(0).expect("a demo upstream");

    let first = send(&demo, &request("Hello there"));
    let second = send(&demo, &request("Hello there"));

    assert_eq!(first.text, second.text);
    let answer = first.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "Demo answer to: Hello there");
    let usage = json!({ "prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7 });
    assert_eq!(answer["usage"], usage);
    assert_eq!(answer["model"], "m");
}

#[test]
fn a_stream_equals_the_full_response_and_ends_with_the_usage() {
    let demo = Demo::start(0).expect("a demo upstream");
    let full = send(&demo, &request("Hello there")).json();

    let stream = send(&demo, &stream_request("Hello there"));

    assert_eq!(full["choices"][0]["message"]["content"], stream.streamed_text());
    assert!(stream.text.ends_with("data: [DONE]\n\n"), "{}", stream.text);
    let events = stream.events();
    let [.., finish, usage] = events.as_slice() else { panic!("few events: {}", stream.text) };
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["usage"], full["usage"]);
}

#[test]
fn a_stream_has_the_requested_number_of_chunks() {
    let demo = Demo::with(DemoOptions { chunks: Some(4), ..DemoOptions::default() })
        .expect("a demo upstream");

    let by_option = send(&demo, &stream_request("Hello there"));
    let by_word = send(&demo, &stream_request("Hello demo:chunks=100"));

    // One that opens, one that finishes, one with the usage.
    assert_eq!(by_option.events().len(), 4 + 3);
    assert_eq!(by_word.events().len(), 100 + 3);
}

#[test]
fn images_are_counted() {
    let demo = Demo::start(0).expect("a demo upstream");
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } });
    let text = json!({ "type": "text", "text": "Look" });
    let body = json!({ "messages": [{ "role": "user", "content": [text, image, image] }] });

    let answer = send(&demo, &body).json();

    let content = &answer["choices"][0]["message"]["content"];
    assert_eq!(content, "Demo answer to: Look (with 2 images)");
}

#[test]
fn a_tool_is_called_on_request_and_its_result_is_repeated() {
    let demo = Demo::start(0).expect("a demo upstream");
    let parameters = json!({ "properties": { "q": { "type": "string" } }, "required": ["q"] });
    let tool =
        json!({ "type": "function", "function": { "name": "look", "parameters": parameters } });
    let mut body = request("Please use the tool look: for rain");
    body["tools"] = json!([tool]);

    let call = send(&demo, &body).json();
    let choice = &call["choices"][0];
    let result = json!({ "role": "tool", "tool_call_id": "x", "content": "Rain." });
    body["messages"].as_array_mut().expect("messages").push(result);
    let response = send(&demo, &body).json();

    assert_eq!(choice["finish_reason"], "tool_calls");
    let function = json!({ "name": "look", "arguments": r#"{"q":": for rain"}"# });
    assert_eq!(choice["message"]["tool_calls"][0]["function"], function);
    assert_eq!(response["choices"][0]["message"]["content"], "The tool said: Rain.");
}

#[test]
fn the_last_call_is_recorded_without_its_key() {
    let demo = Demo::start(0).expect("a demo upstream");

    send(&demo, &request("Hello"));

    let last = demo.last();
    assert_eq!(demo.call_counts().calls, 1);
    assert_eq!(last.body, request("Hello"));
    assert!(last.headers.contains_key("content-type"), "{:?}", last.headers);
    assert!(!last.headers.contains_key("authorization"), "{:?}", last.headers);
    let mut response = ureq::get(format!("{}/demo/calls", demo.url())).call().expect("a response");
    let record = response.body_mut().read_to_string().expect("text");
    assert!(record.contains(r#""calls":1"#) && !record.contains("secret"), "{record}");
}
