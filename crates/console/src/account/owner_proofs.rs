//! Proofs of ownership that an account can present.
//!
//! A page loads them, adds the matching field to its form by `with_field` or
//! `with_password`, and reads the submission by `parse` or `require`. Passkeys are
//! not among them: `proof.rs` offers those.

use pia_identity::{AccountError, LOCAL, ReauthProof};
use pia_web::ApiError;

use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::proof::{PROOF, proof};
use crate::sign_in::factor_answer;
use crate::texts::field_errors::field_error;
use crate::texts::sign_in as texts;
use crate::ui::{Field, Form, Text};

/// Proofs of ownership that an account can present. The owner of an account
/// without any must have signed in recently.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerProofs {
    /// True if the account has a password.
    pub(super) has_password: bool,
    /// True if an authenticator app is set up.
    pub(super) has_factor: bool,
}

impl OwnerProofs {
    /// Loads the proofs of the caller's account.
    pub(crate) async fn load(page: &PageContext) -> Result<Self, ApiError> {
        let user = page.user();
        page.run(|api| async move {
            let has_password = api.identity.accounts.me(user).await?.provider == LOCAL;
            let has_factor = api.identity.second_factors.overview(user).await?.is_some();
            Ok::<_, AccountError>(Self { has_password, has_factor })
        })
        .await
    }

    /// Returns whether the account has a password or an authenticator app.
    pub(crate) fn has_any(self) -> bool {
        self.has_password || self.has_factor
    }

    /// Adds a field for any proof to a form.
    pub(crate) fn with_field(self, page: &PageContext, form: Form) -> Form {
        match (self.has_password, self.has_factor) {
            (true, true) => form.field(password_field(page, PASSWORD).hint(page.t(OR_CODE))),
            _ => self.with_password(page, form),
        }
    }

    /// Adds a field for the password to a form, or for a code if the account
    /// has no password.
    pub(super) fn with_password(self, page: &PageContext, form: Form) -> Form {
        match (self.has_password, self.has_factor) {
            (true, _) => form.field(password_field(page, PASSWORD)),
            (false, true) => form.field(
                Field::input(PROOF, page.t(texts::CODE), "text", "one-time-code", "")
                    .hint(page.t(texts::CODE_HINT)),
            ),
            (false, false) => form,
        }
    }

    /// Returns the submitted proof.
    pub(crate) fn parse(self, fields: &FormFields) -> Option<ReauthProof> {
        if self.has_password || fields.some(PROOF).is_none() {
            return proof(fields);
        }
        Some(ReauthProof::Factor(factor_answer(fields, PROOF)))
    }

    /// Returns the submitted proof, or an error if there is none.
    pub(super) fn require(
        self,
        page: &PageContext,
        fields: &FormFields,
    ) -> Result<ReauthProof, ApiError> {
        self.parse(fields).ok_or_else(|| field_error(page.language, PROOF, MISSING))
    }
}

/// Returns the field of the current password in the form that changes it.
pub(super) fn current_password(page: &PageContext) -> Field {
    Field::password("currentPassword", page.t(CURRENT_PASSWORD), "current-password")
}

fn password_field(page: &PageContext, label: Text) -> Field {
    Field::password(PROOF, page.t(label), "current-password")
}

const PASSWORD: Text = Text::new("Your password", "Ihr Passwort");
const CURRENT_PASSWORD: Text = Text::new("Current password", "Aktuelles Passwort");
const OR_CODE: Text = Text::new(
    "Or the six digits from your authenticator app.",
    "Oder die sechs Ziffern aus Ihrer Authenticator-App.",
);
/// Text of the error of a form without a proof.
pub(crate) const MISSING: Text = Text::new(
    "Confirm that this is your account.",
    "Bestätigen Sie, dass dieses Konto Ihnen gehört.",
);
