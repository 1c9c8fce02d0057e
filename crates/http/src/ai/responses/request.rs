//! Translation of a request into a chat completion.
//!
//! `parse` goes through the request once: shared fields are copied, `input` becomes
//! `messages`, and functions are nested as chat completions expect. What a response
//! repeats of its request is returned as `Echo`.

use bytes::Bytes;
use pia_web::{ApiError, FieldError};
use serde_json::{Map, Value, json};

use super::answer::Echo;
use super::members::{pointer_or_null, with};

/// Fields that are not supported: responses are not stored, and do not continue
/// in the background.
const UNSUPPORTED: [&str; 4] = ["previous_response_id", "conversation", "prompt", "background"];

/// Fields with the same meaning in both APIs.
const SHARED_FIELDS: [&str; 5] =
    ["model", "temperature", "top_p", "parallel_tool_calls", "top_logprobs"];

/// Request for a response, translated into one for a chat completion.
pub(super) struct TranslatedRequest {
    /// Body of the chat completion request.
    pub(super) chat: Bytes,
    /// Fields that the response repeats.
    pub(super) echo: Echo,
}

/// Parses and translates a request.
pub(super) fn parse(body: &[u8]) -> Result<TranslatedRequest, ApiError> {
    let request: Value = serde_json::from_slice(body).map_err(|err| {
        invalid("", "malformed_json", &format!("The request body is not valid JSON: {err}."))
    })?;
    let Value::Object(request) = request else {
        return Err(invalid("", "invalid_type", "The request body must be a JSON object."));
    };

    for name in UNSUPPORTED {
        if request.get(name).is_some_and(|it| !it.is_null() && *it != Value::Bool(false)) {
            let message =
                "This server doesn't store responses. Send the whole conversation as `input`.";
            return Err(invalid(name, "unsupported", message));
        }
    }

    let mut chat: Map<String, Value> = SHARED_FIELDS
        .iter()
        .filter_map(|&name| Some((name.to_owned(), non_null(&request, name)?.clone())))
        .collect();
    chat.insert("messages".to_owned(), Value::Array(messages(&request)?));

    let mut set_if_some = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            chat.insert(name.to_owned(), value);
        }
    };

    set_if_some("max_completion_tokens", non_null(&request, "max_output_tokens").cloned());
    set_if_some("reasoning_effort", reasoning_effort(&request));
    set_if_some("response_format", response_format(&request));
    set_if_some("tools", non_null(&request, "tools").map(nest_functions));
    set_if_some("tool_choice", non_null(&request, "tool_choice").map(translate_choice));

    if request.get("stream") == Some(&Value::Bool(true)) {
        set_if_some("stream", Some(Value::Bool(true)));
        set_if_some("stream_options", Some(json!({ "include_usage": true })));
    }

    Ok(TranslatedRequest {
        chat: Bytes::from(Value::Object(chat).to_string()),
        echo: Echo::from_request(request),
    })
}

fn non_null<'a>(request: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    request.get(name).filter(|it| !it.is_null())
}

fn messages(request: &Map<String, Value>) -> Result<Vec<Value>, ApiError> {
    let missing_input = || invalid("input", "required", "Must be a string or a list of items.");
    let mut messages = Vec::new();
    if let Some(instructions) = non_null(request, "instructions") {
        messages.push(json!({ "role": "system", "content": instructions }));
    }

    match non_null(request, "input") {
        Some(Value::String(text)) => messages.push(json!({ "role": "user", "content": text })),
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                add_item(&mut messages, item)
                    .map_err(|message| invalid(&format!("input[{index}]"), "invalid", message))?;
            }
        }
        _ => return Err(missing_input()),
    }

    if messages.is_empty() {
        return Err(missing_input());
    }

    Ok(messages)
}

/// Adds an item to the conversation.
fn add_item(messages: &mut Vec<Value>, item: &Value) -> Result<(), &'static str> {
    match item.get("type").and_then(Value::as_str).unwrap_or("message") {
        "message" => {
            let content = translate_content(pointer_or_null(item, "/content"))?;
            messages.push(json!({ "role": pointer_or_null(item, "/role"), "content": content }));
        }
        "function_call" => {
            let id = pointer_or_null(item, "/call_id");
            let name = pointer_or_null(item, "/name");
            let arguments = pointer_or_null(item, "/arguments");
            let function = json!({ "name": name, "arguments": arguments });
            add_call(messages, json!({ "id": id, "type": "function", "function": function }));
        }
        "function_call_output" => {
            let content = translate_content(pointer_or_null(item, "/output"))?;
            let id = pointer_or_null(item, "/call_id");
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
        }
        "reasoning" => {}
        _ => return Err("Items are messages, function calls and their outputs."),
    }

    Ok(())
}

/// Adds a call: calls of one response belong to one message, after its text.
fn add_call(messages: &mut Vec<Value>, call: Value) {
    let last = messages.last_mut().filter(|it| pointer_or_null(it, "/role") == "assistant");
    let Some(Value::Object(message)) = last else {
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        return;
    };
    let calls = message.entry("tool_calls").or_insert_with(|| json!([]));
    if let Some(calls) = calls.as_array_mut() {
        calls.push(call);
    }
}

fn translate_content(content: &Value) -> Result<Value, &'static str> {
    match content {
        Value::Array(parts) => {
            parts.iter().map(translate_part).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::String(_) => Ok(content.clone()),
        _ => Err("An item has a text, or a list of parts."),
    }
}

fn translate_part(part: &Value) -> Result<Value, &'static str> {
    let field = |name: &str| part.get(name).filter(|it| !it.is_null()).cloned();

    match part.get("type").and_then(Value::as_str) {
        Some("input_text" | "output_text" | "text") => {
            Ok(json!({ "type": "text", "text": pointer_or_null(part, "/text") }))
        }
        Some("refusal") => Ok(json!({ "type": "text", "text": pointer_or_null(part, "/refusal") })),
        Some("input_image") => {
            let url = field("image_url").ok_or("Images must be sent as `image_url`.")?;
            let mut image = json!({ "url": url });
            if let Some(detail) = field("detail") {
                image = with(image, "detail", detail);
            }
            Ok(json!({ "type": "image_url", "image_url": image }))
        }
        Some("input_file") => {
            let data = field("file_data").ok_or("Files must be sent as `file_data`.")?;
            let mut file = json!({ "file_data": data });
            if let Some(name) = field("filename") {
                file = with(file, "filename", name);
            }
            Ok(json!({ "type": "file", "file": file }))
        }
        _ => Err("Parts are texts, pictures and files."),
    }
}

/// Nests functions one level deeper; any other tool is left to the chat to
/// reject.
fn nest_functions(tools: &Value) -> Value {
    let Value::Array(tools) = tools else { return tools.clone() };
    tools.iter().map(nest_function).collect()
}

fn nest_function(tool: &Value) -> Value {
    match tool {
        Value::Object(members) if pointer_or_null(tool, "/type") == "function" => {
            let mut function = members.clone();
            function.remove("type");
            json!({ "type": "function", "function": function })
        }
        other => other.clone(),
    }
}

fn translate_choice(choice: &Value) -> Value {
    if pointer_or_null(choice, "/type") == "function" {
        let name = pointer_or_null(choice, "/name");
        return json!({ "type": "function", "function": { "name": name } });
    }
    choice.clone()
}

fn reasoning_effort(request: &Map<String, Value>) -> Option<Value> {
    request.get("reasoning")?.get("effort").filter(|it| !it.is_null()).cloned()
}

fn response_format(request: &Map<String, Value>) -> Option<Value> {
    let format = request.get("text")?.get("format")?;
    match format.get("type")?.as_str()? {
        "json_schema" => {
            let mut schema = format.as_object()?.clone();
            schema.remove("type");
            Some(json!({ "type": "json_schema", "json_schema": schema }))
        }
        "text" => None,
        _ => Some(format.clone()),
    }
}

fn invalid(field: &str, code: &'static str, message: &str) -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: field.to_owned(),
        code,
        message: message.to_owned(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(request: &Value) -> Value {
        serde_json::from_slice(&parse(request.to_string().as_bytes()).unwrap().chat).unwrap()
    }

    #[test]
    fn a_text_becomes_a_message_after_the_instructions() {
        let chat = translate(&json!({
            "model": "m", "input": "Hi", "instructions": "Be brief.", "max_output_tokens": 9,
            "reasoning": { "effort": "low" }, "temperature": null, "store": true, "stream": true,
        }));

        assert_eq!(
            chat,
            json!({
                "model": "m",
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "Hi" },
                ],
                "max_completion_tokens": 9,
                "reasoning_effort": "low",
                "stream": true,
                "stream_options": { "include_usage": true },
            })
        );
    }

    #[test]
    fn items_become_messages() {
        let chat = translate(&json!({ "input": [
            { "role": "user", "content": [
                { "type": "input_text", "text": "What is this?" },
                { "type": "input_image", "image_url": "data:x", "detail": "low" },
                { "type": "input_file", "file_data": "data:y", "filename": "y.pdf" },
            ] },
            { "type": "reasoning", "summary": [] },
            { "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": "I look it up." },
            ] },
            { "type": "function_call", "call_id": "a", "name": "look", "arguments": "{}" },
            { "type": "function_call", "call_id": "b", "name": "look", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": "A cat." },
            { "type": "function_call", "call_id": "c", "name": "look", "arguments": "{}" },
        ] }));

        let messages = chat["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
        assert_eq!(
            messages[0]["content"],
            json!([
                { "type": "text", "text": "What is this?" },
                { "type": "image_url", "image_url": { "url": "data:x", "detail": "low" } },
                { "type": "file", "file": { "file_data": "data:y", "filename": "y.pdf" } },
            ])
        );
        let calls = messages[1]["tool_calls"].as_array().unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[1]["id"], "b");
        assert_eq!(messages[2]["tool_call_id"], "a");
    }

    #[test]
    fn functions_and_formats_are_nested_one_level_deeper() {
        let chat = translate(&json!({
            "input": "Hi",
            "tools": [{ "type": "function", "name": "look", "parameters": {}, "strict": true }],
            "tool_choice": { "type": "function", "name": "look" },
            "text": { "format": { "type": "json_schema", "name": "n", "schema": {} } },
        }));

        let function = json!({ "name": "look", "parameters": {}, "strict": true });
        assert_eq!(chat["tools"], json!([{ "type": "function", "function": function }]));
        assert_eq!(chat["tool_choice"]["function"], json!({ "name": "look" }));
        let format = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": {} } });
        assert_eq!(chat["response_format"], format);
    }

    #[test]
    fn requests_that_do_not_map_to_a_chat_are_rejected() {
        for request in [
            json!({}),
            json!([]),
            json!({ "input": 5 }),
            json!({ "input": [] }),
            json!({ "input": [{ "type": "reasoning", "summary": [] }] }),
            json!({ "input": "x", "previous_response_id": "resp_1" }),
            json!({ "input": "x", "conversation": {} }),
            json!({ "input": "x", "background": true }),
            json!({ "input": [{ "type": "item_reference", "id": "x" }] }),
            json!({ "input": [{ "role": "user", "content": 5 }] }),
            json!({ "input": [{ "role": "user", "content": [{ "type": "input_audio" }] }] }),
            json!({ "input": [{ "role": "user", "content": [{ "type": "input_image", "file_id": "f" }] }] }),
        ] {
            assert!(parse(request.to_string().as_bytes()).is_err(), "{request}");
        }
        assert!(parse(b"no JSON").is_err());
    }
}
