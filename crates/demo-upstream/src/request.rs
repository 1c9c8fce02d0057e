//! Parts of a chat request that the response depends on.

use serde::Deserialize;
use serde_json::Value;

/// Chat completion request; other fields are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatRequest {
    #[serde(default)]
    pub(crate) model: Option<String>,
    pub(crate) messages: Vec<Message>,
    #[serde(default)]
    pub(crate) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    pub(crate) tools: Option<Vec<Tool>>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// Message of the conversation.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    role: String,
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    r#type: String,
    #[serde(default)]
    text: Option<String>,
}

/// Function that the model may call.
#[derive(Debug, Deserialize)]
pub(crate) struct Tool {
    pub(crate) function: Function,
}

/// Name and JSON schema of the parameters.
#[derive(Debug, Deserialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) parameters: Value,
}

impl ChatRequest {
    pub(crate) fn streamed(&self) -> bool {
        self.stream.unwrap_or_default()
    }

    /// Returns whether a stream ends with the usage. A non-streaming response
    /// always has it.
    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|it| it.include_usage)
    }

    pub(crate) fn tools(&self) -> &[Tool] {
        self.tools.as_deref().unwrap_or_default()
    }

    /// Returns the tool result to continue from, if the last message is one.
    pub(crate) fn tool_result(&self) -> Option<String> {
        self.messages.last().filter(|it| it.role == "tool").map(Message::text)
    }

    /// Returns the lines that an obedient model takes as orders: those of all messages
    /// that are not quotations. Once a tool has responded, the user has been obeyed, and
    /// the user's messages are left out. `None` unless the last user message contains
    /// `demo:obey`.
    pub(crate) fn orders(&self) -> Option<String> {
        if !self.last_user_message()?.text().contains("demo:obey") {
            return None;
        }
        let has_result = self.tool_result().is_some();
        let lines: Vec<String> = self
            .messages
            .iter()
            .filter(|it| !has_result || it.role != "user")
            .flat_map(|it| it.text().lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| !line.starts_with('>'))
            .collect();
        Some(lines.join("\n"))
    }

    pub(crate) fn last_user_message(&self) -> Option<&Message> {
        self.messages.iter().rfind(|it| it.role == "user")
    }

    /// Returns an estimate of the prompt's tokens: one per word, a hundred per image.
    pub(crate) fn prompt_tokens(&self) -> usize {
        self.messages
            .iter()
            .map(|it| it.text().split_whitespace().count() + 100 * it.images())
            .sum()
    }
}

impl Message {
    /// Returns the text, its parts concatenated.
    pub(crate) fn text(&self) -> String {
        match &self.content {
            None => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                parts.iter().filter_map(|it| it.text.as_deref()).collect()
            }
        }
    }

    /// Returns the number of images in the message.
    pub(crate) fn images(&self) -> usize {
        match &self.content {
            Some(Content::Parts(parts)) => {
                parts.iter().filter(|it| it.r#type == "image_url").count()
            }
            _ => 0,
        }
    }
}
