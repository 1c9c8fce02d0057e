//! The description that is published, against its snapshot and its own rules.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]

use serde_json::{Map, Value};

fn document() -> Value {
    pia_http::document().unwrap()
}

/// Returns the public description and that of the admin routes.
fn documents() -> [Value; 2] {
    [document(), pia_http::admin_document().unwrap()]
}

/// Every JSON body that is sent or answered when all is well, under the name
/// of its operation: `POST /api/ai/chat`.
fn bodies(document: &Value) -> Vec<(String, Value)> {
    let mut bodies = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_ascii_uppercase());
            let answers = operation["responses"].as_object().unwrap().values();
            for body in answers.chain([&operation["requestBody"]]) {
                let json = &body["content"]["application/json"];
                let (one, each) = (&json["schema"]["$ref"], &json["schema"]["items"]["$ref"]);
                let schema = if one.is_null() { each } else { one };
                let is_error = ["Error", "OpenAiError"]
                    .iter()
                    .any(|it| schema == format!("#/components/schemas/{it}").as_str());
                if !schema.is_null() && !is_error {
                    bodies.push((name.clone(), json.clone()));
                }
            }
        }
    }
    bodies
}

/// Mismatches of an example with its schema.
struct SchemaMismatches<'a> {
    document: &'a Value,
    found: Vec<String>,
}

impl SchemaMismatches<'_> {
    fn check_value(&mut self, schema: &Value, example: &Value, at: &str) {
        let schema = self.resolved(schema);
        if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
            let reported = choices.iter().find(|it| it["type"] != "null").unwrap();
            return self.check_value(reported, example, at);
        }
        if !fits(&schema, example) {
            self.found.push(format!("{at}: {example} is no {}", schema["type"]));
        }
        match example {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.check_value(&schema["items"], item, &format!("{at}[{index}]"));
                }
            }
            Value::Object(fields) => self.check_fields(&schema, fields, at),
            _ => {}
        }
    }

    /// Checks an object; one without a list of keys may have any.
    fn check_fields(&mut self, schema: &Value, fields: &Map<String, Value>, at: &str) {
        let (known, required) = self.keys(schema);
        if known.is_empty() {
            return;
        }
        for (key, value) in fields {
            match known.get(key) {
                Some(schema) => self.check_value(schema, value, &format!("{at}.{key}")),
                None => self.found.push(format!("{at}.{key} is not known")),
            }
        }
        let missing = required.iter().filter(|it| !fields.contains_key(*it));
        self.found.extend(missing.map(|it| format!("{at}.{it} is missing")));
    }

    /// The keys of an object and of all that it is made of, and those that
    /// must be there.
    fn keys(&self, schema: &Value) -> (Map<String, Value>, Vec<String>) {
        let schema = self.resolved(schema);
        let mut known = schema["properties"].as_object().cloned().unwrap_or_default();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut required: Vec<_> =
            required.iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let (more, needed) = self.keys(part);
            known.extend(more);
            required.extend(needed);
        }
        (known, required)
    }

    fn resolved(&self, schema: &Value) -> Value {
        let Some(reference) = schema["$ref"].as_str() else { return schema.clone() };
        self.document.pointer(reference.trim_start_matches('#')).unwrap().clone()
    }
}

/// Returns whether an example has the right type and, where one is set, format.
fn fits(schema: &Value, example: &Value) -> bool {
    let kind = match example {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(it) if it.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = match &schema["type"] {
        Value::Null => return true,
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    let is = |it: &Value| it == kind || (it == "number" && kind == "integer");
    let text = example.as_str().unwrap_or_default();
    let formed = match schema["format"].as_str() {
        Some("uuid") => text.len() == 36 && text.matches('-').count() == 4,
        Some("date-time") => text.contains('T') && text.ends_with('Z'),
        _ => true,
    };
    // Absent values are omitted, so that no example has a null.
    kind != "null" && kinds.iter().any(is) && formed
}

#[test]
fn the_snapshot_is_what_the_route_table_states() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let snapshot: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();

    assert!(snapshot == document(), "run `cargo xtask codegen` and look at the difference");
}

#[test]
fn no_schema_that_is_referred_to_is_missing() {
    for document in documents() {
        let text = document.to_string();
        let references = text.split("#/components/schemas/").skip(1);
        for name in references.filter_map(|it| it.split('"').next()) {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}

#[test]
fn the_description_states_what_the_gates_do() {
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
        let reported = |it: &Value| {
            assert_eq!((&it["in"], &it["schema"]["type"]), (&"query".into(), &"string".into()));
            assert!(it["description"].is_string(), "{it}");
            let mark = if it["required"] == true { "!" } else { "" };
            format!("{}{mark}", it["name"].as_str().unwrap())
        };
        let mut reported: Vec<_> = parameters.iter().map(reported).collect();
        reported.sort();
        reported
    };

    let login = ["code_challenge", "code_challenge_method", "provider!", "redirect_uri", "state"];
    assert_eq!(described("/auth/login"), login);
    assert_eq!(described("/auth/callback"), ["code", "error", "iss", "state!"]);
    assert_eq!(described("/auth/verify-email"), ["token!", "userId!"]);
    assert!(document["paths"]["/auth/login"]["get"]["requestBody"].is_null());
    assert!(document["paths"]["/auth/login"]["get"]["x-body-limit"].is_null());
}

/// Calls this with the name of each operation, and with the operation.
fn each_operation(document: &Value, mut look: impl FnMut(&str, &Value)) {
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            look(&format!("{method} {path}"), operation);
        }
    }
}

#[test]
fn every_operation_has_a_name_of_its_own_and_a_tag_that_is_described() {
    let document = document();
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().collect();
    let mut ids = std::collections::BTreeSet::new();

    each_operation(&document, |name, operation| {
        let id = operation["operationId"].as_str().unwrap_or_default();
        assert!(!id.is_empty() && id.chars().all(|it| it.is_ascii_alphanumeric()), "{name}: {id}");
        assert!(ids.insert(id.to_owned()), "{name}: {id} is the name of another, too");
        let tag = &operation["tags"][0];
        assert!(tags.iter().any(|it| it["name"] == *tag), "{name}: {tag} is not described");
    });

    assert_eq!(document["servers"][0]["url"], "/");
    assert!(ids.len() > 70, "{}", ids.len());
}

#[test]
fn every_operation_reports_what_any_call_can_be_refused_with() {
    let document = document();

    each_operation(&document, |name, operation| {
        let body: &[_] = if operation["requestBody"].is_null() { &[] } else { &["408", "413"] };
        for status in ["405", "500", "503"].iter().chain(body) {
            let reported = &operation["responses"][status];
            let reported = reported["$ref"]
                .as_str()
                .map_or(reported, |it| document.pointer(it.trim_start_matches('#')).unwrap());
            assert!(reported["description"].is_string(), "{name} {status}");
            let schema = &reported["content"]["application/json"]["schema"]["$ref"];
            let error = if name.contains("/v1/") && !name.contains("/api/v1/") {
                "#/components/schemas/OpenAiError"
            } else {
                "#/components/schemas/Error"
            };
            assert_eq!(schema, error, "{name} {status}");
        }
    });
}

/// Bodies in which everything may be left out.
const FREE: [&str; 5] = [
    "ConversationsRequest",
    "FreshProofRequest",
    "PasskeyChangeRequest",
    "SyncPushRequest",
    "TotpBeginRequest",
];

#[test]
fn what_a_body_must_have_is_reported() {
    let document = document();
    let misfits = SchemaMismatches { document: &document, found: Vec::new() };
    let mut free = Vec::new();

    each_operation(&document, |name, operation| {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            return;
        }
        let (known, required) = misfits.keys(schema);
        assert!(required.iter().all(|it| known.contains_key(it)), "{name}: {required:?}");
        if required.is_empty() {
            let schema = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            free.push(schema.to_owned());
        }
    });

    free.sort();
    free.dedup();
    assert_eq!(free, FREE);
}

#[test]
fn an_object_reports_its_keys_or_that_it_may_have_any() {
    let document = document();

    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for (key, field) in schema["properties"].as_object().into_iter().flatten() {
            let kinds = field["type"].as_array().cloned().unwrap_or_default();
            let object = field["type"] == "object" || kinds.iter().any(|it| it == "object");
            let reported =
                field["properties"].is_object() || !field["additionalProperties"].is_null();
            assert!(!object || reported, "{name}.{key}");
        }
    }
}

#[test]
fn no_schema_is_named_after_a_type_of_the_language() {
    let document = document();

    for name in ["Vec", "Option", "String", "Value", "HashMap"] {
        assert!(document["components"]["schemas"][name].is_null(), "{name}");
    }
}

#[test]
fn the_admin_routes_have_a_description_of_their_own() {
    let [public, admin] = documents().map(|it| it["paths"].as_object().unwrap().clone());

    assert!(public.keys().all(|it| !it.contains("/admin")));
    assert!(admin.keys().all(|it| it.contains("/admin")) && admin.contains_key("/admin/login"));
}

#[test]
fn every_body_has_an_example() {
    let bodies: Vec<_> = documents().iter().flat_map(bodies).collect();

    let without = bodies.iter().filter(|(_, body)| body["example"].is_null());
    let without: Vec<_> =
        without.map(|(name, body)| format!("{name}: {}", body["schema"])).collect();

    assert!(without.is_empty(), "without an example: {without:#?}");
    assert!(bodies.len() > 100, "{}", bodies.len());
}

#[test]
fn examples_fit_their_schemas() {
    for document in documents() {
        let mut misfits = SchemaMismatches { document: &document, found: Vec::new() };

        for (name, body) in bodies(&document) {
            if let Some(example) = body.get("example") {
                misfits.check_value(&body["schema"], example, &name);
            }
        }

        assert_eq!(misfits.found, [""; 0]);
    }
}

/// Routes that call a model.
const MODEL_ROUTES: [&str; 4] =
    ["/api/ai/chat", "/api/ai/chat/completions", "/api/ai/generate-prompt", "/api/ai/optimize"];
/// Routes that call a model for OpenAI's clients.
const OPENAI_MODEL_ROUTES: [&str; 6] = [
    "/api/ai/v1/chat/completions",
    "/api/ai/v1/embeddings",
    "/api/ai/v1/responses",
    "/v1/chat/completions",
    "/v1/embeddings",
    "/v1/responses",
];

#[test]
fn who_calls_a_model_may_say_so_in_headers_and_nobody_else() {
    let document = document();
    let by_header = |operation: &Value| {
        let reported = operation["parameters"].as_array().into_iter().flatten();
        reported.filter(|it| it["in"] == "header").count()
    };

    let mut reported = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let headers: usize = methods.as_object().unwrap().values().map(by_header).sum();
        if headers > 0 {
            reported.push((path.as_str(), headers));
        }
    }

    reported.sort_unstable();
    let mut asking = [&MODEL_ROUTES[..], &OPENAI_MODEL_ROUTES].concat();
    asking.sort_unstable();
    assert_eq!(reported, asking.into_iter().map(|it| (it, 4)).collect::<Vec<_>>());
}

#[test]
fn a_budget_that_is_used_up_is_reported_in_one_of_three_shapes() {
    let document = document();
    let components = &document["components"];
    let shapes = &components["schemas"]["CreditRefusal"];
    let by_period = shapes["discriminator"]["mapping"].as_object().unwrap();

    let mut presented = Vec::new();
    for path in MODEL_ROUTES {
        let refusal = &document["paths"][path]["post"]["responses"]["429"];
        assert!(refusal["headers"]["Retry-After"].is_object(), "{path}");
        let body = &refusal["content"]["application/json"];
        assert_eq!(body["schema"]["anyOf"][1]["$ref"], "#/components/schemas/CreditRefusal");
        for example in body["examples"].as_object().unwrap().values() {
            let example = example["$ref"].as_str().unwrap().trim_start_matches('#');
            let reported = &document.pointer(example).unwrap()["value"];
            let Some(period) = reported["period"].as_str() else {
                assert_eq!(reported["error"], "rate_limited", "{path}");
                continue;
            };
            let shape = by_period[period].as_str().unwrap();
            let mut misfits = SchemaMismatches { document: &document, found: Vec::new() };
            misfits.check_value(&serde_json::json!({ "$ref": shape }), reported, period);
            assert_eq!(misfits.found, [""; 0]);
            presented.push(shape.to_owned());
        }
    }

    presented.sort_unstable();
    presented.dedup();
    let mut all: Vec<_> = shapes["oneOf"].as_array().unwrap().iter().collect();
    all.sort_unstable_by_key(|it| it["$ref"].as_str());
    assert_eq!(presented, all.iter().map(|it| it["$ref"].as_str().unwrap()).collect::<Vec<_>>());
    for (period, shape) in by_period {
        let schema = document.pointer(shape.as_str().unwrap().trim_start_matches('#')).unwrap();
        let periods = schema["properties"]["period"]["enum"].as_array().unwrap();
        assert!(periods.iter().any(|it| it == period), "{period}");
    }
}

#[test]
fn all_that_a_chat_is_called_with_is_described() {
    let document = document();

    let described = document["components"]["schemas"]["ChatRequest"]["properties"].clone();
    let mut described: Vec<_> = described.as_object().unwrap().keys().map(String::as_str).collect();
    let mut read: Vec<_> = pia_assistant::chat_request_keys().collect();
    described.sort_unstable();
    read.sort_unstable();
    assert_eq!(described, read);
}

#[test]
fn no_example_is_of_a_route_that_is_not_there() {
    let documents = documents();
    let examples = pia_http::examples().unwrap();

    for name in examples.routes() {
        let (method, path) = name.split_once(' ').unwrap();
        let method = method.to_ascii_lowercase();
        let described = documents.iter().any(|it| it["paths"][path][&method].is_object());
        assert!(described, "{name}");
    }
}

#[test]
fn devices_call_themselves_as_they_like() {
    let document = document();

    let status = &document["paths"]["/api/e2ee/devices/{deviceId}/status"]["get"];
    let id = &status["parameters"][0];
    assert_eq!(id["name"], "deviceId");
    assert!(id["schema"]["format"].is_null(), "{id}");
}

#[test]
fn items_are_described_by_the_keys_that_they_travel_with() {
    let document = document();
    let keys = |name: &str| document["components"]["schemas"][name]["properties"].clone();

    assert!(keys("SyncTemplate")["ExampleText"].is_object());
    assert!(keys("SyncMemory")["type"].is_object());
    assert!(keys("SyncTodo")["encryptedPayload"].is_object());
    assert!(keys("SyncTodo")["encrypted_payload"].is_null());
    assert!(keys("Conversation")["document"].is_object());
}
