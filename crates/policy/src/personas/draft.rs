//! Contents of a persona, and their rules.
//!
//! A draft has all fields optional; `validate` fills in defaults and collects all
//! violations, so that a form can mark every wrong field at once.

use serde::Serialize;

use crate::violation::{FormCheck, Violation};

const MAX_NAME_CHARS: usize = 255;
const MAX_TAGLINE_CHARS: usize = 280;
const MAX_PROMPT_CHARS: usize = 20_000;
const MAX_GUARDRAILS_CHARS: usize = 5000;
const MAX_OUTPUT_FORMAT_CHARS: usize = 5000;
const MAX_EXPERTISE: usize = 16;
const MAX_EXPERTISE_CHARS: usize = 100;
const MAX_MODEL_TYPE_CHARS: usize = 50;
const MAX_EMOJI_CHARS: usize = 32;
const ARCHETYPES: [&str; 6] =
    ["assistant", "analyst", "creative", "visionary", "explainer", "custom"];
/// Tool scope of a persona without tools.
const NO_TOOLS: i32 = 0;
/// Tool scope of a persona with all tools.
const FULL_TOOL_SCOPE: i32 = 2;

/// Contents of a persona as an administrator sent them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the fields of `PublishedPersona` and its contents")]
pub struct PersonaDraft {
    pub name: Option<String>,
    pub tagline: Option<String>,
    pub system_prompt: Option<String>,
    pub guardrails: Option<String>,
    pub output_format: Option<String>,
    pub expertise: Option<Vec<String>>,
    pub archetype: Option<String>,
    pub model_type: Option<String>,
    pub emoji: Option<String>,
    pub accent_color: Option<String>,
    pub tool_scope: Option<i32>,
    pub reasoning_effort: Option<i32>,
    pub schema_version: Option<i32>,
    pub is_active: Option<bool>,
}

/// Contents of a persona.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonaContent {
    /// Name of up to 255 characters.
    pub name: String,
    /// Line under the name, of up to 280 characters.
    pub tagline: Option<String>,
    /// Instructions for the model, of up to 20,000 characters.
    pub system_prompt: String,
    /// Limits of the model's behaviour, of up to 5,000 characters.
    pub guardrails: Option<String>,
    /// Form of the answers, of up to 5,000 characters.
    pub output_format: Option<String>,
    /// Up to 16 subjects, each of up to 100 characters.
    pub expertise: Option<Vec<String>>,
    /// One of `assistant`, `analyst`, `creative`, `visionary`, `explainer`
    /// and `custom`.
    pub archetype: Option<String>,
    /// Type by which a group's settings choose the model, of up to 50
    /// characters.
    pub model_type: Option<String>,
    /// Emoji that represents it, of up to 32 characters.
    pub emoji: Option<String>,
    /// Colour, as `#RRGGBB`.
    pub accent_color: Option<String>,
    /// Tools that it may use: 0 none, 1 read-only ones, 2 all.
    pub tool_scope: i32,
    /// Reasoning effort from 0 (none) to 5; `None` for the model's default.
    pub reasoning_effort: Option<i32>,
    /// Version of the fields' meaning, 1.
    pub schema_version: i32,
}

impl PersonaDraft {
    /// Validates the contents and trims their texts. Lists every violation.
    pub fn validate(self) -> Result<PersonaContent, Vec<Violation>> {
        let mut check = FormCheck::default();
        let name = check.line("name", self.name, MAX_NAME_CHARS);
        let prompt = check.text("systemPrompt", self.system_prompt, MAX_PROMPT_CHARS);
        let content = PersonaContent {
            name: check.required("name", name),
            tagline: check.line("tagline", self.tagline, MAX_TAGLINE_CHARS),
            system_prompt: check.required("systemPrompt", prompt),
            guardrails: check.text("guardrails", self.guardrails, MAX_GUARDRAILS_CHARS),
            output_format: check.text("outputFormat", self.output_format, MAX_OUTPUT_FORMAT_CHARS),
            expertise: self.expertise.map(|it| expertise(&mut check, it)),
            archetype: check.line("archetype", self.archetype, MAX_EXPERTISE_CHARS),
            model_type: check.line("modelType", self.model_type, MAX_MODEL_TYPE_CHARS),
            emoji: check.line("emoji", self.emoji, MAX_EMOJI_CHARS),
            accent_color: self.accent_color,
            tool_scope: self.tool_scope.unwrap_or(FULL_TOOL_SCOPE),
            reasoning_effort: self.reasoning_effort,
            schema_version: self.schema_version.unwrap_or(1),
        };
        content.check_choices(&mut check);

        if check.violations.is_empty() { Ok(content) } else { Err(check.violations) }
    }
}

impl PersonaContent {
    /// Returns whether the persona may use tools.
    pub fn uses_tools(&self) -> bool {
        self.tool_scope != NO_TOOLS
    }

    fn check_choices(&self, check: &mut FormCheck) {
        let archetype = self.archetype.as_deref().is_none_or(|it| ARCHETYPES.contains(&it));
        check.rule("archetype", archetype, &format!("Choose one of {}.", ARCHETYPES.join(", ")));
        let color = self.accent_color.as_deref().is_none_or(is_color);
        check.rule("accentColor", color, "Enter a colour as #RRGGBB.");
        let scope = (NO_TOOLS..=FULL_TOOL_SCOPE).contains(&self.tool_scope);
        check.rule("toolScope", scope, "toolScope must be 0, 1 or 2.");
        let effort = self.reasoning_effort.is_none_or(|it| (0..=5).contains(&it));
        check.rule("reasoningEffort", effort, "reasoningEffort must be from 0 to 5.");
        check.rule("schemaVersion", self.schema_version == 1, "schemaVersion must be 1.");
    }
}

fn expertise(check: &mut FormCheck, subjects: Vec<String>) -> Vec<String> {
    if subjects.len() > MAX_EXPERTISE {
        let message = format!("expertise must have at most {MAX_EXPERTISE} entries.");
        check.refuse("expertise", "too_many", message);
    }
    subjects
        .into_iter()
        .take(MAX_EXPERTISE)
        .filter_map(|it| check.line("expertise", Some(it), MAX_EXPERTISE_CHARS))
        .collect()
}

fn is_color(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('#') else { return false };
    digits.len() == 6 && digits.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> PersonaDraft {
        PersonaDraft {
            name: Some(" Ada ".to_owned()),
            system_prompt: Some("Be exact.".to_owned()),
            ..PersonaDraft::default()
        }
    }

    fn fields(draft: PersonaDraft) -> Vec<&'static str> {
        draft.validate().unwrap_err().into_iter().map(|it| it.field).collect()
    }

    #[test]
    fn a_persona_needs_a_name_and_a_prompt_alone() {
        let content = draft().validate().unwrap();

        assert_eq!(content.name, "Ada");
        assert_eq!(content.tool_scope, 2);
        assert_eq!(content.schema_version, 1);
        assert_eq!(content.archetype, None);
        assert_eq!(fields(PersonaDraft::default()), ["name", "systemPrompt"]);
    }

    #[test]
    fn every_field_has_its_limit() {
        let long = |max: usize| Some("x".repeat(max + 1));
        let wrong = PersonaDraft {
            name: long(MAX_NAME_CHARS),
            tagline: long(MAX_TAGLINE_CHARS),
            system_prompt: long(MAX_PROMPT_CHARS),
            guardrails: long(MAX_GUARDRAILS_CHARS),
            output_format: long(MAX_OUTPUT_FORMAT_CHARS),
            expertise: Some(vec![String::new(); MAX_EXPERTISE + 1]),
            archetype: Some("villain".to_owned()),
            model_type: long(MAX_MODEL_TYPE_CHARS),
            emoji: Some("a\u{7}".to_owned()),
            accent_color: Some("#12345g".to_owned()),
            tool_scope: Some(3),
            reasoning_effort: Some(-1),
            schema_version: Some(2),
            is_active: None,
        };

        let mut refused_fields = fields(wrong);
        refused_fields.sort_unstable();
        let mut all_fields = [
            "name",
            "tagline",
            "systemPrompt",
            "guardrails",
            "outputFormat",
            "expertise",
            "archetype",
            "modelType",
            "emoji",
            "accentColor",
            "toolScope",
            "reasoningEffort",
            "schemaVersion",
        ];
        all_fields.sort_unstable();
        assert_eq!(refused_fields, all_fields);
    }
}
