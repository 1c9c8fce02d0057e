//! Description that a pod sends of itself when it connects, as the argument of
//! `Hello`:
//!
//! ```text
//! {"protocol":1,"name":"weather-pod","tools":[{"name":"forecast","description":"…",
//! "parameters":{"type":"object"}}],"skills":["report",{"name":"x","timeoutSeconds":60}]}
//! ```
//!
//! A description is accepted as a whole or refused with a reason for the pod's
//! author. That of an MCP server (`of_server`) is made of the tools that pass;
//! unknown members are ignored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::DescriptionError;
use crate::schema;

/// Version of the messages between pods and the server.
const PROTOCOL: u32 = 1;
/// Maximum number of tools of a pod, and of skills.
const MAX_TOOLS: usize = 100;
/// Maximum length of a name or a version, in bytes.
const MAX_NAME_CHARS: usize = 64;
/// Maximum length of the name of a skill, in bytes.
const MAX_SKILL_CHARS: usize = 100;
/// Maximum length of a tool's description, in bytes.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Maximum length of the texts of a server's tools.
const MAX_SERVER_BYTES: usize = 200 * 1024;
/// Prefix of the server's own tools, which no pod may use.
const RESERVED: &str = "pia_";
/// Maximum time limit of a call, in seconds.
const MAX_SECONDS: u32 = 600;
/// Maximum time limit of the run of a skill, in seconds: a day.
const MAX_SKILL_SECONDS: u32 = 86_400;

/// Description of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodDescription {
    /// Version of the messages that it speaks.
    pub protocol: u32,
    /// Name of the program, for administrators.
    pub name: String,
    /// Version of the program.
    #[serde(default)]
    pub version: String,
    /// Tools that the pod offers.
    #[serde(default)]
    pub tools: Vec<PodTool>,
    /// Skills that it runs.
    #[serde(default)]
    pub skills: Vec<OfferedSkill>,
    /// Number of calls that it handles at once, at least 1, and 1 by default; the server
    /// sends no more.
    #[serde(default = "default_max_calls")]
    pub max_concurrent_calls: u32,
}

/// Skill that a pod runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SkillForm", into = "SkillForm")]
pub struct OfferedSkill {
    /// Name: letters, digits, hyphens, underscores and dots.
    pub name: String,
    /// Time limit of a run in seconds; `None` for that of the assignment.
    pub timeout_seconds: Option<u32>,
}

/// Skill in a description: its name, or with its limit.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SkillForm {
    Name(String),
    #[serde(rename_all = "camelCase")]
    Limited {
        name: String,
        timeout_seconds: Option<u32>,
    },
}

impl From<SkillForm> for OfferedSkill {
    fn from(form: SkillForm) -> Self {
        let (name, timeout_seconds) = match form {
            SkillForm::Name(name) => (name, None),
            SkillForm::Limited { name, timeout_seconds } => (name, timeout_seconds),
        };
        Self { name, timeout_seconds }
    }
}

impl From<OfferedSkill> for SkillForm {
    fn from(skill: OfferedSkill) -> Self {
        match skill {
            OfferedSkill { name, timeout_seconds: None } => Self::Name(name),
            OfferedSkill { name, timeout_seconds } => Self::Limited { name, timeout_seconds },
        }
    }
}

/// Tool of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTool {
    /// Name: letters, digits, hyphens and underscores.
    pub name: String,
    /// Description, which the model reads.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
    /// JSON Schema of the result's content, unless it may be anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// True if it may change or reveal what matters: models may not call it.
    #[serde(default)]
    pub dangerous: bool,
    /// True if a call may be repeated without a further effect.
    #[serde(default)]
    pub idempotent: bool,
    /// Time limit of a call in seconds, from 1 to 600, 30 by default.
    #[serde(default = "default_timeout_seconds")]
    pub timeout_seconds: u32,
}

fn default_max_calls() -> u32 {
    1
}

fn default_timeout_seconds() -> u32 {
    30
}

impl PodDescription {
    /// Parses a description, and checks its limits.
    pub fn parse(mut value: Value) -> Result<Self, DescriptionError> {
        remove_nulls(&mut value);
        if has_nul(&value) {
            return Err(DescriptionError::Malformed("texts must not contain NUL".to_owned()));
        }

        let parsed: Self = serde_json::from_value(value)
            .map_err(|err| DescriptionError::Malformed(err.to_string()))?;
        if parsed.protocol != PROTOCOL {
            return Err(DescriptionError::Protocol(PROTOCOL));
        }
        if parsed.tools.len() > MAX_TOOLS || parsed.skills.len() > MAX_TOOLS {
            return Err(DescriptionError::TooMany);
        }
        if parsed.max_concurrent_calls == 0 {
            let reason = "maxConcurrentCalls is not 1 or more".to_owned();
            return Err(DescriptionError::Malformed(reason));
        }

        parsed.check_names()?;
        for skill in &parsed.skills {
            skill.check()?;
        }
        parsed.check_duplicates()?;
        for tool in &parsed.tools {
            tool.check()?;
        }

        Ok(parsed)
    }

    /// Checks the names of the pod and of its tools.
    fn check_names(&self) -> Result<(), DescriptionError> {
        let is_short = |it: &str| !it.is_empty() && it.len() <= MAX_NAME_CHARS;
        if !is_short(&self.name) || self.version.len() > MAX_NAME_CHARS {
            return Err(invalid_name(&self.name));
        }

        for PodTool { name, .. } in &self.tools {
            let is_free = !name.starts_with(RESERVED);
            if !is_short(name) || !name.chars().all(is_plain) || !is_free {
                return Err(invalid_name(name));
            }
        }
        Ok(())
    }

    /// Checks that no two tools have the same name.
    fn check_duplicates(&self) -> Result<(), DescriptionError> {
        let mut names: Vec<_> = self.tools.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        match names.array_windows().find(|[a, b]| a == b) {
            Some([duplicate, _]) => Err(DescriptionError::Name((*duplicate).to_owned())),
            None => Ok(()),
        }
    }
}

impl OfferedSkill {
    fn check(&self) -> Result<(), DescriptionError> {
        let Self { name, timeout_seconds } = self;
        let has_length = (1..=MAX_SKILL_CHARS).contains(&name.len());
        if !has_length || !name.chars().all(|it| is_plain(it) || it == '.') {
            return Err(invalid_name(name));
        }
        if timeout_seconds.is_some_and(|it| !(1..=MAX_SKILL_SECONDS).contains(&it)) {
            let reason = format!("timeoutSeconds of {name} is not 1 to {MAX_SKILL_SECONDS}");
            return Err(DescriptionError::Malformed(reason));
        }
        Ok(())
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

/// Returns the error for a name, which is cut.
fn invalid_name(name: &str) -> DescriptionError {
    DescriptionError::Name(name.chars().take(MAX_NAME_CHARS).collect())
}

/// Removes members that are null, which count as absent. Schemas stay as they are.
fn remove_nulls(description: &mut Value) {
    let Value::Object(members) = description else { return };
    members.retain(|_, it| !it.is_null());
    let tools = members.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten().filter_map(Value::as_object_mut) {
        tool.retain(|_, it| !it.is_null());
    }
}

/// Returns whether a text contains NUL, which PostgreSQL does not store.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(key, it)| key.contains('\0') || has_nul(it)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl PodDescription {
    /// Describes a server of tools. Those with an invalid description, and those beyond
    /// the size of a pod's description, are left out.
    pub fn of_server(name: &str, mut tools: Vec<PodTool>, max_concurrent_calls: u32) -> Self {
        let mut size = 0;
        tools.truncate(MAX_TOOLS);

        tools.retain(|it| {
            size += it.size();
            size <= MAX_SERVER_BYTES && it.check().is_ok()
        });

        Self {
            protocol: PROTOCOL,
            name: name.chars().take(MAX_NAME_CHARS).collect(),
            version: String::new(),
            tools,
            skills: Vec::new(),
            max_concurrent_calls,
        }
    }
}

impl PodTool {
    /// Returns the length of its texts.
    fn size(&self) -> usize {
        let schemas = [Some(&self.parameters), self.output_schema.as_ref()].into_iter().flatten();
        self.description.len() + schemas.map(|it| it.to_string().len()).sum::<usize>()
    }

    fn check(&self) -> Result<(), DescriptionError> {
        let is_described =
            !self.description.is_empty() && self.description.len() <= MAX_DESCRIPTION_CHARS;
        let has_limit = (1..=MAX_SECONDS).contains(&self.timeout_seconds);
        let schemas = [Some(&self.parameters), self.output_schema.as_ref()].into_iter();
        let is_valid = schemas.flatten().all(schema::is_schema) && takes_object(&self.parameters);
        if is_described && has_limit && is_valid {
            return Ok(());
        }
        Err(DescriptionError::Tool(self.name.clone()))
    }
}

/// Returns whether the `type` of a schema, if it has one, permits an object.
fn takes_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|it| it == "object"),
        Some(name) => name == "object",
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn description() -> Value {
        json!({
            "protocol": 1, "name": "weather-pod", "version": "1.2.3",
            "tools": [{
                "name": "forecast", "description": "Returns the forecast of a city.",
                "parameters": { "type": "object", "properties": { "city": { "type": "string" } } },
            }],
            "skills": ["travel-plan"],
        })
    }

    #[test]
    fn a_description_has_defaults() {
        let parsed = PodDescription::parse(description()).unwrap();
        assert_eq!(parsed.max_concurrent_calls, 1);
        let tool = &parsed.tools[0];
        assert!(!tool.dangerous);
        assert!(!tool.idempotent);
        assert_eq!(tool.timeout_seconds, 30);
    }

    #[test]
    fn a_null_counts_as_absent() {
        let mut absent = description();
        absent["tools"][0]["parameters"]["default"] = Value::Null;
        let mut with_nulls = absent.clone();
        with_nulls["maxConcurrentCalls"] = Value::Null;
        for name in ["outputSchema", "dangerous", "idempotent", "timeoutSeconds"] {
            with_nulls["tools"][0][name] = Value::Null;
        }

        let parsed = PodDescription::parse(with_nulls).unwrap();
        assert_eq!(parsed, PodDescription::parse(absent).unwrap());
        assert_eq!(parsed.tools[0].parameters.get("default"), Some(&Value::Null));

        let bare = json!({ "protocol": 1, "name": "a", "version": null, "tools": null,
            "skills": null });
        let parsed = PodDescription::parse(bare).unwrap();
        assert!(parsed.version.is_empty() && parsed.tools.is_empty() && parsed.skills.is_empty());
    }

    #[test]
    fn invalid_descriptions_are_refused() {
        let refused = |pointer: &str, value: Value| {
            let mut changed_description = description();
            *changed_description.pointer_mut(pointer).unwrap() = value;
            PodDescription::parse(changed_description).unwrap_err()
        };
        assert_eq!(refused("/protocol", json!(2)), DescriptionError::Protocol(1));
        for (pointer, value) in [
            ("/name", json!("")),
            ("/tools/0/name", json!("pia_search")),
            ("/tools/0/name", json!("two words")),
            ("/skills/0", json!("a".repeat(101))),
            ("/skills/0", json!("two/words")),
        ] {
            assert!(matches!(refused(pointer, value), DescriptionError::Name(_)), "{pointer}");
        }
        let tool = description()["tools"][0].clone();
        let twice = refused("/tools", json!([tool, tool]));
        assert_eq!(twice, DescriptionError::Name("forecast".to_owned()));
        for (pointer, value) in [
            ("/tools/0/parameters", json!("string")),
            ("/tools/0/parameters", json!({ "type": "no such type" })),
            ("/tools/0/parameters", json!({ "type": "string" })),
            ("/tools/0/parameters", json!({ "type": ["array", "null"] })),
            ("/tools/0/description", json!("")),
        ] {
            assert!(matches!(refused(pointer, value), DescriptionError::Tool(_)), "{pointer}");
        }
        assert_eq!(refused("/tools", json!(vec![tool; 101])), DescriptionError::TooMany);
        assert!(matches!(refused("/tools", json!(3)), DescriptionError::Malformed(_)));
        let mut idle = description();
        idle["maxConcurrentCalls"] = json!(0);
        let error = PodDescription::parse(idle).unwrap_err();
        assert!(matches!(error, DescriptionError::Malformed(_)));
        let unlimited = json!({ "name": "travel-plan", "timeoutSeconds": 86_401 });
        assert!(matches!(refused("/skills/0", unlimited), DescriptionError::Malformed(_)));
        let with_nul = json!({ "type": "object", "pattern\0": 1 });
        let error = refused("/tools/0/parameters", with_nul);
        assert!(matches!(error, DescriptionError::Malformed(_)));
        let mut allowed = description();
        let limited = json!({ "name": "hotel", "timeoutSeconds": 90 });
        allowed["skills"] = json!(["pia_travel.plan", limited]);
        allowed["tools"][0]["parameters"] = json!({ "pattern": "^[^\\u0000]*$" });
        let parsed = PodDescription::parse(allowed.clone()).unwrap();
        assert_eq!(parsed.skills[1].timeout_seconds, Some(90));
        // Stored as it came, which earlier versions read.
        assert_eq!(serde_json::to_value(&parsed).unwrap()["skills"], allowed["skills"]);
    }
}
