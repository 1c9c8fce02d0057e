//! Errors of a request at the fields of the form that sent it.

use pia_kernel::Language;
use pia_web::ApiError;

use crate::account::owner_proofs::MISSING;
use crate::proof::{PROOF, SECRET_VALUE};
use crate::texts::{errors, field_errors};
use crate::ui::form::FieldControl;
use crate::ui::{ErrorText, Field, View};

/// Errors of a wrong proof of ownership.
const WRONG_PROOFS: [&str; 2] = ["invalid_proof", "invalid_password"];
/// Fields that take a proof of ownership.
const PROOF_FIELDS: [&str; 2] = [PROOF, "currentPassword"];

/// Attaches the errors of fields to the forms of a page, and returns the text above the page
/// if it is not that of the error: the first error of a field that no form has, or a reference
/// to the field of a wrong proof. The JSON API reports errors of the proof of ownership and of
/// a secret's value under other names.
pub(crate) fn attach_errors(
    language: Language,
    view: &mut View,
    err: &ApiError,
) -> Option<ErrorText> {
    let (code, _) = err.code_and_message();
    if WRONG_PROOFS.contains(&code) {
        let error_text = errors::text(language, err);
        let wrong_password = ErrorText::new(errors::WRONG_PASSWORD.of(language));
        let proof_fields =
            view.displayed_fields_mut().filter(|it| PROOF_FIELDS.contains(&it.name.as_str()));
        let mut has_field = false;
        for field in proof_fields {
            let is_password = takes_password_only(field);
            field.set_error(if is_password { &wrong_password } else { &error_text });
            has_field = true;
        }
        return has_field.then(|| ErrorText::new(errors::MARKED_FIELDS.of(language)));
    }

    let body = err.body();
    let invalid_fields = body.get("errors").and_then(|it| it.as_array());
    let mut unattached = None;
    for error in invalid_fields.into_iter().flatten() {
        let text = |key| error.get(key).and_then(|it| it.as_str()).unwrap_or_default();
        let is_proof =
            text("code") == "required" && ["", "password", PROOF].contains(&text("field"));
        let name = if is_proof { PROOF } else { text("field") };
        let error_text = if is_proof {
            ErrorText::new(MISSING.of(language))
        } else {
            field_errors::field_text(language, text("field"), text("code"), text("message"))
        };

        let mut has_field = false;
        let is_named =
            |field: &Field| field.name == name || (name == "value" && field.name == SECRET_VALUE);
        for field in view.displayed_fields_mut().filter(|it| is_named(it)) {
            field.set_error(&error_text);
            has_field = true;
        }
        if code == "validation_failed" && !has_field {
            unattached = unattached.or(Some(error_text));
        }
    }

    unattached
}

/// Returns whether a field for a proof takes a password only: others name the codes that they
/// take in a hint.
fn takes_password_only(field: &Field) -> bool {
    matches!(field.control, FieldControl::Input { kind: "password", .. }) && field.hint.is_empty()
}
