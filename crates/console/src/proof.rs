//! Proof that the person at the browser owns the account.

use pia_identity::{FactorAnswer, ReauthProof};
use pia_kernel::Secret;

use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::ui::{Field, Text};

/// Name of the field with the proof.
pub(crate) const PROOF: &str = "proof";

const LABEL: Text = Text::new("Confirm with your password", "Mit Ihrem Passwort bestätigen");
const HINT: Text = Text::new(
    "Or a code from your authenticator app. You can leave this empty within ten minutes of \
     signing in.",
    "Oder ein Code aus Ihrer Authenticator-App. In den ersten zehn Minuten nach der Anmeldung \
     können Sie das Feld leer lassen.",
);

/// Returns the field of a proof for [`PageContext::require_owner`].
pub(crate) fn proof_field(page: &PageContext) -> Field {
    Field::password(PROOF, page.t(LABEL), "current-password").hint(page.t(HINT)).optional()
}

/// Returns the proof in that field: a code of an authenticator app, or else a
/// password. `None` if the field is empty.
pub(crate) fn proof(fields: &FormFields) -> Option<ReauthProof> {
    let typed = fields.some(PROOF)?;
    Some(match authenticator_code(&typed) {
        Some(code) => ReauthProof::Factor(FactorAnswer::Code(code)),
        None => ReauthProof::Password(fields.secret(PROOF)),
    })
}

/// Returns a typed code of an authenticator app without its spaces; `None` if
/// the text is not six digits.
pub(crate) fn authenticator_code(typed: &str) -> Option<Secret<String>> {
    let code: String = typed.split_whitespace().collect();
    let is_code = code.len() == 6 && code.bytes().all(|it| it.is_ascii_digit());
    is_code.then(|| Secret::new(code))
}
