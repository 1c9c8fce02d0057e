//! HTTP errors of groups.

use actix_web::http::StatusCode;
use pia_policy::{GroupError, GroupUse, SettingsError};
use pia_web::{ApiError, FieldError};
use serde_json::Map;

use crate::HttpError;

impl From<GroupError> for HttpError {
    fn from(err: GroupError) -> Self {
        let invalid = |field: &str, message: String| {
            let field = field.to_owned();
            ApiError::invalid(vec![FieldError { field, code: "invalid", message }])
        };

        let conflict = |code, message: &str| ApiError::refused(StatusCode::CONFLICT, code, message);
        Self::from(match err {
            GroupError::Name(err) => invalid("name", err.to_string()),
            GroupError::Settings(err) => invalid(field_of(err), err.to_string()),
            GroupError::ExternalId => invalid("externalId", err.to_string()),
            GroupError::ExternalIdTaken => {
                conflict("external_id_taken", "Another group has this external id.")
            }
            GroupError::NameTaken => conflict("name_taken", "Another group has this name."),
            GroupError::Unknown | GroupError::UnknownAccount => ApiError::not_found(),
            GroupError::IsDefault => {
                conflict("default_group", "The group of new accounts can't be deleted.")
            }
            GroupError::InUse(by) => {
                let GroupUse { members, invitations, personas, plugins, knowledge_bases } = by;
                let uses: Map<_, _> = [
                    ("members", members),
                    ("invitations", invitations),
                    ("managedPersonas", personas),
                    ("plugins", plugins),
                    ("knowledgeBases", knowledge_bases),
                ]
                .into_iter()
                .filter(|(_, number)| *number > 0)
                .map(|(name, number)| (name.to_owned(), number.into()))
                .collect();

                conflict("group_in_use", &format!("The group is in use, by {by}."))
                    .with("usedBy", uses)
            }
            GroupError::Unavailable(err) => err.into(),
        })
    }
}

fn field_of(err: SettingsError) -> &'static str {
    match err {
        SettingsError::Limit | SettingsError::Entry => "",
        SettingsError::Mode => "modes",
        SettingsError::PersonaType | SettingsError::TooManyTypes => "personaTypes",
        SettingsError::TooManyModels => "models",
    }
}
