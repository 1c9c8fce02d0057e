//! Whatever an upstream sends, and however it is cut: the splitter gives the
//! same frames, holds no more than its limit, and never panics.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run splitter -- -max_total_time=60`

#![no_main]

use std::sync::Arc;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use pia_assistant::{Frame, UpstreamError};

// The two files, not their crate: its HTTP client would take minutes to build
// and is not what is tried here.
#[path = "../../crates/upstream/src/event_filter.rs"]
mod event_filter;
#[path = "../../crates/upstream/src/splitter.rs"]
mod splitter;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (limit, step, body) = input;
    let limit = usize::from(limit) + 1;
    let step = usize::from(step) + 1;

    assert_eq!(frames(body.chunks(step), limit), frames([body], limit));
});

type Outcome = (Vec<Frame>, Result<(), UpstreamError>);

fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Outcome {
    let mut splitter = splitter::Splitter::new(Arc::default(), limit);
    let mut frames = Vec::new();
    let mut sink = |frame| join(&mut frames, frame);
    let mut outcome = pieces
        .into_iter()
        .try_for_each(|piece| splitter.push(&Bytes::copy_from_slice(piece), &mut sink));
    if outcome.is_ok() {
        outcome = splitter.finish(&mut sink);
    }
    (frames, outcome)
}

/// Neighbouring events may go on together or one by one.
fn join(frames: &mut Vec<Frame>, frame: Frame) {
    if let (Some(Frame::Pass { bytes, events }), Frame::Pass { bytes: more, events: count }) =
        (frames.last_mut(), &frame)
    {
        *bytes = Bytes::from([bytes.as_ref(), more.as_ref()].concat());
        *events += count;
    } else {
        frames.push(frame);
    }
}
