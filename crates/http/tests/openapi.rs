//! The description that is published, against its snapshot and its own rules.

use pia_web::{RouteTable, openapi};
use serde_json::Value;

fn document() -> Value {
    openapi(&RouteTable::new(pia_http::routes()), env!("CARGO_PKG_VERSION"))
}

#[test]
fn the_snapshot_is_what_the_route_table_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let snapshot: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();

    assert!(snapshot == document(), "run `cargo xtask codegen` and look at the difference");
}

#[test]
fn no_schema_that_is_referred_to_is_missing() {
    let document = document();

    let text = document.to_string();
    let references = text.split("#/components/schemas/").skip(1);
    for name in references.filter_map(|it| it.split('"').next()) {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}

#[test]
fn the_description_says_what_the_gates_do() {
    let document = document();

    let chat = &document["paths"]["/api/ai/chat"]["post"];
    assert_eq!(chat["security"], serde_json::json!([{ "bearer": [] }, { "apiKey": [] }]));
    let me = &document["paths"]["/auth/me"]["get"];
    assert_eq!(me["security"], serde_json::json!([{ "bearer": [] }]));
    assert_eq!(chat["x-feature"], "AiProxy");
    assert_eq!(chat["x-rate-budget"], "ai");
    assert!(document["paths"]["/health"]["get"]["security"].is_null());
    for status in ["200", "400", "401", "403", "413", "415", "429"] {
        assert!(chat["responses"][status].is_object(), "{status}");
    }
}

#[test]
fn what_a_get_is_sent_in_its_query_is_described() {
    let document = document();
    let described = |path: &str| {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap().clone();
        let told = |it: &Value| {
            assert_eq!((&it["in"], &it["schema"]["type"]), (&"query".into(), &"string".into()));
            assert!(it["description"].is_string(), "{it}");
            let mark = if it["required"] == true { "!" } else { "" };
            format!("{}{mark}", it["name"].as_str().unwrap())
        };
        let mut told: Vec<_> = parameters.iter().map(told).collect();
        told.sort();
        told
    };

    let login = ["code_challenge", "code_challenge_method", "provider!", "redirect_uri", "state"];
    assert_eq!(described("/auth/login"), login);
    assert_eq!(described("/auth/callback"), ["code", "error", "iss", "state!"]);
    assert_eq!(described("/auth/verify-email"), ["token!", "userId!"]);
    assert!(document["paths"]["/auth/login"]["get"]["requestBody"].is_null());
    assert!(document["paths"]["/auth/login"]["get"]["x-body-limit"].is_null());
}

#[test]
fn the_admin_plane_is_left_out() {
    let paths = document()["paths"].as_object().unwrap().clone();

    assert!(paths.keys().all(|it| !it.contains("/admin")));
}
