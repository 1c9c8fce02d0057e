//! Tests of the tools.

use pia_kernel::DocumentId;
use pia_knowledge::ContentType;
use serde_json::{Value, json};

use crate::fixture::{Fixture, NOW, PUBLIC_URL};

fn search() -> Value {
    json!({ "query": "Which railway tickets are paid for?" })
}

/// Returns the message of a failed call.
fn error(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

#[actix_web::test]
async fn the_tools_name_the_bases_and_have_schemas_and_hints() {
    let listed = Fixture::new().call("tools/list", json!({})).await["result"].take();

    let search = &listed["tools"][0];
    let fetch = &listed["tools"][1];
    assert_eq!(search["name"], "search");
    assert_eq!(fetch["name"], "fetch");
    assert!(search["description"].as_str().unwrap().contains("- Travel: Search it for expenses."));
    assert_eq!(search["inputSchema"]["required"], json!(["query"]));
    assert_eq!(fetch["inputSchema"]["required"], json!(["id"]));
    let required = &search["outputSchema"]["$defs"]["FoundPassage"]["required"];
    assert_eq!(required, &json!(["id", "title", "url", "text"]));
    for tool in [search, fetch] {
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["annotations"]["idempotentHint"], true);
    }
}

#[actix_web::test]
async fn a_search_returns_the_passages_with_links() {
    let fixture = Fixture::new();

    let result = fixture.call_tool("search", search()).await;

    let expected = json!({ "results": [{
        "id": fixture.document.to_string(),
        "title": "Policy",
        "url": format!("{PUBLIC_URL}/kb/{}", fixture.document),
        "text": fixture.text,
    }] });
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"], expected);
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, expected);
}

#[actix_web::test]
async fn a_document_links_to_its_source_only_if_that_is_a_page() {
    for (source_uri, is_page) in [("https://wiki.example/policy", true), ("file:///policy", false)]
    {
        let fixture = Fixture { source_uri: Some(source_uri), ..Fixture::new() };

        let result = fixture.call_tool("search", search()).await;

        let page = format!("{PUBLIC_URL}/kb/{}", fixture.document);
        let expected = if is_page { source_uri } else { &page };
        assert_eq!(result["structuredContent"]["results"][0]["url"], expected);
    }
}

#[actix_web::test]
async fn a_document_is_fetched_with_its_text() {
    let fixture = Fixture::new();

    let result = fixture.call_tool("fetch", json!({ "id": fixture.document })).await;

    let expected = json!({
        "id": fixture.document.to_string(),
        "title": "Policy",
        "text": fixture.text,
        "url": format!("{PUBLIC_URL}/kb/{}", fixture.document),
        "metadata": { "contentType": "text/markdown", "truncated": false },
    });
    assert_eq!(result["structuredContent"], expected);
}

#[actix_web::test]
async fn a_long_text_is_cut() {
    let fixture = Fixture { text: "é".repeat(600_000), ..Fixture::new() };

    let result = fixture.call_tool("fetch", json!({ "id": fixture.document })).await;

    let document = &result["structuredContent"];
    assert_eq!(document["metadata"]["truncated"], true);
    assert_eq!(document["text"].as_str().map(str::len), Some(1024 * 1024));
}

#[actix_web::test]
async fn of_a_file_that_is_no_text_the_extracted_text_is_fetched() {
    let fixture = Fixture { content_type: ContentType::Pdf, ..Fixture::new() };

    let result = fixture.call_tool("fetch", json!({ "id": fixture.document })).await;

    let document = &result["structuredContent"];
    assert_eq!(document["text"], "Second class railway tickets are paid for.");
    assert_eq!(document["metadata"]["contentType"], "application/pdf");
}

#[actix_web::test]
async fn a_document_without_a_text_is_linked() {
    let content_type = ContentType::Pdf;
    let fixture = Fixture { content_type, chunk_texts: [""; 2], ..Fixture::new() };

    let result = fixture.call_tool("fetch", json!({ "id": fixture.document })).await;

    assert!(error(&result).contains(&format!("{PUBLIC_URL}/kb/{}", fixture.document)));
}

#[actix_web::test]
async fn documents_of_others_do_not_exist() {
    for id in [DocumentId::generate().to_string(), "../policy".to_owned()] {
        let result = Fixture::new().call_tool("fetch", json!({ "id": id })).await;

        assert!(error(&result).contains("There is no document"), "{id}");
    }
}

#[actix_web::test]
async fn invalid_arguments_are_explained_to_the_model() {
    for (tool, arguments) in
        [("search", json!({})), ("search", json!({ "query": 1 })), ("fetch", json!({ "ids": [] }))]
    {
        let result = Fixture::new().call_tool(tool, arguments).await;

        assert!(error(&result).contains("arguments are invalid"), "{result}");
    }
}

#[actix_web::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let response = Fixture::new().call("tools/call", json!({ "name": "delete" })).await;

    assert_eq!(response["error"]["code"], -32602);
}

#[actix_web::test]
async fn while_knowledge_is_off_the_tools_say_so() {
    let fixture = Fixture { is_off: true, ..Fixture::new() };

    let listed = fixture.call("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(2));
    for (tool, arguments) in [("search", search()), ("fetch", json!({ "id": fixture.document }))] {
        let result = fixture.call_tool(tool, arguments).await;

        assert!(error(&result).contains("switched off"), "{result}");
    }
}

#[actix_web::test]
async fn an_expired_licence_permits_fetching_but_not_searching() {
    let fixture = Fixture { licence_end: Some(NOW), ..Fixture::new() };

    let search_result = fixture.call_tool("search", search()).await;
    let fetch_result = fixture.call_tool("fetch", json!({ "id": fixture.document })).await;

    assert!(error(&search_result).contains("licence has ended"), "{search_result}");
    assert_eq!(fetch_result["isError"], false, "{fetch_result}");
}

#[actix_web::test]
async fn nobody_waits_for_a_slow_search() {
    let fixture = Fixture { is_slow: true, ..Fixture::new() };
    tokio::time::pause();
    let start = tokio::time::Instant::now();

    let result = fixture.call_tool("search", search()).await;

    assert!(error(&result).contains("Try again"), "{result}");
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[actix_web::test]
async fn an_outage_is_reported_without_its_cause() {
    let fixture = Fixture { is_unavailable: true, ..Fixture::new() };

    let result = fixture.call_tool("search", search()).await;
    let listed = fixture.call("tools/list", json!({})).await;

    assert!(error(&result).contains("Try again"), "{result}");
    assert_eq!(listed["error"]["code"], -32603);
    assert!(!format!("{result}{listed}").contains("secret"));
}
