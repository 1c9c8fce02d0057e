//! Contents of a plugin, and their rules.
//!
//! The configuration is checked only as far as the server understands it: a JSON
//! object whose `transport`, if any, is known. Audit entries have its digest alone.

use pia_kernel::serialize_digest;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::violation::{FormCheck, Violation};

const MAX_NAME_CHARS: usize = 255;
const MAX_DESCRIPTION_CHARS: usize = 2000;
const MAX_VERSION_CHARS: usize = 50;
const MAX_CONFIG_CHARS: usize = 65_536;
const KINDS: [&str; 3] = ["mcp_server", "builtin_tool_pack", "rest_api"];
const TRANSPORTS: [&str; 2] = ["stdio", "sse"];

/// Contents of a plugin as an administrator sent them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the fields of `PublishedPlugin` and its contents")]
pub struct PluginDraft {
    pub kind: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub config_json: Option<String>,
    pub version: Option<String>,
    pub is_active: Option<bool>,
}

/// Contents of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginContent {
    /// One of `mcp_server`, `builtin_tool_pack` and `rest_api`.
    pub kind: String,
    /// Name of up to 255 characters.
    pub name: String,
    /// Description of up to 2,000 characters.
    pub description: Option<String>,
    /// JSON object that clients read: `transport`, `command`, `url` … It may
    /// contain secrets.
    #[serde(serialize_with = "serialize_digest")]
    pub config_json: String,
    /// Version of up to 50 characters; `1.0.0` if omitted.
    pub version: String,
}

impl PluginDraft {
    /// Validates the contents and trims their texts. Lists every violation.
    pub fn validate(self) -> Result<PluginContent, Vec<Violation>> {
        let mut check = FormCheck::default();
        let kind = check.line("kind", self.kind, MAX_NAME_CHARS);
        let name = check.line("name", self.name, MAX_NAME_CHARS);
        let config = check.text("configJson", self.config_json, MAX_CONFIG_CHARS);
        let version = check.line("version", self.version, MAX_VERSION_CHARS);
        let content = PluginContent {
            kind: check.required("kind", kind),
            name: check.required("name", name),
            description: check.text("description", self.description, MAX_DESCRIPTION_CHARS),
            config_json: config.unwrap_or_else(|| "{}".to_owned()),
            version: version.unwrap_or_else(|| "1.0.0".to_owned()),
        };

        if !content.kind.is_empty() {
            let is_known_kind = KINDS.contains(&&*content.kind);
            check.rule("kind", is_known_kind, &format!("Choose one of {}.", KINDS.join(", ")));
        }

        check_config(&mut check, &content.config_json);

        if check.violations.is_empty() { Ok(content) } else { Err(check.violations) }
    }
}

fn check_config(check: &mut FormCheck, config: &str) {
    let Ok(config) = serde_json::from_str::<Map<String, Value>>(config) else {
        return check.rule("configJson", false, "configJson must be a JSON object.");
    };
    let transport = config.get("transport");
    let is_known_transport = transport.is_none_or(|it| {
        it.is_null() || it.as_str().is_some_and(|name| TRANSPORTS.contains(&name))
    });
    check.rule("configJson", is_known_transport, "transport must be stdio or sse.");
}
