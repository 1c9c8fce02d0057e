//! Tests of the forwarded part of a request, and of its violations.

use serde_json::{Value, json};

use super::*;
use crate::fakes::open_pieces;
use crate::ports::{CapName, OutputCap};
use crate::request::prompt_body::AddedMessages;

fn parse_text(body: &str) -> Result<RequestedChoice, AssistantError> {
    parse(&Bytes::copy_from_slice(body.as_bytes()))
}

fn forwarded_body(body: &str) -> Value {
    let Ok(RequestedChoice::Full(prompt) | RequestedChoice::Stream(prompt, _)) = parse_text(body)
    else {
        panic!("refused");
    };
    let mut body = open_pieces(&prompt.body(&AddedMessages::default()));
    body.push(Bytes::from_static(b"}"));
    serde_json::from_slice(&body.concat()).unwrap()
}

fn violations(body: &str) -> Vec<(String, &'static str)> {
    match parse_text(body) {
        Err(AssistantError::Invalid(violations)) => {
            violations.into_iter().map(|it| (it.field, it.code)).collect()
        }
        Err(err) => panic!("{err:?}"),
        Ok(_) => vec![],
    }
}

fn with(member: &str) -> String {
    format!(r#"{{"messages":[{{"role":"user","content":"x"}}],{member}}}"#)
}

#[test]
fn only_known_members_are_forwarded_unchanged() {
    let body = json!({
        "model": "pia-cloud", "user": "me", "store": true, "stream": true, "n": 1,
        "stream_options": {"include_usage": true}, "metadata": {"pia_persona_type": "fast"},
        "web_search_options": {}, "service_tier": "x", "plugins": [{"id": "web"}],
        "functions": [{"name": "f"}], "function_call": "auto", "extra_body": {"a": 1},
        "mcp_servers": [{"url": "x"}], "data_sources": [7], "models": ["m:online"], "temperature": 0.5, "top_p": 1,
        "max_tokens": 5, "stop": ["a"], "seed": 7, "response_format": {"type": "text"},
        "logit_bias": {"1": 2}, "logprobs": true, "top_logprobs": 2, "reasoning_effort": "low",
        "presence_penalty": -2, "frequency_penalty": 2, "max_completion_tokens": 6,
        "tools": [{"type": "function"}], "tool_choice": "auto", "parallel_tool_calls": false,
        "messages": [{"role": "user", "content": "x", "name": "y"}],
    });

    assert_eq!(
        forwarded_body(&body.to_string()),
        json!({
            "messages": [{"role": "user", "content": "x", "name": "y"}],
            "tools": [{"type": "function"}], "tool_choice": "auto", "parallel_tool_calls": false,
            "temperature": 0.5, "top_p": 1, "stop": ["a"], "seed": 7, "response_format": {"type": "text"},
            "presence_penalty": -2, "frequency_penalty": 2, "logit_bias": {"1": 2},
            "logprobs": true, "top_logprobs": 2,
        })
    );
}

#[test]
fn null_and_empty_tools_count_as_absent() {
    let body = with(r#""temperature":null,"stop":null,"tools":[],"tool_choice":"none","n":null"#);

    assert_eq!(forwarded_body(&body), json!({"messages": [{"role": "user", "content": "x"}]}));
}

#[test]
fn a_blank_persona_type_is_general() {
    let persona_type =
        |metadata: &str| match parse_text(&with(&format!(r#""metadata":{metadata}"#))) {
            Ok(RequestedChoice::Full(prompt)) => prompt.model_hint.persona_type,
            _ => panic!("{metadata}"),
        };

    assert_eq!(persona_type(r#"{"pia_persona_type":" Code "}"#).as_deref(), Some("code"));
    assert_eq!(persona_type(r#"{"pia_persona_type":""}"#).as_deref(), Some("general"));
    assert_eq!(persona_type(r#"{"pia_persona_type":" \t"}"#).as_deref(), Some("general"));
    let long_metadata = format!(r#"{{"pia_persona_type":"{}"}}"#, "x".repeat(51));
    for none in
        ["{}", r#"{"pia_persona_type":null}"#, r#"{"pia_persona_type":7}"#, "7", &long_metadata]
    {
        assert_eq!(persona_type(none), None, "{none}");
    }
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    assert_eq!(forwarded_body(&with(r#""seed":1,"seed":2"#))["seed"], 2);
}

#[test]
fn the_caller_chooses_the_form_of_the_response() {
    let response_form = |member| match parse_text(&with(member)) {
        Ok(RequestedChoice::Full(_)) => "whole",
        Ok(RequestedChoice::Stream(_, UsageChunks::Included)) => "stream with usage",
        Ok(RequestedChoice::Stream(_, UsageChunks::Omitted)) => "stream",
        Err(err) => panic!("{err:?}"),
    };

    assert_eq!(response_form(r#""stream":false"#), "whole");
    assert_eq!(response_form(r#""stream":null"#), "whole");
    assert_eq!(response_form(r#""stream":true"#), "stream");
    assert_eq!(response_form(r#""stream":true,"stream_options":{}"#), "stream");
    assert_eq!(
        response_form(r#""stream":true,"stream_options":{"include_usage":true,"x":1}"#),
        "stream with usage"
    );
}

#[test]
fn invalid_parameters_are_reported() {
    for (member, field, code) in [
        (r#""stream":"yes""#, "stream", "invalid_type"),
        (r#""stream_options":[true]"#, "stream_options", "invalid_type"),
        (r#""stream_options":{"include_usage":1}"#, "stream_options", "invalid_type"),
        (r#""temperature":2.1"#, "temperature", "out_of_range"),
        (r#""temperature":-0.1"#, "temperature", "out_of_range"),
        (r#""temperature":"hot""#, "temperature", "invalid_type"),
        (r#""top_p":1.5"#, "top_p", "out_of_range"),
        (r#""presence_penalty":3"#, "presence_penalty", "out_of_range"),
        (r#""max_tokens":0"#, "max_tokens", "out_of_range"),
        (r#""max_tokens":-1"#, "max_tokens", "out_of_range"),
        (r#""max_completion_tokens":1.5"#, "max_completion_tokens", "out_of_range"),
        (r#""max_tokens":1e-3"#, "max_tokens", "out_of_range"),
        (r#""max_tokens":1e300"#, "max_tokens", "out_of_range"),
        (r#""max_tokens":"5""#, "max_tokens", "out_of_range"),
        (r#""n":2"#, "n", "out_of_range"),
        (r#""n":1.5"#, "n", "out_of_range"),
        (r#""tools":{}"#, "tools", "invalid_type"),
        (r#""tools":[{"type":"function"},"x"]"#, "tools[1]", "invalid_type"),
        (r#""messages":"x""#, "messages", "invalid_type"),
        (r#""messages":null"#, "messages", "required"),
    ] {
        assert_eq!(violations(&with(member)), [(field.to_owned(), code)], "{member}");
    }
    assert_eq!(violations("{}"), [("messages".to_owned(), "required")]);
    assert_eq!(violations("[]"), [(String::new(), "invalid_type")]);
}

#[test]
fn an_integer_may_have_a_point_or_an_exponent() {
    for (written, tokens) in [("1", 1), ("1.0", 1), ("1.20e2", 120), ("4096.00", 4096)] {
        let body = with(&format!(r#""max_tokens":{written},"n":1.0"#));

        let Ok(RequestedChoice::Full(prompt)) = parse_text(&body) else { panic!("{written}") };

        let cap = OutputCap { tokens, name: Some(CapName::MaxTokens) };
        assert_eq!(prompt.max_output, Some(cap), "{written}");
    }
}

#[test]
fn broken_json_is_reported_without_its_content() {
    for body in ["", "{", r#"{"messages":[secret]}"#, r#"{"messages":[]} x"#] {
        let Err(AssistantError::Malformed(message)) = parse_text(body) else { panic!("{body}") };

        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn deep_json_is_parsed_without_recursion() {
    let nested_json = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let body = with(&format!(r#""response_format":{nested_json},"metadata":{nested_json}"#));
    let message = format!(r#"{{"messages":[{{"role":"user","content":"x","y":{nested_json}}}]}}"#);

    assert!(parse_text(&body).is_ok());
    assert!(parse_text(&message).is_ok());
    assert_eq!(
        violations(&format!(r#"{{"messages":{nested_json}}}"#)),
        [("messages[0]".to_owned(), "invalid_type")]
    );
}

#[test]
fn large_parts_are_slices_of_the_request() {
    let image = "A".repeat(100_000);
    let body = Bytes::from(json!({
        "temperature": 1,
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": image}}]}],
        "tools": [{"type": "function", "function": {"description": "d".repeat(5000)}}],
    }).to_string());
    let within = body.as_ptr_range();

    let Ok(RequestedChoice::Full(prompt)) = parse(&body) else { panic!("refused") };
    let tokens = prompt.text.tokens(&crate::fakes::QuarterTokens);
    let pieces = open_pieces(&prompt.body(&AddedMessages::default()));

    let copied: usize =
        pieces.iter().filter(|it| !within.contains(&it.as_ptr())).map(Bytes::len).sum();
    assert!(copied < 100, "{copied} bytes copied");
    assert!(pieces.iter().map(Bytes::len).sum::<usize>() > 105_000);
    assert!((2200..2400).contains(&tokens), "an image is not counted by its bytes: {tokens}");
}
