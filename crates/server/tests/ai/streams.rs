//! Tests of streamed answers.

use std::time::{Duration, Instant};

use pia_server_testkit::ai_client::{
    CHAT, Heard, HeardError, JSON, Live, OPTIMIZE, TIMED_OUT, chat_request, streaming_request,
    upstream_config, with_demo,
};
use pia_server_testkit::ai_peer::{EVENTS, Fixed, Peer};
use serde_json::{Value, json};

const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn event(content: &str) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": content } }] }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_framed_as_clients_require() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    let answer = ada.post(CHAT, &streaming_request("one two three")).await;

    let text = answer.text();
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    assert_eq!(answer.header("content-length"), None);
    assert!(text.ends_with("\n\ndata: [DONE]\n\n"), "{text}");
    for frame in text.split_terminator("\n\n") {
        assert!(frame.starts_with("data: ") && !frame.contains('\n'), "{frame}");
    }
    assert_eq!(Heard::of(&answer).text, "Demo answer to: one two three");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_sent_once_before_done_and_only_if_requested() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let mut without_options = streaming_request("good day");
    without_options["stream_options"] = Value::Null;

    let requested = Heard::of(&ada.post(CHAT, &streaming_request("good day")).await);
    let plain = Heard::of(&ada.post(CHAT, &without_options).await);

    let with_usage = |heard: &Heard| -> Vec<usize> {
        let has_usage = |it: &Value| it.get("usage").is_some_and(Value::is_object);
        (0..heard.chunks.len()).filter(|at| has_usage(&heard.chunks[*at])).collect()
    };
    let [.., end, usage] = &requested.chunks[..] else { panic!("{requested:?}") };
    assert_eq!(with_usage(&requested), [requested.chunks.len() - 1]);
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(
        usage["usage"],
        json!({ "prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7 })
    );
    assert_eq!(end["choices"][0]["delta"], json!({}));
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert!(with_usage(&plain).is_empty());
    assert_eq!(plain.usage, None);
    assert_eq!(plain.chunks.last(), Some(end));
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_estimated_if_the_upstream_reports_none() {
    let (_demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    let heard =
        Heard::of(&ada.post(CHAT, &streaming_request("demo:no-usage demo:chunks=7 Hello")).await);

    let (input, output) = heard.usage.unwrap();
    assert!((5..40).contains(&input) && (7..20).contains(&output), "{input} {output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_stream_is_normalised_for_the_client() {
    let call =
        json!({ "index": "0", "id": 7, "function": { "name": "f", "arguments": { "a": 1 } } });
    let second_call = json!({ "id": "8", "function": { "name": "g", "arguments": "{}" } });
    let events = [
        json!({ "guardrail": { "protected": true } }),
        json!({ "choices": [{ "message": { "content": "One" } }] }),
        json!({ "choices": [{ "message": { "content": " two" } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": [call, 5] } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": [second_call] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "" }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_use" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": "3", "completion_tokens": 4.0 } }),
        json!({ "choices": [], "usage": ["many"] }),
    ];
    let lines: Vec<String> = events.iter().map(|it| format!("data: {it}\r\r")).collect();
    let stream = format!("{EVENTS}\u{feff}{}data: [DONE]\r\r", lines.concat());
    let upstream = Fixed::with_response(stream).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;

    let heard = Heard::of(&ada.post(CHAT, &streaming_request("x")).await);

    let calls: Vec<_> = heard.calls.iter().map(|it| (&*it.id, &*it.name, &*it.arguments)).collect();
    assert_eq!(heard.text, "One two");
    assert_eq!(calls, [("7", "f", r#"{"a":1}"#), ("8", "g", "{}")]);
    assert_eq!(heard.finish.as_deref(), Some("tool_calls"));
    assert_eq!(heard.usage, Some((3, 4)));
    assert!(heard.chunks.iter().all(|it| it.get("guardrail").is_none()), "{heard:?}");
    let ends = heard.chunks.iter().filter(|it| it.to_string().contains("finish_reason"));
    assert_eq!(ends.count(), 1, "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_and_framing_of_another_style_are_normalised() {
    let usage = r#"{"choices":[{"index":0,"finish_reason":"stop"}],"usage":{"input_tokens":4,"output_tokens":2}}"#;
    let first =
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"input_tokens":4,"output_tokens":1}}"#;
    let stream = format!(
        "{EVENTS}: hello\r\n\r\nevent: message\r\nid: 7\r\ndata:{first}\r\n\r\nretry: 1\r\ndata: {usage}\r\n\r\n"
    );
    let upstream = Fixed::with_response(stream).await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;

    let heard = Heard::of(&ada.post(CHAT, &streaming_request("x")).await);

    assert_eq!(heard.text, "a");
    assert_eq!(heard.finish.as_deref(), Some("stop"));
    assert_eq!(heard.usage, Some((4, 2)));
    let keys =
        |at: usize| heard.chunks[at].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(0), ["choices"]);
    assert_eq!(keys(1), ["choices"]);
    assert_eq!(heard.chunks[2]["usage"]["prompt_tokens"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_answers_in_one_piece_is_a_short_stream() {
    let full = r#"{"id":"c","choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let upstream = Fixed::with_json(full).await;
    let app = upstream_config(&upstream.endpoint).start().await;

    let heard = Heard::of(&app.signed_in().await.post(CHAT, &streaming_request("x")).await);

    assert_eq!(heard.text, "Fine.");
    assert_eq!(heard.finish.as_deref(), Some("stop"));
    assert_eq!(heard.usage, Some((1, 2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_forwarded_at_once() {
    let upstream = Peer::start().await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let body = streaming_request("x").to_string();
    let headers = [JSON, ("accept-encoding", "gzip, deflate, br")];

    let socket = ada.begin("POST", CHAT, &headers, body.as_bytes()).await;
    let mut live = Live::on_socket(socket);
    let mut call = upstream.call().await;
    call.write(EVENTS).await;
    for word in ["one", "two", "three"] {
        call.write(event(word)).await;
        live.until(word).await;
    }
    call.write(format!("{END}{DONE}")).await;
    let answer = live.read_to_end().await;

    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(Heard::of(&answer).text, "onetwothree");
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_prevent_a_silent_stream_from_timing_out() {
    let upstream = Peer::start().await;
    let app =
        upstream_config(&upstream.endpoint).with("Ai__HeartbeatInterval", "150ms").start().await;
    let ada = app.signed_in().await;

    let began = Instant::now();
    let mut live_call = Live::ask(&ada, CHAT, &streaming_request("x")).await;
    let mut call = upstream.call().await;
    call.write(format!("{EVENTS}{}", event("a"))).await;
    live_call.until_count(": keep-alive\n\n", 3).await;
    let silent = began.elapsed();
    call.write(format!("{}{END}{DONE}", event("b"))).await;
    let answer = live_call.read_to_end().await;

    assert!(silent >= Duration::from_millis(450), "{silent:?}");
    assert_eq!(Heard::of(&answer).text, "ab");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_opens_though_its_upstream_is_silent_and_fails_inside() {
    let (demo, _) = with_demo().await;
    let app = upstream_config(&demo.endpoint())
        .with("Ai__OpenAfter", "100ms")
        .with("Ai__HeartbeatInterval", "100ms")
        .with("Ai__FirstByteTimeout", "1s")
        .start()
        .await;
    let ada = app.signed_in().await;

    for (path, body) in [
        (CHAT, streaming_request("demo:silent")),
        (OPTIMIZE, json!({ "text": "demo:silent", "stream": true })),
    ] {
        let answer = ada.post(path, &body).await;

        let heard = Heard::of(&answer);
        assert!(answer.text().starts_with(": keep-alive\n\n"), "{}", answer.text());
        let (title, text) = TIMED_OUT;
        let error = HeardError { title: title.to_owned(), text: text.to_owned() };
        assert_eq!(heard.error, Some(error));
        assert_eq!(heard.chunks.len(), 1);
    }
    assert!(demo.until(|it| it.open == 0).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_disconnects_ends_the_call_upstream() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;

    for (body, started) in [
        (streaming_request("demo:silent=2"), true),
        (streaming_request("demo:slow=50 demo:chunks=1000"), true),
        (streaming_request("demo:silent"), false),
        (chat_request("demo:silent"), false),
        (chat_request("demo:silent=1"), false),
    ] {
        for half in [false, true] {
            let mut live_call = Live::ask(&ada, CHAT, &body).await;
            if started {
                live_call.until("data: ").await;
            }
            assert!(demo.until(|it| it.open == 1).await, "{body}");
            let left = Instant::now();
            if half {
                live_call.half_close().await;
            } else {
                drop(live_call);
            }

            assert!(demo.until(|it| it.open == 0).await, "{body} {half}");
            assert!(left.elapsed() < Duration::from_secs(1), "{body} {:?}", left.elapsed());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_ends_its_streams_with_an_error() {
    let (demo, app) = with_demo().await;
    let ada = app.signed_in().await;
    let mut open_call = Live::ask(&ada, CHAT, &streaming_request("demo:silent=3")).await;
    open_call.until("data: ").await;
    let unopened = Live::ask(&ada, CHAT, &streaming_request("demo:silent")).await;
    let full_call = Live::ask(&ada, CHAT, &chat_request("demo:silent")).await;
    let optimized_call = Live::ask(&ada, OPTIMIZE, &json!({ "text": "demo:silent" })).await;
    assert!(demo.until(|it| it.open == 4).await);

    app.stop.cancel();
    let heard = Heard::of(&open_call.read_to_end().await);

    let error = heard.error.unwrap();
    assert_eq!(error.title, "Service Unavailable");
    assert!(!error.text.is_empty());
    for live in [unopened, full_call, optimized_call] {
        let answer = live.read_to_end().await;
        assert_eq!(answer.refusal(), (503, "stopping"));
        assert!(answer.header("retry-after").is_some());
    }
    assert!(demo.until(|it| it.open == 0).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_reader_slows_the_upstream_and_loses_nothing() {
    let upstream = Peer::start().await;
    let app = upstream_config(&upstream.endpoint).start().await;
    let ada = app.signed_in().await;
    let large = event(&"x".repeat(64 << 10));

    let live_call = Live::ask(&ada, CHAT, &streaming_request("x")).await;
    let mut call = upstream.call().await;
    call.write(EVENTS).await;
    let taken_bytes = call.flood(large.as_bytes(), 64 << 20).await;
    let (answer, ()) = tokio::join!(live_call.read_to_end(), async {
        // The rest of the partial event, and the end.
        call.write(&large.as_bytes()[taken_bytes % large.len()..]).await;
        call.write(format!("{END}{DONE}")).await;
        call.closed().await;
    });

    let heard = Heard::of(&answer);
    assert!(taken_bytes < 32 << 20, "{taken_bytes} bytes were taken in");
    assert_eq!(heard.error, None);
    assert_eq!(heard.text.len(), (taken_bytes / large.len() + 1) * (64 << 10));
}
