//! Searches, with the test data of Linkup's own client.

use pia_assistant::{Protection, SearchDepth};
use wiremock::matchers::{body_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::UpstreamLimits;
use crate::peer::{brief, new_upstream};

const RESULTS: &str = r#"{ "results": [
    { "type": "text", "name": "Eiffel\n Tower", "url": "https://a.example/x",
      "content": " It opened in 1889. ", "favicon": "https://a.example/favicon.ico" },
    { "type": "image", "name": "A picture", "url": "https://a.example/x.png" },
    { "type": "text", "name": "", "url": "https://b.example/", "content": "Open.", "favicon": "" },
    { "type": "text", "name": "No", "url": "javascript:alert(1)", "content": "No." }
] }"#;

fn search_provider(endpoint: &str, depth: SearchDepth) -> SearchProvider {
    SearchProvider {
        id: "web".to_owned(),
        endpoint: endpoint.to_owned(),
        keys: Vec::new(),
        depth,
        protection: Protection::default(),
    }
}

fn key() -> Secret<String> {
    Secret::new("lk-secret".to_owned())
}

/// Runs a search with this response.
async fn search(
    template: ResponseTemplate,
    limits: UpstreamLimits,
) -> Result<Vec<SearchResult>, UpstreamError> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    let provider = search_provider(&server.uri(), SearchDepth::Fast);
    new_upstream(limits).search(&provider, &key(), "Eiffel").await
}

fn refusal(status: u16, code: &str) -> ResponseTemplate {
    let error = json!({ "error": { "code": code, "message": "lk-secret", "details": [] } });
    ResponseTemplate::new(status).set_body_json(error)
}

#[tokio::test]
async fn a_search_returns_its_results() {
    for depth in SearchDepth::ALL {
        let server = MockServer::start().await;
        let question = json!({
            "q": "When did it open?", "depth": depth.name(), "outputType": "searchResults",
            "includeImages": false, "maxResults": 10,
        });
        Mock::given(method("POST"))
            .and(path("/v1/search"))
            .and(header("authorization", "Bearer lk-secret"))
            .and(header("content-type", "application/json"))
            .and(body_json(question))
            .respond_with(ResponseTemplate::new(200).set_body_raw(RESULTS, "application/json"))
            .mount(&server)
            .await;
        let provider = search_provider(&format!("{}/v1/", server.uri()), depth);

        let results = new_upstream(UpstreamLimits::default())
            .search(&provider, &key(), "When did it open?")
            .await
            .unwrap();
        let columns: Vec<_> = results.iter().map(|it| (&*it.title, &*it.url, &*it.text)).collect();
        let expected = [
            ("Eiffel Tower", "https://a.example/x", "It opened in 1889."),
            ("https://b.example/", "https://b.example/", "Open."),
        ];
        assert_eq!(columns, expected);
    }
}

#[tokio::test]
async fn no_results_are_a_valid_response() {
    let no_result = refusal(400, "SEARCH_QUERY_NO_RESULT");
    let empty_list = ResponseTemplate::new(200).set_body_string(r#"{"results":[]}"#);
    assert_eq!(search(no_result, UpstreamLimits::default()).await, Ok(Vec::new()));
    assert_eq!(search(empty_list, UpstreamLimits::default()).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_refusal_keeps_its_status_and_hides_its_message() {
    for (status, code) in [
        (400, "VALIDATION_ERROR"),
        (401, "UNAUTHORIZED"),
        (403, "FORBIDDEN"),
        (429, "INSUFFICIENT_FUNDS_CREDITS"),
        (500, "INTERNAL_SERVER_ERROR"),
    ] {
        let err = search(refusal(status, code), UpstreamLimits::default()).await.unwrap_err();

        assert!(matches!(err, UpstreamError::Refused { status: it, .. } if it == status));
        assert!(!err.to_string().contains("lk-secret"));
    }
}

#[tokio::test]
async fn a_malformed_response_is_an_error() {
    for body in ["<html>", "{}", r#"{"results":7}"#] {
        let template = ResponseTemplate::new(200).set_body_string(body);
        let err = search(template, UpstreamLimits::default()).await.unwrap_err();

        assert_eq!(err, UpstreamError::Malformed, "{body}");
    }
}

#[tokio::test]
async fn a_response_is_limited() {
    let hit = |nth: usize, length: usize| {
        json!({ "type": "text", "name": "x".repeat(500), "url": format!("https://a.example/{nth}"),
            "content": "ä".repeat(length) })
    };
    let hits: Vec<_> = (0..30).map(|nth| hit(nth, 10_000)).collect();
    let template = ResponseTemplate::new(200).set_body_json(json!({ "results": hits }));
    let huge = ResponseTemplate::new(200)
        .set_body_json(json!({ "results": [hit(0, MAX_RESPONSE_BYTES)] }));

    let results = search(template, UpstreamLimits::default()).await.unwrap();
    assert_eq!(results.len(), 10);
    assert!(results.iter().all(|it| it.text.chars().count() == 4001));
    assert!(results.iter().all(|it| it.title.chars().count() == 201));
    assert_eq!(search(huge, UpstreamLimits::default()).await, Err(UpstreamError::TooLong));
}

#[tokio::test]
async fn a_search_has_a_timeout() {
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_secs(30));

    assert_eq!(search(slow, brief()).await, Err(UpstreamError::Silent));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = ResponseTemplate::new(307).insert_header("location", "https://b.example/");

    let err = search(elsewhere, UpstreamLimits::default()).await.unwrap_err();

    assert!(matches!(err, UpstreamError::Refused { status: 307, .. }));
}
