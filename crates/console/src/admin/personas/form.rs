//! Form of a managed persona.

use pia_policy::{PersonaContent, PersonaDraft, PublishedPersona};

use super::super::bindings::ACTIVE;
use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Form, Text};

/// Parses the contents of a persona. Empty fields are `None`.
pub(super) fn typed_draft(form: &FormFields) -> PersonaDraft {
    let subjects: Vec<String> = form
        .text("expertise")
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect();
    PersonaDraft {
        name: form.some("name"),
        tagline: form.some("tagline"),
        system_prompt: form.some("systemPrompt"),
        guardrails: form.some("guardrails"),
        output_format: form.some("outputFormat"),
        expertise: Some(subjects).filter(|it| !it.is_empty()),
        archetype: form.some("archetype"),
        model_type: form.some("modelType"),
        emoji: form.some("emoji"),
        accent_color: form.some("accentColor"),
        tool_scope: form.text("toolScope").parse().ok(),
        reasoning_effort: form.text("reasoningEffort").parse().ok(),
        schema_version: None,
        is_active: Some(form.all("isActive").next().is_some()),
    }
}

/// Returns the stored contents of a persona as values of a form.
pub(super) fn stored_draft(persona: PublishedPersona) -> PersonaDraft {
    let PersonaContent { name, system_prompt, .. } = persona.content;
    PersonaDraft {
        name: Some(name),
        tagline: persona.content.tagline,
        system_prompt: Some(system_prompt),
        guardrails: persona.content.guardrails,
        output_format: persona.content.output_format,
        expertise: persona.content.expertise,
        archetype: persona.content.archetype,
        model_type: persona.content.model_type,
        emoji: persona.content.emoji,
        accent_color: persona.content.accent_color,
        tool_scope: Some(persona.content.tool_scope),
        reasoning_effort: persona.content.reasoning_effort,
        schema_version: Some(persona.content.schema_version),
        is_active: Some(persona.is_active),
    }
}

/// Adds the fields of a persona to a form.
pub(super) fn with_fields(page: &PageContext, form: Form, draft: PersonaDraft) -> Form {
    let text = |name, label: Text, value: Option<String>| {
        Field::text(name, page.t(label), value.unwrap_or_default())
    };
    let lines = |name, label: Text, hint: Text, value: Option<String>| {
        Field::lines(name, page.t(label), value.unwrap_or_default()).hint(page.t(hint))
    };

    let expertise = draft.expertise.map(|it| it.join("\n"));
    let tagline = text("tagline", TAGLINE, draft.tagline).hint(page.t(TAGLINE_HINT));
    let model = text("modelType", MODEL_TYPE, draft.model_type).hint(page.t(MODEL_TYPE_HINT));
    let color = text("accentColor", COLOR, draft.accent_color).hint(page.t(COLOR_HINT));
    let prompt = lines("systemPrompt", PROMPT, PROMPT_HINT, draft.system_prompt);
    let guardrails = lines("guardrails", GUARDRAILS, GUARDRAILS_HINT, draft.guardrails);
    let output = lines("outputFormat", FORMAT, FORMAT_HINT, draft.output_format);
    let expertise = lines("expertise", EXPERTISE, EXPERTISE_HINT, expertise);

    let scope = draft.tool_scope.unwrap_or(2).to_string();
    let effort = draft.reasoning_effort.map(|it| it.to_string()).unwrap_or_default();
    let archetype = draft.archetype.unwrap_or_default();

    form.field(text("name", common::NAME, draft.name))
        .field(tagline.optional())
        .field(prompt.rows(16))
        .field(guardrails.rows(6).optional())
        .field(output.rows(6).optional())
        .field(expertise.rows(4).optional())
        .field(select(page, "archetype", ARCHETYPE, &ARCHETYPES, &archetype).optional())
        .field(model.optional())
        .field(text("emoji", EMOJI, draft.emoji).optional())
        .field(color.optional())
        .field(select(page, "toolScope", TOOLS, &TOOL_SCOPES, &scope))
        .field(select(page, "reasoningEffort", EFFORT, &EFFORTS, &effort).optional())
        .field(active_field(page, draft.is_active.unwrap_or(true)))
}

fn select(
    page: &PageContext,
    name: &str,
    label: Text,
    options: &[(&'static str, Text)],
    selected: &str,
) -> Field {
    let options = options.iter().map(|(value, label)| (*value, page.t(*label)));
    Field::select(name, page.t(label), options, selected)
}

fn active_field(page: &PageContext, is_active: bool) -> Field {
    let label = page.t(ACTIVE).to_owned();
    let option = SelectOption { value: "true".to_owned(), label, is_selected: is_active };
    Field::checks("isActive", page.t(common::STATUS), vec![option]).hint(page.t(STATE_HINT))
}

const TAGLINE: Text = Text::new("Tagline", "Untertitel");
const TAGLINE_HINT: Text = Text::new(
    "A line below the name in the apps, at most 280 characters.",
    "Eine Zeile unter dem Namen in den Apps, höchstens 280 Zeichen.",
);
const PROMPT: Text = Text::new("Instructions", "Anweisungen");
const PROMPT_HINT: Text = Text::new(
    "System prompt: who the assistant is and what it does. At most 20,000 characters.",
    "System-Prompt: wer der Assistent ist und was er tut. Höchstens 20.000 Zeichen.",
);
const GUARDRAILS: Text = Text::new("Guardrails", "Leitplanken");
const GUARDRAILS_HINT: Text = Text::new(
    "What the assistant must not do. At most 5,000 characters.",
    "Was der Assistent nicht tun darf. Höchstens 5.000 Zeichen.",
);
const FORMAT: Text = Text::new("Output format", "Ausgabeformat");
const FORMAT_HINT: Text = Text::new(
    "The form of its answers, such as lists or a tone. At most 5,000 characters.",
    "Die Form der Antworten, etwa Listen oder ein Tonfall. Höchstens 5.000 Zeichen.",
);
const EXPERTISE: Text = Text::new("Expertise", "Fachgebiete");
const EXPERTISE_HINT: Text =
    Text::new("One subject per line, at most 16.", "Ein Gebiet je Zeile, höchstens 16.");
const ARCHETYPE: Text = Text::new("Archetype", "Archetyp");
const MODEL_TYPE: Text = Text::new("Model type", "Modelltyp");
const MODEL_TYPE_HINT: Text = Text::new(
    "The settings of a group choose the model by this type.",
    "Nach diesem Typ wählen die Einstellungen einer Gruppe das Modell.",
);
const EMOJI: Text = Text::new("Emoji", "Emoji");
const COLOR: Text = Text::new("Accent colour", "Akzentfarbe");
const COLOR_HINT: Text = Text::new("Such as #1D4FA8.", "Zum Beispiel #1D4FA8.");
const TOOLS: Text = Text::new("Tools", "Werkzeuge");
const EFFORT: Text = Text::new("Reasoning effort", "Denkaufwand");
const STATE_HINT: Text = Text::new(
    "Members do not get an inactive persona.",
    "Inaktive Personas erhalten die Mitglieder nicht.",
);
const NONE: Text = Text::new("None", "Keiner");
const MODEL_DEFAULT: Text = Text::new("Default of the model", "Standard des Modells");

const ARCHETYPES: [(&str, Text); 7] = [
    ("", NONE),
    ("assistant", Text::new("Assistant", "Assistent")),
    ("analyst", Text::new("Analyst", "Analytiker")),
    ("creative", Text::new("Creative", "Kreativer")),
    ("visionary", Text::new("Visionary", "Visionär")),
    ("explainer", Text::new("Explainer", "Erklärer")),
    ("custom", Text::new("Custom", "Eigener")),
];
const TOOL_SCOPES: [(&str, Text); 3] = [
    ("0", Text::new("No tools", "Keine Werkzeuge")),
    ("1", Text::new("Read-only tools", "Nur lesende Werkzeuge")),
    ("2", Text::new("All tools", "Alle Werkzeuge")),
];
const EFFORTS: [(&str, Text); 7] = [
    ("", MODEL_DEFAULT),
    ("0", Text::new("None", "Kein Denkaufwand")),
    ("1", Text::new("1 (lowest)", "1 (niedrigster)")),
    ("2", Text::new("2", "2")),
    ("3", Text::new("3", "3")),
    ("4", Text::new("4", "4")),
    ("5", Text::new("5 (highest)", "5 (höchster)")),
];
