//! Tests of the published OpenAPI document, against its snapshot and its own
//! rules.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]

use serde_json::{Map, Value};

fn public_document() -> Value {
    pia_http::document().unwrap()
}

/// Returns the public description and that of the admin routes.
fn both_documents() -> [Value; 2] {
    [public_document(), pia_http::admin_document().unwrap()]
}

/// Calls `check` with the name of each operation, such as `post /api/ai/chat`, and with the
/// operation.
fn each_operation(document: &Value, mut check: impl FnMut(&str, &Value)) {
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            check(&format!("{method} {path}"), operation);
        }
    }
}

/// Returns every JSON body of a request or a successful response, under the name of its
/// operation.
fn json_bodies(document: &Value) -> Vec<(String, Value)> {
    let mut bodies = Vec::new();
    each_operation(document, |name, operation| {
        let responses = operation["responses"].as_object().unwrap().values();
        for body in responses.chain([&operation["requestBody"]]) {
            let json = &body["content"]["application/json"];
            let schema = schema_name(&json["schema"]);
            if schema.is_some_and(|it| !["Error", "OpenAiError"].contains(&it)) {
                bodies.push((name.to_owned(), json.clone()));
            }
        }
    });
    bodies
}

/// Returns the name of the schema of an object, or of the objects in a list.
fn schema_name(schema: &Value) -> Option<&str> {
    let reference = schema["$ref"].as_str().or_else(|| schema["items"]["$ref"].as_str())?;
    reference.strip_prefix("#/components/schemas/")
}

/// Keys of an object and of the parts that it is composed of.
struct ObjectKeys {
    /// Schemas of the keys that are described.
    schemas: Map<String, Value>,
    required: Vec<String>,
}

/// Mismatches of an example with its schema.
struct SchemaMismatches<'a> {
    document: &'a Value,
    messages: Vec<String>,
}

impl SchemaMismatches<'_> {
    fn check_value(&mut self, schema: &Value, example: &Value, at: &str) {
        let schema = self.resolved(schema);
        if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
            let choice = choices.iter().find(|it| it["type"] != "null").unwrap();
            return self.check_value(choice, example, at);
        }
        if !fits(&schema, example) {
            self.messages.push(format!("{at}: {example} is no {}", schema["type"]));
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
        let keys = self.keys(schema);
        if keys.schemas.is_empty() {
            return;
        }

        for (key, value) in fields {
            match keys.schemas.get(key) {
                Some(schema) => self.check_value(schema, value, &format!("{at}.{key}")),
                None => self.messages.push(format!("{at}.{key} is not known")),
            }
        }
        let missing_keys = keys.required.iter().filter(|it| !fields.contains_key(*it));
        self.messages.extend(missing_keys.map(|it| format!("{at}.{it} is missing")));
    }

    fn keys(&self, schema: &Value) -> ObjectKeys {
        let schema = self.resolved(schema);
        let required_names = schema["required"].as_array().into_iter().flatten();
        let mut keys = ObjectKeys {
            schemas: schema["properties"].as_object().cloned().unwrap_or_default(),
            required: required_names.map(|it| it.as_str().unwrap().to_owned()).collect(),
        };
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let keys_of_part = self.keys(part);
            keys.schemas.extend(keys_of_part.schemas);
            keys.required.extend(keys_of_part.required);
        }
        keys
    }

    fn resolved(&self, schema: &Value) -> Value {
        let Some(reference) = schema["$ref"].as_str() else { return schema.clone() };
        self.document.pointer(reference.trim_start_matches('#')).unwrap().clone()
    }
}

/// Returns whether an example has the right type and, where one is set, format.
fn fits(schema: &Value, example: &Value) -> bool {
    let type_name = match example {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(it) if it.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = match &schema["type"] {
        Value::Null => return true,
        Value::Array(types) => types.clone(),
        type_name => vec![type_name.clone()],
    };
    let is = |it: &Value| it == type_name || (it == "number" && type_name == "integer");
    let text = example.as_str().unwrap_or_default();
    let has_format = match schema["format"].as_str() {
        Some("uuid") => text.len() == 36 && text.matches('-').count() == 4,
        Some("date-time") => text.contains('T') && text.ends_with('Z'),
        _ => true,
    };
    // Absent values are omitted, so that no example has a null.
    type_name != "null" && types.iter().any(is) && has_format
}

#[test]
fn the_snapshot_matches_the_route_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let snapshot: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();

    assert!(snapshot == public_document(), "run `cargo xtask codegen` and look at the difference");
}

#[test]
fn every_referenced_schema_exists() {
    for document in both_documents() {
        let text = document.to_string();
        let references = text.split("#/components/schemas/").skip(1);
        for name in references.filter_map(|it| it.split('"').next()) {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}

#[test]
fn the_document_describes_the_gates() {
    let document = public_document();

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
fn query_parameters_are_described() {
    let document = public_document();
    let parameters_of = |path: &str| {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap().clone();
        let describe_parameter = |it: &Value| {
            assert_eq!(it["in"], "query");
            assert_eq!(it["schema"]["type"], "string");
            assert!(it["description"].is_string(), "{it}");
            let mark = if it["required"] == true { "!" } else { "" };
            format!("{}{mark}", it["name"].as_str().unwrap())
        };
        let mut names: Vec<_> = parameters.iter().map(describe_parameter).collect();
        names.sort();
        names
    };

    let login = ["code_challenge", "code_challenge_method", "provider!", "redirect_uri", "state"];
    assert_eq!(parameters_of("/auth/login"), login);
    assert_eq!(parameters_of("/auth/callback"), ["code", "error", "iss", "state!"]);
    assert_eq!(parameters_of("/auth/verify-email"), ["token!", "userId!"]);
    assert!(document["paths"]["/auth/login"]["get"]["requestBody"].is_null());
    assert!(document["paths"]["/auth/login"]["get"]["x-body-limit"].is_null());
}

#[test]
fn an_invalid_query_is_described() {
    for document in both_documents() {
        each_operation(&document, |name, operation| {
            let parameters = operation["parameters"].as_array();
            let has_query = parameters.is_some_and(|all| all.iter().any(|it| it["in"] == "query"));
            if has_query && name.starts_with("get ") {
                assert!(operation["responses"]["400"].is_object(), "{name}");
            }
        });
    }

    let document = public_document();
    assert!(document["paths"]["/auth/verify-email"]["get"]["responses"]["302"].is_object());
}

#[test]
fn every_operation_has_a_unique_name_and_a_described_tag() {
    let document = public_document();
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
fn every_operation_lists_the_common_errors() {
    let document = public_document();

    each_operation(&document, |name, operation| {
        let body: &[_] = if operation["requestBody"].is_null() { &[] } else { &["408", "413"] };
        for status in ["405", "500", "503"].iter().chain(body) {
            let response_or_ref = &operation["responses"][status];
            let response = response_or_ref["$ref"].as_str().map_or(response_or_ref, |it| {
                document.pointer(it.trim_start_matches('#')).unwrap()
            });
            assert!(response["description"].is_string(), "{name} {status}");
            let schema = &response["content"]["application/json"]["schema"]["$ref"];
            let error = if name.contains("/v1/") && !name.contains("/api/v1/") {
                "#/components/schemas/OpenAiError"
            } else {
                "#/components/schemas/Error"
            };
            assert_eq!(schema, error, "{name} {status}");
        }
    });
}

/// Schemas of bodies without required keys.
const WITHOUT_REQUIRED_KEYS: [&str; 5] = [
    "ConversationsRequest",
    "FreshProofRequest",
    "PasskeyChangeRequest",
    "SyncPushRequest",
    "TotpBeginRequest",
];

#[test]
fn required_keys_of_bodies_are_listed() {
    let document = public_document();
    let mismatches = SchemaMismatches { document: &document, messages: Vec::new() };
    let mut schemas_without_required_keys = Vec::new();

    each_operation(&document, |name, operation| {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            return;
        }
        let ObjectKeys { schemas, required } = mismatches.keys(schema);
        assert!(required.iter().all(|it| schemas.contains_key(it)), "{name}: {required:?}");
        if required.is_empty() {
            schemas_without_required_keys.push(schema_name(schema).unwrap().to_owned());
        }
    });

    schemas_without_required_keys.sort();
    schemas_without_required_keys.dedup();
    assert_eq!(schemas_without_required_keys, WITHOUT_REQUIRED_KEYS);
}

#[test]
fn an_object_lists_its_keys_or_allows_any() {
    let document = public_document();

    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for (key, field) in schema["properties"].as_object().into_iter().flatten() {
            let types = field["type"].as_array().cloned().unwrap_or_default();
            let object = field["type"] == "object" || types.iter().any(|it| it == "object");
            let is_described =
                field["properties"].is_object() || !field["additionalProperties"].is_null();
            assert!(!object || is_described, "{name}.{key}");
        }
    }
}

#[test]
fn no_schema_has_the_name_of_a_rust_type() {
    let document = public_document();

    for name in ["Vec", "Option", "String", "Value", "HashMap"] {
        assert!(document["components"]["schemas"][name].is_null(), "{name}");
    }
}

#[test]
fn the_admin_routes_have_their_own_document() {
    let [public, admin] = both_documents().map(|it| it["paths"].as_object().unwrap().clone());

    assert!(public.keys().all(|it| !it.contains("/admin")));
    assert!(admin.keys().all(|it| it.contains("/admin")) && admin.contains_key("/admin/login"));
}

#[test]
fn every_body_has_an_example() {
    let bodies: Vec<_> = both_documents().iter().flat_map(json_bodies).collect();

    let without_example: Vec<_> = bodies
        .iter()
        .filter(|(_, body)| body["example"].is_null())
        .map(|(name, body)| format!("{name}: {}", body["schema"]))
        .collect();

    assert!(without_example.is_empty(), "without an example: {without_example:#?}");
    assert!(bodies.len() > 100, "{}", bodies.len());
}

#[test]
fn examples_fit_their_schemas() {
    for document in both_documents() {
        let mut mismatches = SchemaMismatches { document: &document, messages: Vec::new() };

        for (name, body) in json_bodies(&document) {
            if let Some(example) = body.get("example") {
                mismatches.check_value(&body["schema"], example, &name);
            }
        }

        assert_eq!(mismatches.messages, [""; 0]);
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
fn only_calls_of_models_have_the_model_headers() {
    let document = public_document();
    let by_header = |operation: &Value| {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        parameters.filter(|it| it["in"] == "header").count()
    };

    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let headers: usize = methods.as_object().unwrap().values().map(by_header).sum();
        if headers > 0 {
            routes.push((path.as_str(), headers));
        }
    }

    routes.sort_unstable();
    let mut expected = [&MODEL_ROUTES[..], &OPENAI_MODEL_ROUTES].concat();
    expected.sort_unstable();
    assert_eq!(routes, expected.into_iter().map(|it| (it, 4)).collect::<Vec<_>>());
}

#[test]
fn a_used_up_budget_is_described_in_three_shapes() {
    let document = public_document();
    let components = &document["components"];
    let shapes = &components["schemas"]["CreditRefusal"];
    let by_period = shapes["discriminator"]["mapping"].as_object().unwrap();

    let mut shapes_of_examples = Vec::new();
    for path in MODEL_ROUTES {
        let refusal = &document["paths"][path]["post"]["responses"]["429"];
        assert!(refusal["headers"]["Retry-After"].is_object(), "{path}");
        let body = &refusal["content"]["application/json"];
        assert_eq!(body["schema"]["anyOf"][1]["$ref"], "#/components/schemas/CreditRefusal");
        for example in body["examples"].as_object().unwrap().values() {
            let pointer = example["$ref"].as_str().unwrap().trim_start_matches('#');
            let value = &document.pointer(pointer).unwrap()["value"];
            let Some(period) = value["period"].as_str() else {
                assert_eq!(value["error"], "rate_limited", "{path}");
                continue;
            };
            let shape = by_period[period].as_str().unwrap();
            let mut mismatches = SchemaMismatches { document: &document, messages: Vec::new() };
            mismatches.check_value(&serde_json::json!({ "$ref": shape }), value, period);
            assert_eq!(mismatches.messages, [""; 0]);
            shapes_of_examples.push(shape.to_owned());
        }
    }

    shapes_of_examples.sort_unstable();
    shapes_of_examples.dedup();
    let mut all_shapes: Vec<_> =
        shapes["oneOf"].as_array().unwrap().iter().map(|it| it["$ref"].as_str().unwrap()).collect();
    all_shapes.sort_unstable();
    assert_eq!(shapes_of_examples, all_shapes);
    for (period, shape) in by_period {
        let schema = document.pointer(shape.as_str().unwrap().trim_start_matches('#')).unwrap();
        let periods = schema["properties"]["period"]["enum"].as_array().unwrap();
        assert!(periods.iter().any(|it| it == period), "{period}");
    }
}

#[test]
fn all_keys_of_a_chat_request_are_described() {
    let document = public_document();

    let properties = document["components"]["schemas"]["ChatRequest"]["properties"].as_object();
    let mut described: Vec<_> = properties.unwrap().keys().map(String::as_str).collect();
    let mut known: Vec<_> = pia_assistant::chat_request_keys().collect();
    described.sort_unstable();
    known.sort_unstable();
    assert_eq!(described, known);
}

#[test]
fn every_example_belongs_to_a_route() {
    let documents = both_documents();
    let examples = pia_http::examples().unwrap();

    for name in examples.routes() {
        let (method, path) = name.split_once(' ').unwrap();
        let method = method.to_ascii_lowercase();
        let described = documents.iter().any(|it| it["paths"][path][&method].is_object());
        assert!(described, "{name}");
    }
}

#[test]
fn device_ids_have_no_fixed_format() {
    let document = public_document();

    let status = &document["paths"]["/api/e2ee/devices/{deviceId}/status"]["get"];
    let id = &status["parameters"][0];
    assert_eq!(id["name"], "deviceId");
    assert!(id["schema"]["format"].is_null(), "{id}");
}

#[test]
fn items_are_described_by_their_wire_keys() {
    let document = public_document();
    let keys = |name: &str| document["components"]["schemas"][name]["properties"].clone();

    assert!(keys("SyncTemplate")["ExampleText"].is_object());
    assert!(keys("SyncMemory")["type"].is_object());
    assert!(keys("SyncTodo")["encryptedPayload"].is_object());
    assert!(keys("SyncTodo")["encrypted_payload"].is_null());
    assert!(keys("Conversation")["document"].is_object());
}
