//! Tests of the tools of a request.

use super::*;

fn check(tools: &str, choice: &str) -> (RequestTools, Vec<(String, &'static str)>) {
    let tools: &RawValue = serde_json::from_str(tools).unwrap();
    let choice = if choice.is_empty() { None } else { serde_json::from_str(choice).unwrap() };
    let mut violations = Vec::new();
    let checked = RequestTools::check(Some(tools), choice, &mut violations);
    (checked, violations.into_iter().map(|it| (it.field, it.code)).collect())
}

fn violations(tools: &str, choice: &str) -> Vec<(String, &'static str)> {
    check(tools, choice).1
}

#[test]
fn caller_tools_are_accepted() {
    for tool in [
        r#"{"type":"function","function":{"name":"x","parameters":{"type":"web_search"}}}"#,
        r#"{"type":"function","function":{},"strict":true,"cache_control":{"type":"ephemeral"}}"#,
        r#"{"type":"function","name":"x","description":"y","parameters":{}}"#,
        r#"{"t\u0079pe":"custom","custom":{"name":"x"},"web_search":null}"#,
    ] {
        let (checked, violations) = check(&format!("[{tool}]"), "");

        assert_eq!(violations, [], "{tool}");
        assert_eq!(checked.hosted, [], "{tool}");
        assert_eq!(checked.count, 1, "{tool}");
    }
}

#[test]
fn upstream_tools_are_recognised_by_their_type() {
    let tools = r#"[{"type":"web_search"},{"type":"function"},{"type":"Function"},
        {"type":"mcp","server_url":"https://mcp.internal/","server_label":"x"}]"#;

    let (checked, violations) = check(tools, "");

    let hosted: Vec<_> = checked.hosted.iter().map(|it| (it.at, it.kind.as_str())).collect();
    assert_eq!(violations, []);
    assert_eq!(hosted, [(0, "web_search"), (2, "Function"), (3, "mcp")]);
    assert_eq!(checked.address.as_deref(), Some("tools[3].server_url"));
}

#[test]
fn a_caller_tool_cannot_hide_another() {
    for (tool, field, code) in [
        (r#"{"google_search":{}}"#, "tools[0].type", "required"),
        (r#"{"type":null,"function":{}}"#, "tools[0].type", "required"),
        (r#"{"type":7}"#, "tools[0].type", "invalid_type"),
        (r#"{"type":"function","type":"mcp"}"#, "tools[0]", "invalid_type"),
        (r#"{"type":"function","Type":"mcp"}"#, "tools[0]", "invalid_type"),
        (r#"{"type":"function","web_search":{}}"#, "tools[0].web_search", "tool_not_allowed"),
        (r#"{"type":"function","custom":{}}"#, "tools[0].custom", "tool_not_allowed"),
        (r#"{"type":"function","server url":7}"#, "tools[0].?", "tool_not_allowed"),
        (r#"["function"]"#, "tools[0]", "invalid_type"),
    ] {
        assert_eq!(violations(&format!("[{tool}]"), ""), [(field.to_owned(), code)], "{tool}");
    }
    let long_tools = format!(r#"[{{"type":"{}"}}]"#, "x".repeat(65));
    assert_eq!(violations(&long_tools, ""), [("tools[0].type".to_owned(), "tool_not_allowed")]);
    let numbers = format!("[{}]", vec!["1"; 1000].join(","));
    assert_eq!(violations(&numbers, "").len(), 20);
}

#[test]
fn a_choice_names_only_tools_of_the_request() {
    let tools = r#"[{"type":"function"},{"type":"mcp"}]"#;
    let some = |tools: &str| format!(r#"{{"type":"allowed_tools","allowed_tools":{tools}}}"#);
    for choice in [
        r#""auto""#,
        r#""none""#,
        r#""required""#,
        r#""any""#,
        r#"{"type":"function","function":{"name":"x"}}"#,
        r#"{"type":"custom","custom":{"name":"x"}}"#,
        r#"{"type":"mcp","server_label":"x"}"#,
        &some(r#"{"mode":"auto","tools":[{"type":"function","function":{"name":"x"}}]}"#),
    ] {
        assert_eq!(violations(tools, choice), [], "{choice}");
        assert_eq!(violations("[]", choice), [], "{choice}");
    }
    let of_type = "tool_choice.type";
    for (choice, field, code) in [
        (r#""web_search""#, "tool_choice", "unknown_value"),
        ("7", "tool_choice", "invalid_type"),
        (r#"{"function":{"name":"x"}}"#, of_type, "required"),
        (r#"{"type":"web_search"}"#, of_type, "tool_not_allowed"),
        (r#"{"type":"function","type":"web_search"}"#, "tool_choice", "invalid_type"),
        (
            &some(r#"{"tools":[{"type":"function"},{"type":"web_search"}]}"#),
            "tool_choice.allowed_tools.tools.type",
            "tool_not_allowed",
        ),
        (
            r#"{"type":"allowed_tools","tools":[{"type":"web_search"}]}"#,
            "tool_choice.allowed_tools.tools.type",
            "tool_not_allowed",
        ),
        (&some("7"), "tool_choice.allowed_tools", "invalid_type"),
        (&some(r#"{"tools":7}"#), "tool_choice.allowed_tools.tools", "invalid_type"),
    ] {
        assert_eq!(violations(tools, choice), [(field.to_owned(), code)], "{choice}");
    }
}
