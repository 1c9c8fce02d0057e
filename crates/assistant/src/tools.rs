//! Tools of a request: those that the caller runs, and those that the upstream
//! runs.
//!
//! A tool of the upstream costs the operator money and may fetch addresses. So a caller's
//! tool is checked member by member: anything that might enable another tool is either a
//! `HostedTool`, which the model's entry must permit (`turn/capable_models.rs`), or a
//! violation. `tools/server.rs` has the third kind: tools that the server adds itself.

pub(crate) mod calls;
pub(crate) mod connectors;
pub(crate) mod presentation;
pub(crate) mod searching;
pub(crate) mod server;
pub(crate) mod web_search;

use std::collections::BTreeSet;

use pia_json::Members;
use serde_json::value::RawValue;

use crate::credits::rates::Micros;
use crate::error::Violation;
use crate::request::array_elements::ArrayElements;
use crate::request::fetched::address;
use crate::request::messages::MAX_VIOLATIONS;
use crate::routing::refusal::Tools;

/// Types of tools that callers run. Every other type is run by the upstream, at
/// the operator's expense.
const CLIENT_TYPES: [&str; 2] = ["function", "custom"];
/// Members that a caller's tool may have besides its type and the member of
/// that name. Other members may enable tools of the upstream.
const DESCRIPTION: [&str; 6] =
    ["name", "description", "parameters", "strict", "format", "cache_control"];
/// Choices that name no tool.
const PLAIN_CHOICES: [&str; 4] = ["auto", "none", "required", "any"];
/// Choice among some of the tools.
const ALLOWED_TOOLS: &str = "allowed_tools";
/// Maximum length of a type in bytes.
const MAX_TYPE_BYTES: usize = 64;
/// Maximum length in bytes of a key that is repeated to the caller.
const MAX_KEY_BYTES: usize = 40;

/// Type of tools that an upstream runs, and its price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamTool {
    /// Type in requests: `web_search`.
    pub kind: String,
    /// Price of each such tool in a call, used or not, besides its tokens.
    pub price: Micros,
}

/// Tool of a request that its upstream is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostedTool {
    /// Index in the request's `tools`, for violations.
    pub(crate) at: usize,
    /// Value of `type`, by which upstreams know it.
    pub(crate) kind: String,
}

impl HostedTool {
    /// Returns the violation for a tool that the model may not run.
    pub(crate) fn violation(&self) -> Violation {
        tool_not_allowed(format!("tools[{}].type", self.at))
    }
}

/// Validated tools of a request.
#[derive(Debug, Default)]
pub(crate) struct RequestTools {
    /// Tools that the upstream runs itself.
    pub(crate) hosted: Vec<HostedTool>,
    /// Path of the first address, which the upstream would call.
    pub(crate) address: Option<String>,
    count: usize,
}

impl RequestTools {
    /// Checks the tools of a request, and the choice among them.
    pub(crate) fn check(
        tools: Option<&RawValue>,
        choice: Option<&RawValue>,
        violations: &mut Vec<Violation>,
    ) -> Self {
        let Some(tools) = tools else { return Self::default() };
        let Ok(ArrayElements { first, count }) = serde_json::from_str(tools.get()) else {
            violations.push(Violation::new("tools", "invalid_type", "The tools must be an array."));
            return Self::default();
        };

        if count > ArrayElements::MAX_LEN {
            let message = format!("There must not be more than {} tools.", ArrayElements::MAX_LEN);
            violations.push(Violation::new("tools", "too_many", message));
        }

        let mut request_tools = Self { count, ..Self::default() };
        for (at, tool) in first.into_iter().enumerate() {
            if let Err(violation) = request_tools.add(at, tool) {
                violations.push(violation);
            }
            // The choice is not checked: it would have consequential violations.
            if violations.len() >= MAX_VIOLATIONS {
                return request_tools;
            }
        }

        if count > 0
            && let Some(choice) = choice
            && let Err(violation) = request_tools.check_choice(choice)
        {
            violations.push(violation);
        }

        request_tools
    }

    /// Returns whether there are tools; an empty array counts as none.
    pub(crate) fn sent(&self) -> Tools {
        if self.count == 0 { Tools::None } else { Tools::Sent }
    }

    /// Adds a tool. One that callers run themselves is only checked.
    fn add(&mut self, at: usize, tool: &RawValue) -> Result<(), Violation> {
        let field = format!("tools[{at}]");
        let members = parse_members(tool.get(), &field, "A tool")?;
        let kind = parse_kind(&members, &field)?;
        if CLIENT_TYPES.contains(&kind.as_str()) {
            return check_members(&members, &kind, &field);
        }

        if self.address.is_none() {
            let mut paths = members.iter().filter_map(|(key, json)| {
                address(key, serde_json::from_str::<&RawValue>(json).ok()?)
            });
            self.address = paths.next().map(|it| format!("{field}.{it}"));
        }

        self.hosted.push(HostedTool { at, kind });

        Ok(())
    }

    /// Checks that the choice names only tools of the request: naming a tool of
    /// the upstream would enable it.
    fn check_choice(&self, choice: &RawValue) -> Result<(), Violation> {
        let field = "tool_choice";
        if choice.get().starts_with('"') {
            let name: Option<String> = serde_json::from_str(choice.get()).ok();
            if name.is_some_and(|it| PLAIN_CHOICES.contains(&it.as_str())) {
                return Ok(());
            }
            let message = format!("The choice must be one of {}.", PLAIN_CHOICES.join(", "));
            return Err(Violation::new(field, "unknown_value", message));
        }

        let choice = parse_members(choice.get(), field, "The choice of a tool")?;
        let chosen_kind = parse_kind(&choice, field)?;
        if chosen_kind != ALLOWED_TOOLS {
            return self.check_kind(&chosen_kind, field);
        }

        // Clients put the allowed tools in the choice itself or in a member of it.
        let allowed_field = format!("{field}.{ALLOWED_TOOLS}");
        let allowed_json = choice.get(ALLOWED_TOOLS).unwrap_or("{}");
        let allowed_tools =
            parse_members(allowed_json, &allowed_field, "The choice of some tools")?;
        for tools in [&choice, &allowed_tools].into_iter().filter_map(|it| it.get("tools")) {
            let field = format!("{allowed_field}.tools");
            let Ok(ArrayElements { first, .. }) = serde_json::from_str(tools) else {
                return Err(Violation::new(field, "invalid_type", "The tools must be an array."));
            };
            for tool in first {
                let members = parse_members(tool.get(), &field, "A tool")?;
                self.check_kind(&parse_kind(&members, &field)?, &field)?;
            }
        }

        Ok(())
    }

    fn check_kind(&self, kind: &str, field: &str) -> Result<(), Violation> {
        let is_known = CLIENT_TYPES.contains(&kind) || self.hosted.iter().any(|it| it.kind == kind);
        if is_known { Ok(()) } else { Err(tool_not_allowed(format!("{field}.type"))) }
    }
}

fn tool_not_allowed(field: String) -> Violation {
    let message = format!(
        "Only tools of the types {} may be sent: this server has no other run by the AI model's \
         provider.",
        CLIENT_TYPES.join(" and ")
    );
    Violation::new(field, "tool_not_allowed", message)
}

/// Returns the members of an object. Readers differ in which of two equal keys
/// they use, and some accept keys in any case, so each key must be unique.
fn parse_members<'a>(json: &'a str, field: &str, subject: &str) -> Result<Members<'a>, Violation> {
    let violation = || {
        let message = format!("{subject} must be an object with each key once.");
        Violation::new(field, "invalid_type", message)
    };
    let members: Members<'_> = serde_json::from_str(json).map_err(|_invalid| violation())?;
    let keys: BTreeSet<_> = members.iter().map(|(key, _)| key.to_lowercase()).collect();
    if keys.len() == members.iter().count() { Ok(members) } else { Err(violation()) }
}

/// Returns the type of a tool, or of the choice of one.
fn parse_kind(members: &Members<'_>, field: &str) -> Result<String, Violation> {
    let type_field = format!("{field}.type");
    let Some(json) = members.get("type") else {
        return Err(Violation::new(type_field, "required", "The type of a tool is missing."));
    };
    let Ok(kind) = serde_json::from_str::<String>(json) else {
        let message = "The type of a tool must be a string.";
        return Err(Violation::new(type_field, "invalid_type", message));
    };
    if kind.len() > MAX_TYPE_BYTES { Err(tool_not_allowed(type_field)) } else { Ok(kind) }
}

/// Checks that a caller's tool has no member that enables another.
fn check_members(members: &Members<'_>, kind: &str, field: &str) -> Result<(), Violation> {
    let is_known = |key: &str| key == "type" || key == kind || DESCRIPTION.contains(&key);
    let unknown_member = members.iter().find(|(key, value)| *value != "null" && !is_known(key));
    let Some((key, _)) = unknown_member else { return Ok(()) };

    let is_plain_byte = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    let is_plain = key.len() <= MAX_KEY_BYTES && key.bytes().all(is_plain_byte);
    Err(tool_not_allowed(format!("{field}.{}", if is_plain { key } else { "?" })))
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
