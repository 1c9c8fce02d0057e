//! Tools of a server.
//!
//! `ToolList` collects the pages of a list and leaves out what no model could call:
//! one bad tool must not make the others unusable.

use std::collections::HashSet;

use rmcp::model::Tool;
use serde_json::Value;

use crate::error::truncate;

/// Maximum number of tools of a server.
const MAX_TOOLS: usize = 100;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Maximum length of a description, in bytes; a longer one is cut.
const MAX_DESCRIPTION_BYTES: usize = 2_000;
/// Maximum length of a schema as JSON, in bytes.
const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// Prefix of names that no other server may use.
const RESERVED: &str = "pia_";

/// Tool of a server, whose texts are not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// Name: letters, digits, hyphens and underscores, at most 64.
    pub name: String,
    /// Description for models, never empty and at most 2,000 bytes long.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// JSON Schema of structured results; `None` if it is missing or too large.
    pub output_schema: Option<Value>,
    /// Promise that a call may be repeated without harm.
    pub idempotent: bool,
    /// Statement of the server that a call destroys something.
    pub dangerous: bool,
}

impl McpTool {
    /// Converts a tool, unless no model could call it.
    fn new(tool: Tool) -> Result<Self, &'static str> {
        let name = tool.name.into_owned();
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_plain) {
            return Err("its name is not one of a tool");
        }
        if name.starts_with(RESERVED) {
            return Err("its name is reserved");
        }

        let parameters = Value::Object((*tool.input_schema).clone());
        if !is_admissible(&parameters) {
            return Err("the schema of its arguments is too large, or contains NUL");
        }

        let output_schema = tool.output_schema.map(|it| Value::Object((*it).clone()));
        let hints = tool.annotations.unwrap_or_default();
        let is_read_only = hints.read_only_hint == Some(true);
        let texts = [tool.description.map(Into::into), tool.title, hints.title];
        let description = texts
            .into_iter()
            .flatten()
            .map(|it| it.replace('\0', "").trim().to_owned())
            .find(|it| !it.is_empty());
        Ok(Self {
            description: description
                .map_or_else(|| name.clone(), |it| truncate(&it, MAX_DESCRIPTION_BYTES).to_owned()),
            name,
            parameters,
            output_schema: output_schema.filter(is_admissible),
            idempotent: is_read_only || hints.idempotent_hint == Some(true),
            dangerous: !is_read_only && hints.destructive_hint == Some(true),
        })
    }
}

/// Returns whether a schema is small, and free of NUL, which no database stores.
fn is_admissible(schema: &Value) -> bool {
    let text = schema.to_string();
    text.len() <= MAX_SCHEMA_BYTES && !text.contains("\\u0000")
}

/// Tools that were listed so far.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    tools: Vec<McpTool>,
    names: HashSet<String>,
    is_truncated: bool,
}

impl ToolList {
    /// Adds the tools of a page, as far as there are not too many.
    pub(crate) fn extend(&mut self, page: Vec<Tool>) {
        for tool in page {
            if self.tools.len() == MAX_TOOLS {
                tracing::warn!(tools = MAX_TOOLS, "further tools of an MCP server are left out");
                self.is_truncated = true;
                return;
            }

            let name = truncate(&tool.name, MAX_NAME_BYTES).to_owned();
            let outcome = McpTool::new(tool).and_then(|tool| {
                let is_new = self.names.insert(tool.name.clone());
                if is_new { Ok(tool) } else { Err("another tool has its name") }
            });

            match outcome {
                Ok(tool) => self.tools.push(tool),
                Err(reason) => {
                    tracing::warn!(tool = ?name, reason, "a tool of an MCP server is left out");
                }
            }
        }
    }

    /// Returns whether tools were left out because there are too many.
    pub(crate) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    pub(crate) fn into_tools(self) -> Vec<McpTool> {
        self.tools
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(tools: Value) -> Vec<McpTool> {
        let mut list = ToolList::default();
        list.extend(serde_json::from_value(tools).unwrap());
        list.into_tools()
    }

    #[test]
    fn hints_and_descriptions_are_converted() {
        let schema = json!({ "type": "object" });
        let tools = listed(json!([
            { "name": "a", "description": "A.", "inputSchema": schema, "outputSchema": schema,
              "annotations": { "readOnlyHint": true, "destructiveHint": true } },
            { "name": "b", "title": " B ", "description": " \u{0} ", "inputSchema": schema,
              "annotations": { "destructiveHint": true } },
            { "name": "c", "description": "ü".repeat(2_000), "inputSchema": schema,
              "annotations": { "idempotentHint": true, "title": "C" } },
            { "name": "d", "inputSchema": schema },
        ]));

        let flags: Vec<_> = tools.iter().map(|it| (it.idempotent, it.dangerous)).collect();
        assert_eq!(flags, [(true, false), (false, true), (true, false), (false, false)]);
        let texts: Vec<_> = tools.iter().map(|it| it.description.as_str()).collect();
        assert_eq!(texts, ["A.", "B", "ü".repeat(1_000).as_str(), "d"]);
        assert_eq!(tools[0].output_schema, Some(schema.clone()));
        assert_eq!(tools[3].output_schema, None);
        assert_eq!(tools[3].parameters, schema);
    }

    #[test]
    fn tools_that_no_model_could_call_are_left_out() {
        let schema = json!({ "type": "object" });
        let large = json!({ "type": "object", "x": "a".repeat(MAX_SCHEMA_BYTES) });
        let nul = json!({ "type": "object", "x": "\u{0}" });
        let tool = |name: &str| json!({ "name": name, "inputSchema": schema });
        let tools = listed(json!([
            tool(""), tool("two words"), tool("a.b"), tool("pia_search"), tool(&"a".repeat(65)),
            { "name": "large", "inputSchema": large }, { "name": "nul", "inputSchema": nul },
            tool("twice"), tool("twice"),
            { "name": "results", "inputSchema": schema, "outputSchema": large },
        ]));

        let names: Vec<_> = tools.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["twice", "results"]);
        assert_eq!(tools[1].output_schema, None);
    }
}
