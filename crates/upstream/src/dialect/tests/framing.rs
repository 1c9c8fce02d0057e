//! Framing and ends of streams, alike in each dialect.

use super::*;

const STREAMS: [(ProviderType, &str); 3] = [
    (ProviderType::OpenAi, include_str!("fixtures/openai_stream.sse")),
    (ProviderType::Anthropic, include_str!("fixtures/anthropic_stream.sse")),
    (ProviderType::Mistral, include_str!("fixtures/mistral_stream.sse")),
];

#[tokio::test]
async fn line_ends_comments_a_mark_and_another_done_change_nothing() {
    for (provider, events) in STREAMS {
        let expected = streamed_response(provider, false, events).await;
        assert!(expected.done && expected.failure.is_none(), "{expected:?}");
        let with_comments = events.replace("\n\n", "\n\n: ping\n\n");

        for variant in [
            events.replace('\n', "\r\n"),
            events.replace('\n', "\r"),
            format!("\u{feff}{with_comments}"),
            format!("{events}data: [DONE]\n\ndata: [DONE]\n\n"),
        ] {
            assert_eq!(streamed_response(provider, false, &variant).await, expected, "{variant}");
        }
    }
}

#[tokio::test]
async fn an_end_within_an_event_is_a_cut() {
    for (provider, events) in STREAMS {
        let (first_event, rest) = events.split_once("\n\n").unwrap();
        let (field, _) = rest.split_once('{').unwrap();
        let cut_stream = format!("{first_event}\n\n{field}{{\"id\":\"");

        let parsed = streamed_response(provider, false, &cut_stream).await;

        assert_eq!(parsed.failure, Some(UpstreamError::Cut), "{provider:?}");
        assert!(!parsed.done && parsed.finish_reason.is_none(), "{provider:?}");
    }
}

#[tokio::test]
async fn an_error_within_a_stream_is_passed_on() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error"}}"#;
    for (provider, events) in STREAMS {
        let (first_event, _) = events.split_once("\n\n").unwrap();
        let failing_stream = format!("{first_event}\n\nevent: error\ndata: {error}\n\n");

        let parsed = streamed_response(provider, false, &failing_stream).await;

        assert_eq!(parsed.error["type"], "overloaded_error", "{provider:?}");
    }
}

#[tokio::test]
async fn an_event_longer_than_its_limit_ends_the_stream() {
    let limits = UpstreamLimits { max_event: 1024, ..UpstreamLimits::default() };
    for (provider, events) in STREAMS {
        let (first_event, _) = events.split_once("\n\n").unwrap();
        let long_stream = format!("{first_event}\n\ndata: {{\"id\":\"{}", "x".repeat(100_000));
        let (_server, target) = serving(provider, &long_stream, EVENTS).await;

        let stream = new_upstream(limits.clone()).open(chat_call(target, &hello())).await.unwrap();
        let frames: Vec<_> = stream.collect().await;

        assert_eq!(frames.last(), Some(&Err(UpstreamError::TooLong)), "{provider:?}");
    }
}
