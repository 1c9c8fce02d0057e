//! Filter of a list by a person, whose address or id the query names.

use pia_identity::RoleError;
use pia_kernel::UserId;
use pia_web::ApiError;
use uuid::Uuid;

use crate::page_context::PageContext;
use crate::ui::{Field, Text};

/// Parameter with the address or id.
const USER: &str = "user";

/// Filter of a list by a person.
pub(super) struct PersonFilter {
    /// Person; `None` selects all.
    pub(super) user: Result<Option<UserId>, UnknownPerson>,
    /// Field as it was typed, with its error.
    pub(super) field: Field,
    /// True if the query names a person, also an unknown one.
    pub(super) is_set: bool,
}

/// Error: no account has the address.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnknownPerson;

impl PersonFilter {
    /// Returns the filter of a request.
    pub(super) async fn requested(page: &PageContext) -> Result<Self, ApiError> {
        let person = page.query(USER).trim().to_owned();
        let is_set = !person.is_empty();
        let user = if is_set {
            find_user(page, &person).await?.map(Some).ok_or(UnknownPerson)
        } else {
            Ok(None)
        };
        let mut field = Field::text(USER, page.t(PERSON), person).optional();
        if user.is_err() {
            page.t(UNKNOWN_PERSON).clone_into(&mut field.error);
        }
        Ok(Self { user, field, is_set })
    }
}

/// Finds an account by its email address; an id is not looked up.
pub(super) async fn find_user(
    page: &PageContext,
    person: &str,
) -> Result<Option<UserId>, ApiError> {
    if let Ok(id) = Uuid::try_parse(person) {
        return Ok(Some(UserId(id)));
    }
    // PostgreSQL stores no NUL, so no address contains one.
    if person.contains('\0') {
        return Ok(None);
    }

    let email = person.to_owned();
    let account = page
        .run(|api| async move {
            match api.administration.roles.member(&email).await {
                Err(RoleError::Unknown) => Ok(None),
                result => result.map(Some),
            }
        })
        .await?;
    Ok(account.map(|it| it.user))
}

const PERSON: Text = Text::new("Email address", "E-Mail-Adresse");
pub(super) const UNKNOWN_PERSON: Text =
    Text::new("No account has this address.", "Kein Konto hat diese Adresse.");
