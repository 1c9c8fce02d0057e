//! Built-in templates.

use uuid::Uuid;

/// Template for optimising a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// Id, the same on every server.
    pub id: Uuid,
    /// Name, by which requests may select it in any case.
    pub name: &'static str,
    /// Description for users, in English.
    pub description: &'static str,
    pub(crate) prompt: &'static str,
}

/// Returns all built-in templates, by id.
pub fn templates() -> &'static [Template] {
    &BUILT_IN
}

/// Template of requests that select none.
pub(crate) const DEFAULT: Template = Template {
    id: id(5),
    name: "Clarity & Grammar",
    description: "Makes a text clear and correct without changing its voice.",
    prompt: include_str!("prompts/clarity_and_grammar.md"),
};

const BUILT_IN: [Template; 6] = [
    Template {
        id: id(1),
        name: "Business Email",
        description: "Turns notes or a draft into a courteous, well-structured email.",
        prompt: include_str!("prompts/business_email.md"),
    },
    Template {
        id: id(2),
        name: "Community Article",
        description: "Turns notes or a draft into an article for a community or blog.",
        prompt: include_str!("prompts/community_article.md"),
    },
    Template {
        id: id(3),
        name: "Message to Friend",
        description: "Turns a draft into a warm, informal message.",
        prompt: include_str!("prompts/message_to_friend.md"),
    },
    Template {
        id: id(4),
        name: "Grammar & Spelling Fix",
        description: "Corrects mistakes and changes nothing else.",
        prompt: include_str!("prompts/grammar_and_spelling.md"),
    },
    DEFAULT,
    Template {
        id: id(6),
        name: "C# Code Prompt",
        description: "Turns a rough idea into a precise prompt for a C# coding assistant.",
        prompt: include_str!("prompts/csharp_code_prompt.md"),
    },
];

const fn id(number: u128) -> Uuid {
    Uuid::from_u128((1 << 96) | number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_known_to_clients() {
        let ids: Vec<String> = templates().iter().map(|it| it.id.to_string()).collect();

        let expected = (1..=6).map(|it| format!("00000001-0000-0000-0000-00000000000{it}"));
        assert_eq!(ids, expected.collect::<Vec<_>>());
    }

    #[test]
    fn every_template_has_a_prompt_and_a_description() {
        for template in templates() {
            assert!(template.prompt.len() > 200, "{}", template.name);
            assert!(!template.description.is_empty(), "{}", template.name);
        }
    }
}
