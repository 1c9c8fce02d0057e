//! Fields of a skill: its name, mode, inputs and steps.

use pia_assignments::{EntityType, Skill, SkillMode, SkillStep};
use pia_kernel::Language;
use pia_web::ApiError;

use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Form, Text};

/// Maximum number of steps of a skill.
const MAX_STEPS: usize = 50;
/// Number of empty steps below the steps of the skill.
const EMPTY_STEPS: usize = 2;

/// Skill as it was typed.
#[derive(Default)]
pub(super) struct TypedSkill {
    name: String,
    mode: String,
    inputs: Vec<String>,
    steps: Vec<TypedStep>,
}

/// Step as it was typed.
#[derive(Default)]
struct TypedStep {
    title: String,
    instructions: String,
    /// Maximum number of tokens of its output; empty for none.
    max_output: String,
}

impl TypedSkill {
    /// Returns the skill of a form. Empty steps are left out.
    pub(super) fn of_form(form: &FormFields) -> Self {
        let steps = (1..=MAX_STEPS).map(|number| TypedStep {
            title: form.text(&format!("title{number}")).to_owned(),
            instructions: form.text(&format!("instructions{number}")).to_owned(),
            max_output: form.text(&format!("maxOutput{number}")).to_owned(),
        });
        Self {
            name: form.text("skillName").to_owned(),
            mode: form.text("mode").to_owned(),
            inputs: form.all("inputTypes").map(str::to_owned).collect(),
            steps: steps.filter(|it| !it.title.is_empty() || !it.instructions.is_empty()).collect(),
        }
    }

    /// Returns the skill to be edited.
    pub(super) fn of_skill(skill: &Skill) -> Self {
        let steps = skill.steps.iter().map(|step| TypedStep {
            title: step.title.clone(),
            instructions: step.instructions.clone(),
            max_output: step.max_output.map(|it| it.to_string()).unwrap_or_default(),
        });
        Self {
            name: skill.name.clone(),
            mode: skill.mode.name().to_owned(),
            inputs: skill.declared_input_types.iter().map(|it| it.name().to_owned()).collect(),
            steps: steps.collect(),
        }
    }

    /// Parses the skill. Its rules are checked by the use case. Errors are in this language.
    pub(super) fn parse(self, language: Language) -> Result<Skill, ApiError> {
        let mode = SkillMode::ALL.into_iter().find(|it| it.name() == self.mode);
        let inputs = self.inputs.iter().filter_map(|it| EntityType::from_name(it)).collect();
        let numbered_steps = (1..).zip(self.steps);
        let steps = numbered_steps.map(|(number, it)| it.parse(number, language));
        Ok(Skill {
            name: self.name,
            mode: mode.unwrap_or(SkillMode::Assistant),
            declared_input_types: inputs,
            steps: steps.collect::<Result<_, _>>()?,
            host: None,
        })
    }
}

impl TypedStep {
    fn parse(self, number: usize, language: Language) -> Result<SkillStep, ApiError> {
        let max_output = match self.max_output.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_err| {
                field_error(language, format!("maxOutput{number}"), common::WHOLE_NUMBER)
            })?),
        };
        Ok(SkillStep { title: self.title, instructions: self.instructions, max_output })
    }
}

/// Adds the fields of a skill to a form.
pub(super) fn add_fields(page: &PageContext, form: Form, skill: &TypedSkill) -> Form {
    let modes = SkillMode::ALL.map(|it| (it.name(), page.t(mode_text(it))));

    let inputs = EntityType::ALL.map(|it| SelectOption {
        value: it.name().to_owned(),
        label: page.t(input_text(it)).to_owned(),
        is_selected: skill.inputs.iter().any(|name| name == it.name()),
    });

    let mut form = form
        .field(Field::text("skillName", page.t(NAME), &*skill.name).hint(page.t(NAME_HINT)))
        .field(Field::select("mode", page.t(MODE), modes, &skill.mode))
        .field(Field::checks("inputTypes", page.t(INPUTS), inputs.into()));

    let empty_steps: Vec<_> =
        std::iter::repeat_with(TypedStep::default).take(EMPTY_STEPS).collect();
    for (index, step) in skill.steps.iter().chain(&empty_steps).take(MAX_STEPS).enumerate() {
        let [mut title, instructions, max_output] = step_fields(page, index + 1, step);
        let is_first_empty = index == skill.steps.len();
        if is_first_empty {
            title = title.hint(page.t(STEP_HINT));
        }
        form = form.field(title).field(instructions).field(max_output);
    }

    form
}

/// Returns the fields of a step: its title, instructions and maximum output.
fn step_fields(page: &PageContext, number: usize, step: &TypedStep) -> [Field; 3] {
    let label = |text: Text| page.fill(text, &[&number.to_string()]);
    let title = Field::text(&format!("title{number}"), label(STEP_TITLE), step.title.as_str());
    let instructions = Field::lines(
        &format!("instructions{number}"),
        label(INSTRUCTIONS),
        step.instructions.as_str(),
    );
    let max_output = Field::input(
        &format!("maxOutput{number}"),
        label(MAX_OUTPUT),
        "number",
        "off",
        step.max_output.as_str(),
    );

    [title.optional(), instructions.optional(), max_output.optional()]
}

pub(super) fn mode_text(mode: SkillMode) -> Text {
    match mode {
        SkillMode::Assistant => Text::new("Assistant", "Assistent"),
        SkillMode::Research => Text::new("Research", "Recherche"),
    }
}

fn input_text(entity: EntityType) -> Text {
    match entity {
        EntityType::AssistantChat => Text::new("Chats", "Chats"),
        EntityType::Session => Text::new("Recorded sessions", "Aufgezeichnete Sitzungen"),
        EntityType::Memory => Text::new("Memories", "Erinnerungen"),
        EntityType::Todo => Text::new("Tasks", "Aufgaben"),
        EntityType::Template => Text::new("Templates", "Vorlagen"),
    }
}

const NAME: Text = Text::new("Skill name", "Name der Fähigkeit");
const NAME_HINT: Text = Text::new(
    "Clients refer to the skill by this name. Use letters, digits, hyphens, dots and underscores.",
    "Unter diesem Namen sprechen Clients die Fähigkeit an. Verwenden Sie Buchstaben ohne Umlaute, \
     Ziffern, Bindestriche, Punkte und Unterstriche.",
);
const MODE: Text = Text::new("Mode", "Modus");
const INPUTS: Text = Text::new("Accepted attachments", "Erlaubte Anhänge");
const STEP_TITLE: Text = Text::new("Step {}: title", "Schritt {}: Titel");
const STEP_HINT: Text = Text::new(
    "Steps without title and instructions are left out. After saving, there is room for more.",
    "Schritte ohne Titel und Anweisungen entfallen. Nach dem Speichern ist Platz für weitere.",
);
const INSTRUCTIONS: Text = Text::new("Step {}: instructions", "Schritt {}: Anweisungen");
const MAX_OUTPUT: Text = Text::new("Step {}: maximum tokens", "Schritt {}: maximale Tokenzahl");

#[cfg(test)]
mod tests {
    use super::*;

    fn form_with(fields: &[(&str, &str)]) -> FormFields {
        let pairs = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        FormFields::from_pairs(pairs.collect())
    }

    #[test]
    fn empty_steps_are_left_out_and_a_skill_survives_its_form() {
        let form = form_with(&[
            ("skillName", "brief"),
            ("mode", "Research"),
            ("inputTypes", "todo"),
            ("title1", "Read"),
            ("instructions1", "Read it."),
            ("title2", ""),
            ("title3", "Write"),
            ("instructions3", "Write it."),
            ("maxOutput3", "900"),
        ]);

        let skill = TypedSkill::of_form(&form).parse(Language::En).unwrap();

        let steps: Vec<_> = skill.steps.iter().map(|it| (&*it.title, it.max_output)).collect();
        assert_eq!(steps, [("Read", None), ("Write", Some(900))]);
        assert_eq!(skill.declared_input_types, [EntityType::Todo]);
        assert_eq!(TypedSkill::of_skill(&skill).parse(Language::En).unwrap(), skill);
    }

    #[test]
    fn a_limit_that_is_no_number_is_refused_at_its_field() {
        let form = form_with(&[("title1", "Read"), ("maxOutput1", "many")]);

        let err = TypedSkill::of_form(&form).parse(Language::De).unwrap_err();

        let body = err.body();
        let error = &body["errors"][0];
        assert_eq!(error["field"], "maxOutput1");
        assert_eq!(error["message"], "Geben Sie eine ganze Zahl ein.");
    }
}
