//! Answers for benchmarks.

use pia_demo_upstream::{Demo, DemoOptions};

use crate::harness::{ask, message, streamed};

#[test]
fn prepared_answers_are_whole_or_streamed_as_requested() {
    let demo = Demo::with(DemoOptions { prepared: true, ..DemoOptions::default() })
        .expect("a demo upstream");

    let (whole, stream) = (ask(&demo, &message("Hello")), ask(&demo, &streamed("Hello")));

    assert_eq!(whole.text.len(), 359);
    assert_eq!(stream.events().len(), 102);
    assert!(stream.text.ends_with("data: [DONE]\n\n"));
}

#[test]
fn magic_words_work_where_answers_are_prepared() {
    let demo = Demo::with(DemoOptions { prepared: true, ..DemoOptions::default() })
        .expect("a demo upstream");

    let stream = ask(&demo, &streamed("demo:chunks=7 demo:no-usage"));

    // The role before them, the finish reason after them.
    assert_eq!(stream.events().len(), 9);
}
