//! Tests of the callers that are admitted.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use serde_json::{Value, json};

use crate::fixture::{BOTH_TYPES, Fixture};
use crate::gates::API_KEY;

fn list_tools() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })
}

#[actix_web::test]
async fn an_api_key_opens_the_knowledge_bases_of_its_owner() {
    let key = format!("Bearer {API_KEY}");

    let reply = Fixture::new().post(&list_tools(), &[BOTH_TYPES, ("authorization", &key)]).await;

    assert_eq!(reply.status, 200);
    assert!(reply.text.contains("Search it for expenses."), "{reply:?}");
}

#[actix_web::test]
async fn nobody_is_admitted_without_a_valid_credential() {
    for credential in ["", "Bearer pia_short", "Bearer x.y.z"] {
        let headers = [BOTH_TYPES, ("authorization", credential)];

        let reply = Fixture::new().post(&list_tools(), &headers).await;

        assert_eq!(reply.status, 401);
        assert_eq!(reply.json()["error"], "unauthorized");
    }
}

#[actix_web::test]
async fn streams_and_sessions_are_not_offered() {
    for method in [Method::GET, Method::DELETE] {
        let request = TestRequest::with_uri("/mcp").method(method.clone());

        let reply = Fixture::new().send(request, &[BOTH_TYPES]).await;

        assert_eq!(reply.status, 405, "{method}");
        assert_eq!(reply.allow.as_deref(), Some("POST"), "{method}");
    }
}

#[actix_web::test]
async fn pages_of_other_origins_are_refused() {
    for (origin, status) in [
        ("https://pia.example", 200),
        ("https://pia.example:443", 200),
        ("https://pia.example:8443", 403),
        ("http://pia.example", 403),
        ("https://evil.example", 403),
        ("null", 403),
    ] {
        let reply = Fixture::new().post(&list_tools(), &[BOTH_TYPES, ("origin", origin)]).await;

        assert_eq!(reply.status, status, "{origin}");
    }
}
