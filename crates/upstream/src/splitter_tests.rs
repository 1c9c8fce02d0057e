//! Tests of the splitter, with bodies cut anywhere.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const ALL_KINDS: &str = concat!(
    ": hello\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"ä€😀\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
    "data:{\"c\":1}\n\n",
    "event: x\r\ndata: {\"d\":\r\ndata: 2}\r\n\r\n",
    "\n",
    "data: {\"e\":3}\n\ndata: {\"f\":4}\n\n",
    "data: {\"g\":\rdata: 5}\r\rdata: {\"h\":6}\n\r\n",
    "event: nothing\n\n",
    "data: \n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n",
    "data: [DONE]\n\n",
    "data: [DONE]\n\n",
    "data: after\n\n",
);

type Outcome = Result<(), UpstreamError>;

/// Splits a body that arrives in these pieces.
fn split(pieces: &[&[u8]], limit: usize) -> (Vec<Frame>, Outcome) {
    let mut splitter = Splitter::new(Arc::default(), limit);
    let mut frames = Vec::new();
    let mut sink = |frame| frames.push(frame);
    let mut outcome = pieces
        .iter()
        .try_for_each(|piece| splitter.push(&Bytes::copy_from_slice(piece), &mut sink));
    if outcome.is_ok() {
        outcome = splitter.finish(&mut sink);
    }
    (frames, outcome)
}

/// Joins adjacent passes, so that only the contents are compared.
fn merge(frames: Vec<Frame>) -> Vec<Frame> {
    frames.into_iter().fold(Vec::new(), |mut all, frame| {
        match (all.last_mut(), frame) {
            (
                Some(Frame::Forward { bytes, events }),
                Frame::Forward { bytes: more, events: more_events },
            ) => {
                *bytes = Bytes::from([bytes.as_ref(), more.as_ref()].concat());
                *events += more_events;
            }
            (_, frame) => all.push(frame),
        }
        all
    })
}

fn pass(text: &str, events: u32) -> Frame {
    Frame::Forward { bytes: Bytes::copy_from_slice(text.as_bytes()), events }
}

fn look(text: &str) -> Frame {
    Frame::Inspect(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn every_kind_of_event_is_recognised() {
    let (frames, outcome) = split(&[ALL_KINDS.as_bytes()], 1024);

    assert_eq!(outcome, Ok(()));
    assert_eq!(
        merge(frames),
        [
            Frame::Alive,
            pass(
                concat!(
                    "data: {\"choices\":[{\"delta\":{\"content\":\"ä€😀\"},\"finish_reason\":null}]}\n\n",
                    "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
                    "data: {\"c\":1}\n\n",
                    "data: {\"d\": 2}\n\n",
                ),
                4
            ),
            Frame::Alive,
            pass(
                concat!(
                    "data: {\"e\":3}\n\ndata: {\"f\":4}\n\n",
                    "data: {\"g\": 5}\n\ndata: {\"h\":6}\n\n",
                ),
                4
            ),
            Frame::Alive,
            Frame::Alive,
            look("{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"),
            look("{\"choices\":[],\"usage\":{\"prompt_tokens\":1}}"),
            Frame::Done,
        ]
    );
}

#[test]
fn any_step_size_gives_the_same_frames() {
    let expected_frames = merge(split(&[ALL_KINDS.as_bytes()], 1024).0);

    for step in 1..=ALL_KINDS.len() {
        let pieces: Vec<&[u8]> = ALL_KINDS.as_bytes().chunks(step).collect();

        let (frames, outcome) = split(&pieces, 1024);

        assert_eq!(outcome, Ok(()), "in steps of {step}");
        assert_eq!(merge(frames), expected_frames, "in steps of {step}");
    }
}

#[test]
fn a_cut_at_any_offset_gives_the_same_frames() {
    let expected_frames = merge(split(&[ALL_KINDS.as_bytes()], 1024).0);

    for at in 0..=ALL_KINDS.len() {
        let (before, after) = ALL_KINDS.as_bytes().split_at(at);

        let (frames, outcome) = split(&[before, after], 1024);

        assert_eq!(outcome, Ok(()), "cut at {at}");
        assert_eq!(merge(frames), expected_frames, "cut at {at}");
    }
}

#[test]
fn a_run_of_events_is_passed_on_as_one_slice() {
    let piece = Bytes::from_static(b"data: {\"a\":1}\n\ndata: {\"b\":2}\n\n");
    let mut splitter = Splitter::new(Arc::default(), 64);
    let mut frames = Vec::new();

    splitter.push(&piece, &mut |frame| frames.push(frame)).unwrap();

    let [Frame::Forward { bytes, events: 2 }] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!(bytes.as_ptr(), piece.as_ptr());
    assert_eq!(bytes.len(), piece.len());
}

#[test]
fn data_that_is_not_an_object_is_unreadable() {
    let events: [&[u8]; 3] = [b"data: hello\n\n", b"data: [1]\n\n", b"data: {\"cut\n\n"];

    for event in events {
        assert_eq!(split(&[event], 64).0, [Frame::Unreadable], "{}", event.escape_ascii());
    }
}

#[test]
fn invalid_utf8_is_parsed() {
    let look = |json: &'static [u8]| Frame::Inspect(Bytes::from_static(json));

    assert_eq!(split(&[b"data: {\"\xff\"}\n\n"], 64).0, [look(b"{\"\xff\"}")]);
}

#[test]
fn an_event_of_type_error_becomes_an_error() {
    for (event, expected) in [
        ("event: error\ndata: {\"detail\":\"x\"}\n\n", r#"{"error":{"detail":"x"}}"#),
        ("data: {\"error\":{\"code\":7}}\r\nevent:error\r\n\r\n", r#"{"error":{"code":7}}"#),
        ("event: error\ndata: gone\n\n", r#"{"error":"gone"}"#),
    ] {
        assert_eq!(split(&[event.as_bytes()], 64).0, [Frame::Inspect(expected.into())], "{event}");
    }
}

#[test]
fn an_event_at_the_limit_is_accepted_and_a_longer_one_is_not() {
    let event = b"data: {\"a\":1}\n\n";

    for step in 1..=event.len() {
        let pieces: Vec<&[u8]> = event.chunks(step).collect();

        let (frames, outcome) = split(&pieces, event.len());
        assert_eq!(frames, split(&[event], 64).0);
        assert_eq!(outcome, Err(UpstreamError::Cut));

        let (frames, outcome) = split(&pieces, event.len() - 1);
        assert_eq!(frames, []);
        assert_eq!(outcome, Err(UpstreamError::TooLong));
    }
}

#[test]
fn events_before_one_that_is_too_long_are_passed_on() {
    let (frames, outcome) = split(&[b"data: {}\n\ndata: {\"long\":\"text\"}\n\n"], 12);

    assert_eq!(frames, [pass("data: {}\n\n", 1)]);
    assert_eq!(outcome, Err(UpstreamError::TooLong));
}

#[test]
fn an_end_without_done_or_finish_is_a_cut() {
    assert_eq!(split(&[b""], 64).1, Err(UpstreamError::Cut));
    assert_eq!(split(&[b"data: {}\n\n"], 64).1, Err(UpstreamError::Cut));
    assert_eq!(split(&[b"data: {\"finish_reason\":\"sto"], 64).1, Err(UpstreamError::Cut));
}

#[test]
fn an_end_after_a_finish_reason_is_regular() {
    let (frames, outcome) = split(&[b"data: {\"finish_reason\":\"stop\"}\n\n"], 64);

    assert_eq!(frames.len(), 1);
    assert_eq!(outcome, Ok(()));
}

#[test]
fn the_last_event_may_lack_its_blank_line() {
    let (frames, outcome) = split(&[b"data: {\"finish_reason\":\"stop\"}\n\ndata: [DONE]"], 64);
    assert_eq!(frames.last(), Some(&Frame::Done));
    assert_eq!(outcome, Ok(()));

    let (frames, outcome) = split(&[b"data: {\"finish_reason\":\"stop\"}\r\n"], 64);
    assert_eq!(frames, [look("{\"finish_reason\":\"stop\"}")]);
    assert_eq!(outcome, Ok(()));
}

#[test]
fn lines_may_end_in_each_of_three_ways() {
    let body_text = concat!(
        ": hello\n\ndata: {\"a\":1}\n\nevent: x\ndata: {\"b\":\ndata: 2}\n\n",
        "data: {\"finish_reason\":\"stop\"}\n\ndata: [DONE]\n\n",
    );
    let (frames_of_line_feeds, _) = split(&[body_text.as_bytes()], 64);
    assert_eq!(frames_of_line_feeds.len(), 5);
    let expected_frames = merge(frames_of_line_feeds);

    for end in ["\r", "\r\n", "\n"] {
        let body = body_text.replace('\n', end).into_bytes();
        for step in 1..=body.len() {
            let pieces: Vec<&[u8]> = body.chunks(step).collect();

            let (frames, outcome) = split(&pieces, 64);

            assert_eq!(outcome, Ok(()), "{end:?}");
            assert_eq!(merge(frames), expected_frames, "{end:?}");
        }
    }
}

#[test]
fn an_event_that_ends_with_carriage_returns_is_emitted_at_once() {
    let mut splitter = Splitter::new(Arc::default(), 64);
    let mut frames = Vec::new();
    let mut push = |piece: &'static [u8]| {
        splitter.push(&Bytes::from_static(piece), &mut |frame| frames.push(frame)).unwrap();
        frames.len()
    };

    let counts = [push(b"data: {}\r\n\r"), push(b"\n"), push(b"data: {}\r\r"), push(b"\r")];

    assert_eq!(counts, [1, 1, 2, 3]);
}

#[test]
fn only_a_mark_before_the_first_event_is_skipped() {
    let body = b"\xef\xbb\xbfdata: {\"a\":1}\n\n\xef\xbb\xbfdata: {\"b\":2}\n\ndata: [DONE]\n\n";
    let unfinished_body = b"\xef\xbb\xbfdata: [DONE]";

    for step in 1..=body.len() {
        let pieces: Vec<&[u8]> = body.chunks(step).collect();

        let (frames, outcome) = split(&pieces, 64);

        assert_eq!(outcome, Ok(()), "in steps of {step}");
        let expected_frames = [pass("data: {\"a\":1}\n\n", 1), Frame::Alive, Frame::Done];
        assert_eq!(frames, expected_frames, "in steps of {step}");
    }

    let (frames, outcome) = split(&[unfinished_body], 64);
    assert_eq!(outcome, Ok(()));
    assert_eq!(frames, [Frame::Done]);
}

proptest! {
    #[test]
    fn cuts_do_not_change_the_frames(
        lines in vec(
            prop_oneof![
                Just("\n"), Just("\r\n"), Just("data: {\"a\":1}\n"), Just("data:{\n"),
                Just("data: {\"error\":1}\n"), Just(":\r\n"), Just("data: [DONE]\n"),
                Just("\r"), Just("x: y\n"), Just("data: {\"finish_reason\":\"stop\"}\r\n"),
                Just("data: {\"b\":2}\r"), Just("data: {\"c\":3}"), Just("\u{feff}"),
            ],
            0..24,
        ),
        cuts in vec(any::<Index>(), 0..6),
        limit in 1_usize..80,
    ) {
        let body = lines.concat().into_bytes();
        let mut offsets: Vec<usize> = cuts.iter().map(|it| it.index(body.len() + 1)).collect();
        offsets.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for end in offsets.into_iter().chain([body.len()]) {
            pieces.push(&body[start..end]);
            start = end;
        }

        let (expected_frames, expected_outcome) = split(&[&body], limit);
        let (frames, outcome) = split(&pieces, limit);

        prop_assert_eq!(merge(frames), merge(expected_frames));
        prop_assert_eq!(outcome, expected_outcome);
    }
}
