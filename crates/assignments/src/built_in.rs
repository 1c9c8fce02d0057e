//! Skills that the server ships. Their operators are stored at each start of a
//! server (`AssignmentAdministration::put_built_in`), so that a changed prompt
//! reaches existing databases.

use pia_kernel::{OperatorId, Timestamp};
use uuid::Uuid;

use crate::operator::Operator;
use crate::skill::{EntityType, Skill, SkillMode, SkillStep};

/// Id of the first of their operators; the others follow.
const FIRST_ID: u128 = 0x0000_0000_0000_7000_8000_0000_0000_0101;

const RESEARCH: &str = "You research a question for a colleague who reads your report later and cannot be asked. Search the \
     knowledge bases and the web with the tools that you have, more than once and with different words. Read what \
     you find, keep what answers the question, and check it against a second source where you can. Write a report \
     in Markdown, in the language of the question: the answer first, then the findings under headings, then what \
     remains open. Cite every fact with a Markdown link to the address that a tool returned. Never invent an \
     address. If nothing was found, say so.";
const COLLECT: &str = "You prepare a briefing. Collect from the material, and with the tools that you have, all facts that \
     matter for the request: names, dates, amounts, decisions, open questions. Write them as a list in Markdown, \
     each with its source. Do not write the briefing yet.";
const OUTLINE: &str = "You prepare a briefing. From the facts that were collected, write its outline: three to seven headings, \
     and under each one the facts that belong there, the most important first. Leave out what the reader does not \
     need.";
const WRITE: &str = "You write a briefing in Markdown, in the language of the request, from the outline and the facts: a summary \
     of two sentences first, then one short section for each heading of the outline. Keep the sources as Markdown \
     links. Add nothing that the facts do not say.";

/// Returns the skills that the server ships: `research` with one step, and
/// `brief` with three.
pub fn built_in_skills() -> [Skill; 2] {
    let step = |title: &str, instructions: &str| SkillStep {
        title: title.to_owned(),
        instructions: instructions.to_owned(),
        max_output: None,
    };

    [
        Skill {
            host: None,
            name: "research".to_owned(),
            mode: SkillMode::Research,
            declared_input_types: vec![
                EntityType::AssistantChat,
                EntityType::Session,
                EntityType::Memory,
            ],
            steps: vec![step("Research", RESEARCH)],
        },
        Skill {
            host: None,
            name: "brief".to_owned(),
            mode: SkillMode::Assistant,
            declared_input_types: EntityType::ALL.to_vec(),
            steps: vec![
                step("Collect facts", COLLECT),
                step("Outline", OUTLINE),
                step("Write", WRITE),
            ],
        },
    ]
}

/// Returns the operators of these skills, with ids that never change. They are
/// granted to no group.
pub(crate) fn built_in_operators(now: Timestamp) -> Vec<Operator> {
    let operator = |(number, skill): (u128, Skill)| Operator {
        id: OperatorId(Uuid::from_u128(FIRST_ID + number)),
        name: capitalised(&skill.name),
        skill,
        is_custom: false,
        is_active: true,
        groups: Vec::new(),
        webhook_url: None,
        updated_at: now,
    };
    (0..).zip(built_in_skills()).map(operator).collect()
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|it| it.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
