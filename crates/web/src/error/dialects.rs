//! Error responses in the forms of other protocols: SCIM and OpenAI's API.
//!
//! `Dialect::from_path` chooses the form. For OpenAI's clients an error may bring its
//! own `OpenAiForm`; otherwise `openai_kind` derives `type` and `code` from the
//! status.

use std::borrow::Cow;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Value, json};

use super::{ApiError, ErrorParts, OpenAiForm};

/// Codes that SCIM names the same (RFC 7644, 3.12).
const SCIM_TYPES: [&str; 7] = [
    "invalidFilter",
    "invalidPath",
    "invalidSyntax",
    "invalidValue",
    "mutability",
    "noTarget",
    "uniqueness",
];

impl ApiError {
    pub(super) fn scim_response(&self) -> HttpResponse {
        let ErrorParts { status, code, message, .. } = &*self.0;
        let mut body = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": status.as_str(),
            "detail": message,
        });

        if SCIM_TYPES.contains(code)
            && let Some(members) = body.as_object_mut()
        {
            members.insert("scimType".to_owned(), (*code).into());
        }

        self.head(*status).content_type("application/scim+json").body(body.to_string())
    }

    pub(super) fn openai_response(&self) -> HttpResponse {
        let ErrorParts { status, fields, .. } = &*self.0;
        let form = self.openai_form();

        // OpenAI's form has one field, so only the first of `errors` is named. The other members,
        // such as the time when a budget is full again, are sent in any form.
        let mut error = fields.clone();
        let field_errors = error.shift_remove("errors");
        let param = field_errors
            .as_ref()
            .and_then(|it| it.get(0)?.get("field"))
            .filter(|path| *path != "")
            .cloned();

        error.insert("message".to_owned(), form.message.into_owned().into());
        error.insert("type".to_owned(), form.kind.into());
        error.insert("code".to_owned(), form.code.into());
        error.insert("param".to_owned(), param.unwrap_or(Value::Null));

        self.head(StatusCode::from_u16(form.status).unwrap_or(*status))
            .json(json!({ "error": error }))
    }

    fn openai_form(&self) -> OpenAiForm {
        let ErrorParts { status, code, message, openai, .. } = &*self.0;
        if let Some(form) = openai {
            return form.clone();
        }

        let (kind, code) = openai_kind(*status, code);
        OpenAiForm { status: status.as_u16(), kind, code, message: Cow::Owned(message.clone()) }
    }
}

/// Returns `type` and `code` of an error for OpenAI's clients.
fn openai_kind(status: StatusCode, code: &'static str) -> (&'static str, &'static str) {
    match status {
        StatusCode::UNAUTHORIZED => ("authentication_error", "invalid_api_key"),
        StatusCode::FORBIDDEN => ("permission_error", code),
        StatusCode::TOO_MANY_REQUESTS => ("rate_limit_error", "rate_limit_exceeded"),
        status if status.is_client_error() => ("invalid_request_error", code),
        _ => ("server_error", code),
    }
}
