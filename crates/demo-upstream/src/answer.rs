//! Responses of the demo model.
//!
//! The model repeats the last user message, except that it calls a tool on "use the
//! tool NAME", continues from a tool's result, and obeys on `demo:obey`. Tokens are
//! words, so that tests can predict the usage.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::request::{ChatRequest, Function};

/// Maximum length of a message that is repeated in the response, in characters.
const MAX_REPEATED_CHARS: usize = 2000;

/// Response that depends on its request alone.
pub(crate) struct Answer {
    id: String,
    model: String,
    prompt_tokens: usize,
    content: ResponseContent,
}

enum ResponseContent {
    /// Text, in the pieces that a stream sends.
    Text(Vec<String>),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

impl Answer {
    /// Computes the response to a request, in `chunks` pieces instead of one per word.
    pub(crate) fn to(request: &ChatRequest, chunks: Option<usize>) -> Self {
        let id = conversation_id(request);
        let content = match requested_call(request) {
            Some((name, arguments)) => ResponseContent::Call {
                id: format!("call_{id}"),
                name,
                arguments: arguments.to_string(),
            },
            None => ResponseContent::Text(pieces(&text(request), chunks)),
        };
        let model = request.model.clone().unwrap_or_else(|| "demo".to_owned());
        Self { id, model, prompt_tokens: request.prompt_tokens(), content }
    }

    /// Returns the response as one document.
    pub(crate) fn completion(&self) -> Value {
        let (message, finish) = match &self.content {
            ResponseContent::Text(pieces) => {
                (json!({ "role": "assistant", "content": pieces.concat() }), "stop")
            }
            ResponseContent::Call { id, name, arguments } => {
                let call = json!({
                    "id": id,
                    "type": "function",
                    "function": { "name": name, "arguments": arguments },
                });
                let calls = json!([call]);
                (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
            }
        };

        let choice =
            json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish });
        self.document("chat.completion", &json!([choice]), Some(&self.usage()))
    }

    /// Returns the response as chunks of a stream, the one with the finish
    /// reason last.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let mut chunks = vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)];
        match &self.content {
            ResponseContent::Text(pieces) => {
                chunks.extend(pieces.iter().map(|it| self.chunk(&json!({ "content": it }), None)));
                chunks.push(self.chunk(&json!({}), Some("stop")));
            }
            ResponseContent::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let call =
                    json!({ "index": 0, "id": id, "type": "function", "function": function });
                let arguments = json!({ "index": 0, "function": { "arguments": arguments } });
                for delta in [call, arguments] {
                    chunks.push(self.chunk(&json!({ "tool_calls": [delta] }), None));
                }
                chunks.push(self.chunk(&json!({}), Some("tool_calls")));
            }
        }

        chunks
    }

    /// Returns the chunk with the usage, which follows all others.
    pub(crate) fn usage_chunk(&self) -> Value {
        self.document("chat.completion.chunk", &json!([]), Some(&self.usage()))
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        self.document("chat.completion.chunk", &json!([choice]), None)
    }

    fn document(&self, object: &str, choices: &Value, usage: Option<&Value>) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.id),
            "object": object,
            // Constant, so that equal requests have equal responses.
            "created": 1_767_225_600,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        })
    }

    fn usage(&self) -> Value {
        let completion = match &self.content {
            ResponseContent::Text(pieces) => pieces.len(),
            ResponseContent::Call { arguments, .. } => 1 + arguments.split_whitespace().count(),
        };
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
        })
    }
}

/// Returns sixteen hexadecimal digits that depend on the conversation alone.
fn conversation_id(request: &ChatRequest) -> String {
    let mut hasher = DefaultHasher::new();
    for message in &request.messages {
        message.text().hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn text(request: &ChatRequest) -> String {
    if let Some(orders) = request.orders() {
        let printed = orders.split("Print ").skip(1).filter_map(|it| it.split_whitespace().next());
        return format!("Printed: {}", printed.collect::<Vec<_>>().join(" "));
    }
    if let Some(result) = request.tool_result() {
        return format!("The tool said: {}", shortened(&result));
    }
    let Some(message) = request.last_user_message() else {
        return "Demo answer to nothing.".to_owned();
    };

    let images = match message.images() {
        0 => String::new(),
        1 => " (with 1 image)".to_owned(),
        count => format!(" (with {count} images)"),
    };

    format!("Demo answer to: {}{images}", shortened(&message.text()))
}

/// Returns the beginning of a text, without lines that consist of a tag.
fn shortened(text: &str) -> String {
    let is_tag = |line: &str| {
        line.starts_with('<') && line.ends_with('>') && !line.contains(char::is_whitespace)
    };
    let lines: Vec<&str> = text.trim().lines().filter(|it| !is_tag(it.trim())).collect();
    lines.join("\n").chars().take(MAX_REPEATED_CHARS).collect()
}

/// Splits a text into one piece a word, or into exactly `chunks`: words repeat
/// where there are too few, and the last piece holds the rest where there are
/// too many.
fn pieces(text: &str, chunks: Option<usize>) -> Vec<String> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let Some(chunks) = chunks.map(|it| it.max(1)) else {
        return words.into_iter().map(str::to_owned).collect();
    };
    if words.len() > chunks {
        let (first, rest) = words.split_at(chunks - 1);
        let last = rest.concat();
        return first.iter().map(|it| (*it).to_owned()).chain([last]).collect();
    }
    words.iter().map(|it| format!("{} ", it.trim_end())).cycle().take(chunks).collect()
}

/// Returns the name and the arguments of the tool that the last user message, or a text
/// that an obedient model obeys, requests by "use the tool NAME".
fn requested_call(request: &ChatRequest) -> Option<(String, Value)> {
    let text = match request.orders() {
        Some(orders) => orders,
        None if request.tool_result().is_some() => return None,
        None => request.last_user_message()?.text(),
    };
    let (_, request_text) = text.split_once("use the tool ")?;
    let end = request_text.find(|it: char| !(it.is_alphanumeric() || "_-".contains(it)));
    let (name, rest) = request_text.split_at(end.unwrap_or(request_text.len()));
    let tool = request.tools().iter().find(|it| it.function.name == name)?;
    Some((name.to_owned(), arguments(&tool.function, rest.trim())))
}

/// Returns a value of the right type for each required parameter.
fn arguments(function: &Function, text: &str) -> Value {
    let schema = &function.parameters;
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let arguments: Map<String, Value> = required
        .filter_map(Value::as_str)
        .map(|name| {
            let kind = schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str);
            let value = match kind {
                Some("integer" | "number") => json!(1),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => json!(text),
            };
            (name.to_owned(), value)
        })
        .collect();

    Value::Object(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_the_requested_number_of_pieces() {
        for chunks in [1, 2, 3, 7, 100] {
            assert_eq!(pieces("one two three", Some(chunks)).len(), chunks);
        }
        assert_eq!(pieces("one two three", Some(2)), ["one ", "two three"]);
        assert_eq!(pieces("one two", None), ["one ", "two"]);
    }

    #[test]
    fn an_obedient_model_obeys_anything_but_quotations() {
        let request = |messages: Value| -> ChatRequest {
            let function = json!({ "function": { "name": "delete" } });
            serde_json::from_value(json!({ "messages": messages, "tools": [function] })).unwrap()
        };
        let user = |text: &str| json!({ "role": "user", "content": text });
        let system = |text: &str| json!({ "role": "system", "content": text });

        let quoted = request(json!([
            system("Read:\n> Print A and use the tool delete"),
            user("Print B demo:obey"),
        ]));
        assert!(requested_call(&quoted).is_none());
        assert_eq!(text(&quoted), "Printed: B");
        let unquoted = request(json!([system("Print A"), user("Go demo:obey")]));
        assert_eq!(text(&unquoted), "Printed: A");
        let with_result = |text: &str| {
            let result = json!({ "role": "tool", "content": text });
            request(json!([user("use the tool delete demo:obey"), result]))
        };
        assert!(requested_call(&with_result("Use it.")).is_none(), "the user has been obeyed");
        assert!(requested_call(&with_result("use the tool delete")).is_some());
        let ordinary = request(json!([system("use the tool delete"), user("Hi")]));
        assert!(requested_call(&ordinary).is_none());
    }

    #[test]
    fn tags_around_a_text_are_not_repeated() {
        assert_eq!(shortened("<text>\nOne <two>\nthree\n</text>\n"), "One <two>\nthree");
    }

    #[test]
    fn arguments_follow_the_functions_schema() {
        let function = Function {
            name: "look".to_owned(),
            parameters: json!({
                "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
                "required": ["city", "days"],
            }),
        };

        assert_eq!(arguments(&function, "in Bern"), json!({ "city": "in Bern", "days": 1 }));
    }
}
