//! Tests of the prepared responses for benchmarks.

use pia_demo_upstream::{Demo, DemoOptions};

use crate::harness::{request, send, stream_request};

#[test]
fn prepared_responses_are_full_or_streamed_as_requested() {
    let demo = Demo::with(DemoOptions { prepared: true, ..DemoOptions::default() })
        .expect("a demo upstream");

    let full = send(&demo, &request("Hello"));
    let stream = send(&demo, &stream_request("Hello"));

    assert_eq!(full.text.len(), 359);
    assert_eq!(stream.events().len(), 102);
    assert!(stream.text.ends_with("data: [DONE]\n\n"));
}

#[test]
fn magic_words_work_beside_prepared_responses() {
    let demo = Demo::with(DemoOptions { prepared: true, ..DemoOptions::default() })
        .expect("a demo upstream");

    let stream = send(&demo, &stream_request("demo:chunks=7 demo:no-usage"));

    // The role before them, the finish reason after them.
    assert_eq!(stream.events().len(), 9);
}
