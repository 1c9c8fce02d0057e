//! Errors in the document of a policy, also while it is typed.

use actix_web::HttpResponse;
use pia_http::HttpError;
use pia_kernel::Language;
use pia_policy::{ClientPolicyError, PolicyDocument, PolicyDocumentError};
use pia_web::{ApiError, FieldError, Route};

use super::licensed_form;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::ui::Text;

/// Path of the check, without the leading slash.
pub(super) const CHECK: &str = "admin/policies/check";

pub(super) fn route() -> Route {
    licensed_form("/admin/policies/check", |it| it.to(check))
}

/// Returns the error of a document as a text; an empty one if there is none.
async fn check(page: PageContext, form: FormFields) -> PageResult {
    let text = match PolicyDocument::parse(form.text("document")) {
        Ok(_) => String::new(),
        Err(err) => error_text(page.language, &err),
    };
    Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(text))
}

/// Returns the error of a policy's contents, with that of its document in a
/// language.
pub(super) fn refused(language: Language, err: ClientPolicyError) -> ApiError {
    match err {
        ClientPolicyError::Document(err) => ApiError::invalid(vec![FieldError {
            field: "document".to_owned(),
            code: "invalid_document",
            message: error_text(language, &err),
        }]),
        other => HttpError::from(other).into(),
    }
}

fn error_text(language: Language, err: &PolicyDocumentError) -> String {
    let text = match err {
        PolicyDocumentError::TooLarge => Text::new(
            "The document must have at most 64 KiB.",
            "Das Dokument darf höchstens 64 KiB groß sein.",
        ),
        PolicyDocumentError::Malformed => {
            Text::new("The document must be valid JSON.", "Das Dokument muss gültiges JSON sein.")
        }
        PolicyDocumentError::NotAnObject => Text::new(
            "The document must be a JSON object.",
            "Das Dokument muss ein JSON-Objekt sein.",
        ),
        PolicyDocumentError::UnknownSection => Text::new(
            "The document has an unknown section. The sections are “defaults” and “enforce”.",
            "Das Dokument hat einen unbekannten Abschnitt. Die Abschnitte sind „defaults“ und \
             „enforce“.",
        ),
        PolicyDocumentError::Duplicate => Text::new(
            "The document must not contain a section or setting twice.",
            "Das Dokument darf keinen Abschnitt und keine Einstellung doppelt enthalten.",
        ),
        PolicyDocumentError::SectionNotAnObject(section) => {
            let text = Text::new(
                "The section “{}” must be an object.",
                "Der Abschnitt „{}“ muss ein Objekt sein.",
            );
            return text.fill(language, &[section]);
        }
        PolicyDocumentError::DeniedSetting { section, setting } => {
            let text = Text::new(
                "The section “{}” must not set “{}”.",
                "Der Abschnitt „{}“ darf „{}“ nicht setzen.",
            );
            return text.fill(language, &[section, setting]);
        }
    };

    text.of(language).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_document_are_in_the_language_of_the_page() {
        let error = |language, document: &str| {
            let err = PolicyDocument::parse(document).err().unwrap();
            error_text(language, &err)
        };

        let list = r#"{"enforce":[]}"#;
        assert_eq!(error(Language::De, list), "Der Abschnitt „enforce“ muss ein Objekt sein.");
        assert_eq!(error(Language::En, list), "The section “enforce” must be an object.");
        assert_eq!(error(Language::De, "[]"), "Das Dokument muss ein JSON-Objekt sein.");
        let refusal = refused(Language::De, PolicyDocumentError::Malformed.into());
        let message = "Das Dokument muss gültiges JSON sein.";
        assert_eq!(refusal.code_and_message(), ("validation_failed", message));
    }
}
