//! Application of a persona to a prompt.
//!
//! `turn/begin.rs` applies it before the model is chosen. Instructions that the client sent
//! itself are recognised by the persona's text in a system message, and not repeated.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::personas::GrantedPersona;
use crate::request::array_elements::ArrayElements;
use crate::request::prompt_body::UpstreamPrompt;
use crate::routing::refusal::Tools;

/// Parameters that upstreams refuse without tools.
const TOOL_PARAMETERS: [&str; 2] = ["tool_choice", "parallel_tool_calls"];
/// Tokens that a model's template adds to each message.
const TOKENS_PER_MESSAGE: i64 = 4;

/// Message that may repeat a persona's instructions.
#[derive(Deserialize)]
struct Instructions<'a> {
    role: &'a str,
    /// Text, or a list of parts.
    content: Value,
}

impl Instructions<'_> {
    /// Returns the text of the content, its parts joined.
    fn into_text(self) -> String {
        match self.content {
            Value::String(text) => text,
            Value::Array(parts) => parts.iter().filter_map(|it| it.get("text")?.as_str()).collect(),
            _ => String::new(),
        }
    }
}

impl UpstreamPrompt {
    /// Puts a persona's instructions before the messages, unless the client
    /// sent them itself, and applies its type and tools.
    pub(crate) fn apply_persona(&mut self, persona: &GrantedPersona) {
        if let Some(model_type) = &persona.model_type {
            self.model_hint.persona_type = Some(model_type.trim().to_lowercase());
        }

        if !persona.uses_tools {
            self.tool_list = None;
            self.tools = Tools::None;
            self.hosted.clear();
            self.parameters.retain(|(key, _)| !TOOL_PARAMETERS.contains(key));
        }

        if !self.has_instructions(&persona.system_prompt) {
            let text = persona.instructions();
            self.text.words.add(text.as_bytes());
            self.text.extra_tokens = self.text.extra_tokens.saturating_add(TOKENS_PER_MESSAGE);
            let message = json!({ "role": "system", "content": text });
            self.leading = Some(Bytes::from(message.to_string()));
        }
    }

    fn has_instructions(&self, system_prompt: &str) -> bool {
        let Ok(messages) = serde_json::from_slice::<ArrayElements<'_>>(&self.messages) else {
            return false;
        };
        messages.first.into_iter().any(|message| {
            let instructions = serde_json::from_str::<Instructions<'_>>(message.get());
            instructions.is_ok_and(|it| {
                matches!(it.role, "system" | "developer") && it.into_text().contains(system_prompt)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::open_pieces;
    use crate::request::prompt_body::AddedMessages;
    use crate::request::sample::PromptText;

    const USER: &str = r#"{"role":"user","content":"Hi"}"#;

    fn persona() -> GrantedPersona {
        GrantedPersona {
            system_prompt: "Be \"exact\".".to_owned(),
            guardrails: Some("No advice.".to_owned()),
            output_format: None,
            model_type: Some("Code".to_owned()),
            uses_tools: true,
        }
    }

    fn prompt(messages: &str) -> UpstreamPrompt {
        let mut prompt = UpstreamPrompt::from_messages(messages, PromptText::default());
        prompt.tool_list = Some(Bytes::from_static(b"[1]"));
        prompt.tools = Tools::Sent;
        prompt.parameters = vec![("tool_choice", Bytes::from_static(b"\"auto\""))];
        prompt
    }

    fn sent(prompt: &UpstreamPrompt) -> String {
        let pieces = open_pieces(&prompt.body(&AddedMessages::default()));
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn instructions_come_first_and_are_counted() {
        let mut prompt = prompt(&format!(" [ {USER}]"));
        let before = prompt.text.estimate();

        prompt.apply_persona(&persona());

        let system = r#"{"role":"system","content":"Be \"exact\".\n\nNo advice."}"#;
        let body = sent(&prompt);
        assert!(body.starts_with(&format!(r#"{{"messages":[{system}, {USER}]"#)), "{body}");
        assert!(prompt.text.estimate() > before);
        assert_eq!(prompt.model_hint.persona_type.as_deref(), Some("code"));
        assert!(body.contains("tool_choice") && body.contains("[1]"), "{body}");
    }

    #[test]
    fn instructions_that_the_client_sent_are_not_repeated() {
        for content in [
            r#""You: Be \u0022exact\u0022. Thanks""#,
            r#"[{"type":"text","text":"You: Be "},{"type":"text","text":"\"exact\". Thanks"}]"#,
        ] {
            let own_message = format!(r#"{{"role":"system","content":{content}}}"#);
            let mut prompt = prompt(&format!("[{own_message},{USER}]"));
            let before = sent(&prompt);

            prompt.apply_persona(&persona());

            assert_eq!(sent(&prompt), before);
        }
    }

    #[test]
    fn a_persona_without_tools_gets_none() {
        let mut prompt = prompt(&format!("[{USER}]"));

        prompt.apply_persona(&GrantedPersona { uses_tools: false, ..persona() });

        let body = sent(&prompt);
        assert!(!body.contains("tool_choice") && !body.contains("tools"), "{body}");
        assert!(prompt.tools == Tools::None && prompt.hosted.is_empty());
    }
}
