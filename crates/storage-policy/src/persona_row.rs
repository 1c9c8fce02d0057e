//! Rows of `managed_personas`.

use diesel::prelude::*;
use pia_kernel::PersonaId;
use pia_policy::{PersonaContent, PublishedPersona};
use pia_storage::schema::managed_personas;
use pia_storage::{DbError, DbInstant, DbUid};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = managed_personas)]
pub(crate) struct PersonaRow {
    pub(crate) id: DbUid,
    #[diesel(embed)]
    content: ContentRow,
    is_active: bool,
    created_at: DbInstant,
    updated_at: DbInstant,
}

/// Columns of a persona's contents.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = managed_personas, treat_none_as_null = true)]
pub(crate) struct ContentRow {
    name: String,
    tagline: Option<String>,
    system_prompt: String,
    guardrails: Option<String>,
    output_format: Option<String>,
    expertise: Option<String>,
    archetype: Option<String>,
    model_type: Option<String>,
    emoji: Option<String>,
    accent_color: Option<String>,
    tool_scope: i32,
    reasoning_effort: Option<i32>,
    schema_version: i32,
}

impl TryFrom<PersonaContent> for ContentRow {
    type Error = DbError;

    fn try_from(content: PersonaContent) -> Result<Self, DbError> {
        let expertise = content
            .expertise
            .map(|it| serde_json::to_string(&it))
            .transpose()
            .map_err(|_unwritable| DbError::Unreadable("managed_personas.expertise"))?;
        Ok(Self {
            name: content.name,
            tagline: content.tagline,
            system_prompt: content.system_prompt,
            guardrails: content.guardrails,
            output_format: content.output_format,
            expertise,
            archetype: content.archetype,
            model_type: content.model_type,
            emoji: content.emoji,
            accent_color: content.accent_color,
            tool_scope: content.tool_scope,
            reasoning_effort: content.reasoning_effort,
            schema_version: content.schema_version,
        })
    }
}

impl TryFrom<PublishedPersona> for PersonaRow {
    type Error = DbError;

    fn try_from(persona: PublishedPersona) -> Result<Self, DbError> {
        Ok(Self {
            id: DbUid(persona.id.0),
            content: persona.content.try_into()?,
            is_active: persona.is_active,
            created_at: DbInstant(persona.created_at),
            updated_at: DbInstant(persona.updated_at),
        })
    }
}

impl From<PersonaRow> for PublishedPersona {
    fn from(row: PersonaRow) -> Self {
        let content = row.content;
        Self {
            id: PersonaId(row.id.0),
            content: PersonaContent {
                name: content.name,
                tagline: content.tagline,
                system_prompt: content.system_prompt,
                guardrails: content.guardrails,
                output_format: content.output_format,
                expertise: content.expertise.and_then(|it| serde_json::from_str(&it).ok()),
                archetype: content.archetype,
                model_type: content.model_type,
                emoji: content.emoji,
                accent_color: content.accent_color,
                tool_scope: content.tool_scope,
                reasoning_effort: content.reasoning_effort,
                schema_version: content.schema_version,
            },
            is_active: row.is_active,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
        }
    }
}
