//! Answers as they should be.

use pia_demo_upstream::{Demo, DemoOptions};
use serde_json::json;

use crate::harness::{ask, message, streamed};

#[test]
fn equal_requests_have_equal_answers() {
    let demo = Demo::start(0).expect("a demo upstream");

    let (first, second) =
        (ask(&demo, &message("Hello there")), ask(&demo, &message("Hello there")));

    assert_eq!(first.text, second.text);
    let answer = first.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "Demo answer to: Hello there");
    let usage = json!({ "prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7 });
    assert_eq!((&answer["usage"], &answer["model"]), (&usage, &json!("m")));
}

#[test]
fn a_stream_states_the_same_as_the_whole_answer_and_ends_with_the_usage() {
    let demo = Demo::start(0).expect("a demo upstream");
    let whole = ask(&demo, &message("Hello there")).json();

    let stream = ask(&demo, &streamed("Hello there"));

    assert_eq!(whole["choices"][0]["message"]["content"], stream.streamed_text());
    assert!(stream.text.ends_with("data: [DONE]\n\n"), "{}", stream.text);
    let events = stream.events();
    let [.., finish, usage] = events.as_slice() else { panic!("few events: {}", stream.text) };
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["usage"], whole["usage"]);
}

#[test]
fn a_stream_has_as_many_chunks_as_chosen() {
    let demo = Demo::with(DemoOptions { chunks: Some(4), ..DemoOptions::default() })
        .expect("a demo upstream");

    let by_option = ask(&demo, &streamed("Hello there"));
    let by_word = ask(&demo, &streamed("Hello demo:chunks=100"));

    // One that opens, one that finishes, one with the usage.
    assert_eq!((by_option.events().len(), by_word.events().len()), (4 + 3, 100 + 3));
}

#[test]
fn images_are_counted() {
    let demo = Demo::start(0).expect("a demo upstream");
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } });
    let text = json!({ "type": "text", "text": "Look" });
    let body = json!({ "messages": [{ "role": "user", "content": [text, image, image] }] });

    let answer = ask(&demo, &body).json();

    let content = &answer["choices"][0]["message"]["content"];
    assert_eq!(content, "Demo answer to: Look (with 2 images)");
}

#[test]
fn a_tool_is_called_when_requested_and_its_result_is_reported() {
    let demo = Demo::start(0).expect("a demo upstream");
    let parameters = json!({ "properties": { "q": { "type": "string" } }, "required": ["q"] });
    let tool =
        json!({ "type": "function", "function": { "name": "look", "parameters": parameters } });
    let mut body = message("Please use the tool look: for rain");
    body["tools"] = json!([tool]);

    let call = ask(&demo, &body).json();
    let choice = &call["choices"][0];
    let result = json!({ "role": "tool", "tool_call_id": "x", "content": "Rain." });
    body["messages"].as_array_mut().expect("messages").push(result);
    let reported = ask(&demo, &body).json();

    assert_eq!(choice["finish_reason"], "tool_calls");
    let function = json!({ "name": "look", "arguments": r#"{"q":": for rain"}"# });
    assert_eq!(choice["message"]["tool_calls"][0]["function"], function);
    assert_eq!(reported["choices"][0]["message"]["content"], "The tool said: Rain.");
}

#[test]
fn what_was_requested_is_reported_without_the_key() {
    let demo = Demo::start(0).expect("a demo upstream");

    ask(&demo, &message("Hello"));

    let last = demo.last();
    assert_eq!((demo.call_counts().calls, &last.body), (1, &message("Hello")));
    assert!(last.headers.contains_key("content-type"), "{:?}", last.headers);
    assert!(!last.headers.contains_key("authorization"), "{:?}", last.headers);
    let mut reported = ureq::get(format!("{}/demo/calls", demo.url())).call().expect("an answer");
    let reported = reported.body_mut().read_to_string().expect("text");
    assert!(reported.contains(r#""calls":1"#) && !reported.contains("secret"), "{reported}");
}
