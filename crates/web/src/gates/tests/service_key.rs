//! Tests of routes that take the service key.

use super::*;

const KEY: (&str, &str) = ("x-service-key", "a service key");

fn rows() -> Vec<Route> {
    let list = || Route {
        access: Access::Service,
        credentials: AcceptedCredentials::ServiceKey,
        rate_limit: RateLimit::AtGate(Budget::Global),
        ..route("/kb")
    };
    let feature = Some(Feature::Knowledge);
    vec![list(), Route { method: Method::POST, feature, ..list() }]
}

fn gates_with(key: Option<&str>) -> Data<Gates> {
    let gates = new_gates(rows(), licence(None));
    gates.ingest_key.set(key.map(|it| Secret::new(it.to_owned())));
    gates
}

async fn send_to_kb(request: test::TestRequest) -> RecordedError {
    send(rows, licence(None), request.uri("/kb")).await
}

#[actix_web::test]
async fn the_right_key_opens_its_routes() {
    let response = send_to_kb(test::TestRequest::get().insert_header(KEY)).await;

    assert_eq!(response.status, 200);
}

#[actix_web::test]
async fn a_wrong_or_missing_key_is_refused() {
    let missing = test::TestRequest::get();
    let wrong = test::TestRequest::get().insert_header((KEY.0, "another key"));
    let empty = test::TestRequest::get().insert_header((KEY.0, ""));

    for request in [missing, wrong, empty] {
        assert_eq!(error(&send_to_kb(request).await), (401, "unauthorized"));
    }
}

#[actix_web::test]
async fn a_bearer_token_is_no_substitute_for_the_key() {
    let gates = new_gates(rows(), licence(None));
    let issued = gates.tokens.issue(UserId::generate(), pia_kernel::SessionId::generate()).unwrap();

    for token in [issued.token.expose(), KEY.1, "pia_0123456789"] {
        let token = format!("Bearer {token}");
        let request = test::TestRequest::get().uri("/kb").insert_header(("authorization", token));
        let response = send_through(gates.clone(), rows, request).await;
        assert_eq!(error(&response), (401, "unauthorized"));
    }
}

#[actix_web::test]
async fn without_a_configured_key_the_path_does_not_exist() {
    for key in [None, Some("")] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
            for presented_key in ["a service key", "another key", ""] {
                let send_to = |path: &str| {
                    let request = test::TestRequest::with_uri(path).method(method.clone());
                    send_through(
                        gates_with(key),
                        rows,
                        request.insert_header((KEY.0, presented_key)),
                    )
                };

                let known_response = send_to("/kb").await;
                let unknown_response = send_to("/nowhere").await;

                assert_eq!(error(&known_response), (404, "not_found"), "{method}");
                assert_eq!(unknown_response.status, known_response.status, "{method}");
                assert_eq!(unknown_response.body, known_response.body, "{method}");
            }
        }
    }
}

#[actix_web::test]
async fn another_method_is_refused_while_a_key_is_configured() {
    let response = send_to_kb(test::TestRequest::put().insert_header(KEY)).await;

    assert_eq!(error(&response), (405, "method_not_allowed"));
}

#[actix_web::test]
async fn the_key_is_checked_before_the_feature() {
    let refused_response = send_to_kb(test::TestRequest::post()).await;
    let admitted_response = send_to_kb(test::TestRequest::post().insert_header(KEY)).await;

    assert_eq!(error(&refused_response), (401, "unauthorized"));
    assert_eq!(error(&admitted_response), (403, "feature_not_licensed"));
}

#[actix_web::test]
async fn guesses_are_counted_against_their_address() {
    let gates = new_gates(rows(), licence(None));
    let guess = |address: &str| {
        let peer = address.parse().unwrap();
        let request = test::TestRequest::get().uri("/kb").peer_addr(peer);
        send_through(gates.clone(), rows, request.insert_header((KEY.0, "a guess")))
    };

    for status in [401, 401, 429] {
        assert_eq!(guess("192.0.2.1:5000").await.status, status);
    }
    assert_eq!(guess("192.0.2.2:5000").await.status, 401);
}
