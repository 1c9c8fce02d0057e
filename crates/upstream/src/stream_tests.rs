//! Streams and their failures.

use std::time::Duration;

use futures_util::StreamExt;
use pia_assistant::{Frame, Timer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::TokioTimer;
use crate::peer::{CHUNKED, EVENTS, OPEN, Peer, brief, chat_call, new_upstream, read_request};

type Item = Result<Frame, UpstreamError>;

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what a stream gives")]
fn pass(text: &str) -> Item {
    Ok(Frame::Forward { bytes: Bytes::copy_from_slice(text.as_bytes()), events: 1 })
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what a stream gives")]
fn look(event: &str) -> Item {
    let json = event.trim().trim_start_matches("data: ");
    Ok(Frame::Inspect(Bytes::copy_from_slice(json.as_bytes())))
}

/// Returns all frames of a stream whose upstream writes this and closes.
async fn read_frames(answer: &str, limits: UpstreamLimits) -> Vec<Item> {
    let peer = Peer::start().await;
    let upstream = new_upstream(limits);
    tokio::join!(collect_frames(&upstream, &peer), peer.answer(answer)).0
}

/// Opens a stream and returns all its frames.
async fn collect_frames(upstream: &Upstream, peer: &Peer) -> Vec<Item> {
    upstream.open(chat_call(&peer.endpoint, &[OPEN])).await.unwrap().collect().await
}

fn chunked(parts: &[&str]) -> String {
    let chunks: Vec<String> =
        parts.iter().map(|it| format!("{:x}\r\n{it}\r\n", it.len())).collect();
    format!("{CHUNKED}{}", chunks.concat())
}

#[tokio::test]
async fn a_stream_gives_its_frames_and_ends() {
    let events = format!("{EVENTS}: hi\n\n{HELLO}{STOP}data: [DONE]\n\n");

    let frames = read_frames(&events, UpstreamLimits::default()).await;

    assert_eq!(frames, [Ok(Frame::Alive), pass(HELLO), look(STOP), Ok(Frame::Done)]);
}

#[tokio::test]
async fn a_stream_in_single_bytes_has_the_same_frames() {
    let events = format!("{HELLO}{STOP}data: [DONE]\n\n");
    let pieces: Vec<&str> = events.split_inclusive(|_: char| true).collect();
    let body = format!("{}0\r\n\r\n", chunked(&pieces));
    let frames = read_frames(&body, UpstreamLimits::default()).await;

    assert_eq!(frames, [pass(HELLO), look(STOP), Ok(Frame::Done)]);
}

#[tokio::test]
async fn an_end_within_an_event_or_without_a_finish_reason_is_a_cut() {
    for end in ["", "data: {\"choices\"", "data: {\"choices\":[]}\n"] {
        let frames = read_frames(&format!("{EVENTS}{HELLO}{end}"), UpstreamLimits::default()).await;

        assert_eq!(frames.first(), Some(&pass(HELLO)), "{end}");
        assert_eq!(frames.last(), Some(&Err(UpstreamError::Cut)), "{end}");
    }
}

#[tokio::test]
async fn a_broken_connection_is_a_cut_unless_the_response_was_finished() {
    let unfinished_frames = read_frames(&chunked(&[HELLO]), UpstreamLimits::default()).await;
    let finished_frames = read_frames(&chunked(&[HELLO, STOP]), UpstreamLimits::default()).await;

    assert_eq!(unfinished_frames, [pass(HELLO), Err(UpstreamError::Cut)]);
    assert_eq!(finished_frames, [pass(HELLO), look(STOP)]);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_response_is_unreachable() {
    for head in [CHUNKED.to_owned(), EVENTS.replace("\r\n\r\n", "\r\ncontent-length: 9\r\n\r\n")] {
        let frames = read_frames(&head, UpstreamLimits::default()).await;

        assert_eq!(frames, [Err(connection_lost())], "{head}");
    }
}

#[tokio::test]
async fn an_end_after_the_finish_reason_is_regular() {
    let frames = read_frames(&format!("{EVENTS}{HELLO}{STOP}"), UpstreamLimits::default()).await;

    assert_eq!(frames, [pass(HELLO), look(STOP)]);
}

#[tokio::test]
async fn an_event_longer_than_its_limit_ends_the_stream() {
    let limits = UpstreamLimits { max_event: 1024, ..UpstreamLimits::default() };
    let events = format!("{EVENTS}{HELLO}data: {}", "x".repeat(100_000));

    let frames = read_frames(&events, limits).await;

    assert_eq!(frames, [pass(HELLO), Err(UpstreamError::TooLong)]);
}

#[tokio::test]
async fn an_upstream_that_only_sends_comments_times_out() {
    let peer = Peer::start().await;
    let limits = UpstreamLimits { answer: Duration::from_millis(200), ..brief() };
    let upstream = new_upstream(limits);
    let write = async {
        let mut socket = peer.request().await;
        socket.write_all(EVENTS.as_bytes()).await.unwrap();
        let mut comments = tokio::time::interval(Duration::from_millis(20));
        // Until the reader has gone.
        while socket.write_all(b": still here\n\n").await.is_ok() {
            comments.tick().await;
        }
    };

    let (frames, ()) = tokio::join!(collect_frames(&upstream, &peer), write);

    assert_eq!(frames.last(), Some(&Err(UpstreamError::Silent)));
    assert!(frames.len() > 3, "{frames:?}");
}

#[tokio::test]
async fn silence_after_the_finish_reason_ends_the_stream() {
    let peer = Peer::start().await;
    let upstream = new_upstream(brief());
    let write = async {
        let mut socket = peer.request().await;
        socket.write_all(format!("{EVENTS}{HELLO}{STOP}").as_bytes()).await.unwrap();
        drop(socket.read_to_end(&mut Vec::new()).await);
    };

    let (frames, ()) = tokio::join!(collect_frames(&upstream, &peer), write);

    assert_eq!(frames, [pass(HELLO), look(STOP)]);
}

#[tokio::test]
async fn a_silent_upstream_times_out() {
    let peer = Peer::start().await;
    let upstream = new_upstream(brief());
    let write = async {
        let mut socket = peer.request().await;
        socket.write_all(format!("{EVENTS}{HELLO}").as_bytes()).await.unwrap();
        socket
    };

    let (frames, _socket) = tokio::join!(collect_frames(&upstream, &peer), write);

    assert_eq!(frames, [pass(HELLO), Err(UpstreamError::Silent)]);
}

#[tokio::test]
async fn a_slow_reader_does_not_time_out_its_upstream() {
    let peer = Peer::start().await;
    let limits = brief();
    let upstream = new_upstream(limits.clone());
    let (frames, mut socket) =
        tokio::join!(upstream.open(chat_call(&peer.endpoint, &[OPEN])), async {
            let mut socket = peer.request().await;
            socket.write_all(EVENTS.as_bytes()).await.unwrap();
            socket
        });
    let mut frames = frames.unwrap();
    let (hello, _) = tokio::join!(frames.next(), socket.write_all(HELLO.as_bytes()));
    assert_eq!(hello, Some(pass(HELLO)));

    TokioTimer::new(CancellationToken::new()).pause(limits.silence * 2).await;
    let (stop, _) = tokio::join!(frames.next(), socket.write_all(STOP.as_bytes()));

    assert_eq!(stop, Some(look(STOP)));
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let peer = Peer::start().await;
    let upstream = new_upstream(UpstreamLimits::default());
    let (frames, mut socket) =
        tokio::join!(upstream.open(chat_call(&peer.endpoint, &[OPEN])), async {
            let mut socket = peer.request().await;
            socket.write_all(EVENTS.as_bytes()).await.unwrap();
            socket
        });

    drop(frames.unwrap());

    let end = timeout(Duration::from_secs(1), socket.read(&mut [0; 16])).await;
    assert!(matches!(end, Ok(Ok(0) | Err(_))), "{end:?}");
}

#[tokio::test]
async fn dropping_a_waiting_call_closes_its_connection() {
    let peer = Peer::start().await;
    let upstream = new_upstream(UpstreamLimits::default());
    let mut waiting = Box::pin(upstream.complete(chat_call(&peer.endpoint, &[OPEN])));
    let mut socket = tokio::select! {
        _ = &mut waiting => panic!("nothing was answered"),
        socket = peer.request() => socket,
    };

    drop(waiting);

    let end = timeout(Duration::from_secs(1), socket.read(&mut [0; 16])).await;
    assert!(matches!(end, Ok(Ok(0) | Err(_))), "{end:?}");
}

#[tokio::test]
async fn a_connection_whose_end_follows_done_is_reused() {
    let peer = Peer::start().await;
    let upstream = new_upstream(UpstreamLimits::default());
    let end_signal = Notify::new();
    let read = async {
        for _ in 0..2 {
            let mut frames = upstream.open(chat_call(&peer.endpoint, &[OPEN])).await.unwrap();
            while frames.next().await != Some(Ok(Frame::Done)) {}
            end_signal.notify_one();
            assert_eq!(frames.next().await, None);
        }
    };
    let write = async {
        let mut socket = peer.request().await;
        for is_reused in [true, false] {
            let stream = chunked(&[STOP, "data: [DONE]\n\n"]);
            socket.write_all(stream.as_bytes()).await.unwrap();
            end_signal.notified().await;
            socket.write_all(b"0\r\n\r\n").await.unwrap();
            if is_reused {
                read_request(&mut socket).await;
            }
        }
    };

    let exchange = async { tokio::join!(read, write) };

    assert!(timeout(Duration::from_secs(5), exchange).await.is_ok());
}

#[tokio::test]
async fn a_body_that_does_not_end_after_done_is_dropped() {
    let peer = Peer::start().await;
    let upstream = new_upstream(UpstreamLimits::default());
    let write = async {
        let mut socket = peer.request().await;
        socket.write_all(format!("{EVENTS}data: [DONE]\n\n").as_bytes()).await.unwrap();
        socket
    };

    let exchange = async { tokio::join!(collect_frames(&upstream, &peer), write) };
    let (frames, _socket) = timeout(Duration::from_secs(5), exchange).await.unwrap();

    assert_eq!(frames, [Ok(Frame::Done)]);
}
