//! Requests in Anthropic's format.
//!
//! `body` writes the members one after another, messages as slices of the caller's
//! body. Three choices depend on each other: tools may force a call, a forced call
//! rules out thinking, and thinking rules out sampling parameters.

use bytes::Bytes;
use pia_assistant::{ChatBody, ChatCall, OutputCap, UpstreamError};
use pia_json::{JsonWriter, Rope, RopeMembers};
use serde_json::{Value, json};

use super::thinking::{Thinking, max_output_tokens};
use super::turns::Conversation;
use crate::dialect::ResponseMode;

/// Declaration of the web search, with its limit per response.
const WEB_SEARCH: &str = r#"{"type":"web_search_20250305","name":"web_search","max_uses":5}"#;

pub(super) fn body(call: &ChatCall, mode: ResponseMode) -> Result<Vec<Bytes>, UpstreamError> {
    let conversation = Conversation::parse(&call.body.messages)?;
    let target = &call.target;
    let max_tokens = output_limit(call);
    let choice = ToolChoice::of_body(&call.body);
    let thinking = if choice.is_forced() {
        // A model that must call a tool cannot think about it.
        Thinking::Unset
    } else {
        let ends_with_tool_results = conversation.ends_with_tool_results;
        Thinking::for_request(&target.model, call.effort, max_tokens, ends_with_tool_results)
    };

    let mut request = JsonWriter::default();
    request.text(r#"{"model":"#).quoted(&target.model);
    request.text(&format!(r#","max_tokens":{max_tokens}"#));

    if !conversation.system.is_empty() {
        request.text(r#","system":["#).list(&conversation.system).text("]");
    }

    request.text(r#","messages":"#);
    conversation.write(&mut request);
    write_tools(&call.body, &conversation, choice, target.web_search, &mut request);
    write_sampling(&call.body, thinking, &mut request);
    write_stops(&call.body, &mut request);
    write_output(&call.body, thinking, &mut request);

    request.text(match mode {
        ResponseMode::Streamed => r#","stream":true}"#,
        ResponseMode::Full => "}",
    });

    Ok(request.into_pieces())
}

/// Returns the maximum number of output tokens. A limit that the caller did not set must not
/// exceed the model's.
fn output_limit(call: &ChatCall) -> i64 {
    let model_limit = max_output_tokens(&call.target.model);
    match call.max_output {
        Some(OutputCap { tokens, name: Some(_) }) => tokens,
        Some(OutputCap { tokens, name: None }) => tokens.min(model_limit),
        None => model_limit,
    }
}

/// Constraint on the tools that are called.
enum ToolChoice {
    Unset,
    Auto,
    Any,
    None,
    Tool(String),
}

impl ToolChoice {
    fn of_body(body: &ChatBody) -> Self {
        let Some(choice) = body.parameter("tool_choice") else { return Self::Unset };
        match choice.string().as_deref() {
            Some("required" | "any") => Self::Any,
            Some("none") => Self::None,
            // `auto`, or a word that is newer than this code.
            Some(_) => Self::Auto,
            None => {
                let function = choice.members().and_then(|it| it.get("function")?.members());
                function.and_then(|it| it.string("name")).map_or(Self::Auto, Self::Tool)
            }
        }
    }

    fn is_forced(&self) -> bool {
        matches!(self, Self::Any | Self::Tool(_))
    }

    fn json(&self, one_at_a_time: bool) -> Option<Value> {
        let mut choice = match self {
            Self::Unset if !one_at_a_time => return None,
            Self::Unset | Self::Auto => json!({ "type": "auto" }),
            Self::Any => json!({ "type": "any" }),
            Self::None => return Some(json!({ "type": "none" })),
            Self::Tool(name) => json!({ "type": "tool", "name": name }),
        };
        if one_at_a_time && let Some(members) = choice.as_object_mut() {
            members.insert("disable_parallel_tool_use".to_owned(), true.into());
        }
        Some(choice)
    }
}

/// Writes the caller's tools, the web search, or the tools that were called before.
fn write_tools(
    body: &ChatBody,
    conversation: &Conversation,
    mut choice: ToolChoice,
    web_search: bool,
    request: &mut JsonWriter,
) {
    let declared = body.tools.as_ref().and_then(Rope::elements).unwrap_or_default();
    let functions: Vec<RopeMembers> =
        declared.iter().filter_map(|it| it.members()?.get("function")?.members()).collect();
    let has_own_search =
        functions.iter().any(|it| it.string("name").as_deref() == Some("web_search"));

    let mut tools: Vec<Rope> = functions.iter().filter_map(tool).collect();
    if web_search && !has_own_search {
        tools.push(Rope::from(WEB_SEARCH));
    } else if tools.is_empty() {
        // A conversation with calls must declare the tools that were called.
        tools.extend(conversation.called.iter().map(|it| past_tool(it)));
        choice = ToolChoice::None;
    }

    if tools.is_empty() {
        return;
    }

    request.text(r#","tools":["#).list(&tools).text("]");
    let one_at_a_time =
        body.parameter("parallel_tool_calls").as_ref().and_then(Rope::parse::<bool>) == Some(false);
    if let Some(choice) = choice.json(one_at_a_time) {
        request.text(r#","tool_choice":"#).text(&choice.to_string());
    }
}

fn tool(function: &RopeMembers) -> Option<Rope> {
    let mut tool = JsonWriter::default();
    tool.text(r#"{"name":"#).rope(function.get("name")?);
    if let Some(description) = function.get("description") {
        tool.text(r#","description":"#).rope(description);
    }
    tool.text(r#","input_schema":"#);
    match function.get("parameters") {
        Some(schema) => tool.rope(schema),
        None => tool.text(r#"{"type":"object","properties":{}}"#),
    };
    Some(tool.text("}").finish())
}

fn past_tool(name: &str) -> Rope {
    let mut tool = JsonWriter::default();
    tool.text(r#"{"name":"#).quoted(name);
    tool.text(r#","input_schema":{"type":"object"}}"#).finish()
}

/// Writes the caller's sampling parameters, which thinking rules out.
fn write_sampling(body: &ChatBody, thinking: Thinking, request: &mut JsonWriter) {
    if thinking != Thinking::Unset {
        return;
    }

    // Newer models accept only one of the two.
    let temperature = body.parameter("temperature").as_ref().and_then(Rope::parse::<f64>);
    if let Some(temperature) = temperature {
        // The scale ends at 1.
        request.text(&format!(r#","temperature":{}"#, temperature.min(1.0)));
    } else if let Some(top_p) = body.parameter("top_p") {
        request.text(r#","top_p":"#).rope(&top_p);
    }
}

/// Writes the texts at which the model stops; blank ones are refused, and therefore left out.
fn write_stops(body: &ChatBody, request: &mut JsonWriter) {
    let requested_stops = match body.parameter("stop") {
        Some(stop) if stop.is_string() => stop.string().into_iter().collect(),
        Some(stops) => stops.parse::<Vec<String>>().unwrap_or_default(),
        None => Vec::new(),
    };
    let stops: Vec<String> =
        requested_stops.into_iter().filter(|it| !it.trim().is_empty()).collect();
    if !stops.is_empty() {
        request.text(r#","stop_sequences":"#).text(&json!(stops).to_string());
    }
}

/// Writes the effort of thinking, and the schema that the response must match.
fn write_output(body: &ChatBody, thinking: Thinking, request: &mut JsonWriter) {
    let mut output = serde_json::Map::new();
    match thinking {
        Thinking::Unset => {}
        Thinking::Budget(tokens) => {
            let thinking = json!({ "type": "enabled", "budget_tokens": tokens });
            request.text(r#","thinking":"#).text(&thinking.to_string());
        }
        Thinking::Adaptive(effort) => {
            request.text(r#","thinking":{"type":"adaptive"}"#);
            output.insert("effort".to_owned(), effort.into());
        }
    }

    if let Some(schema) = schema(body) {
        output.insert("format".to_owned(), json!({ "type": "json_schema", "schema": schema }));
    }

    if !output.is_empty() {
        request.text(r#","output_config":"#).text(&Value::Object(output).to_string());
    }
}

/// Returns the schema that the response must match.
fn schema(body: &ChatBody) -> Option<Value> {
    body.parameter("response_format")?
        .members()?
        .get("json_schema")?
        .members()?
        .get("schema")?
        .parse()
}
