//! HTTP errors of knowledge bases.

use actix_web::http::StatusCode;
use pia_knowledge::{DraftError, KnowledgeError, MAX_CONTENT_BYTES, RetrievalError};
use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<KnowledgeError> for HttpError {
    fn from(err: KnowledgeError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str, code| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code,
                message: message.clone(),
            }])
        };

        let refused = |status, code| ApiError::refused(status, code, &message);
        Self::from(match err {
            KnowledgeError::NotFound => ApiError::not_found(),
            KnowledgeError::Draft(err) => return err.into(),
            KnowledgeError::NameRequired => invalid("name", "required"),
            KnowledgeError::NameTooLong => invalid("name", "too_long"),
            KnowledgeError::NameTaken => refused(StatusCode::CONFLICT, "name_taken"),
            KnowledgeError::OwnerRequired => invalid("groupId", "required"),
            KnowledgeError::PromptRequired => refused(StatusCode::BAD_REQUEST, "prompt_required"),
            KnowledgeError::PromptTooLong => refused(StatusCode::BAD_REQUEST, "prompt_too_long"),
            KnowledgeError::UnknownGroup(_) => invalid("groupIds", "unknown"),
            KnowledgeError::UnknownBase(_) => invalid("knowledgeBaseIds", "unknown"),
            KnowledgeError::TooManyIds => invalid("", "too_many"),
            KnowledgeError::Duplicate(document) => {
                refused(StatusCode::CONFLICT, "duplicate_content")
                    .with("documentId", document.to_string())
            }
            KnowledgeError::NotFailed => refused(StatusCode::CONFLICT, "document_not_failed"),
            KnowledgeError::QuotaExceeded(quota) => refused(StatusCode::CONFLICT, "quota_exceeded")
                .with("resource", quota.resource)
                .with("limit", quota.limit)
                .with("current", quota.current),
            KnowledgeError::BaseQuotaExceeded { group, limit, current } => {
                refused(StatusCode::CONFLICT, "quota_exceeded")
                    .with("resource", "KnowledgeBases")
                    .with("limit", limit)
                    .with("current", current)
                    .with("group", group)
            }
            KnowledgeError::Unavailable(err) => err.into(),
        })
    }
}

impl From<DraftError> for HttpError {
    fn from(err: DraftError) -> Self {
        let refused = |code| ApiError::refused(StatusCode::BAD_REQUEST, code, err);
        Self::from(match err {
            DraftError::TitleRequired => refused("title_required"),
            DraftError::TitleTooLong => refused("title_too_long"),
            DraftError::SourceTooLong => refused("source_uri_too_long"),
            DraftError::UnsupportedType => refused("unsupported_content_type"),
            DraftError::ContentRequired => refused("content_required"),
            DraftError::NotText => refused("content_not_text"),
            DraftError::TooLarge => {
                ApiError::refused(StatusCode::PAYLOAD_TOO_LARGE, "document_too_large", err)
                    .with("limit", MAX_CONTENT_BYTES)
            }
        })
    }
}

impl From<RetrievalError> for HttpError {
    fn from(err: RetrievalError) -> Self {
        match err {
            RetrievalError::Embedding(err) => {
                let message = format!("The question could not be embedded: {err}.");
                let status = StatusCode::SERVICE_UNAVAILABLE;
                ApiError::refused(status, "embedding_unavailable", message).because(err).into()
            }
            RetrievalError::Unavailable(err) => err.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::DocumentId;
    use pia_knowledge::{EmbedError, KnowledgeQuota};

    use super::*;

    fn body_of(err: impl Into<HttpError>) -> serde_json::Value {
        let err: HttpError = err.into();
        ApiError::from(err).body().into()
    }

    #[test]
    fn a_question_that_is_not_embedded_is_refused_with_the_reason() {
        let err = EmbedError::Rejected("it refused the text".to_owned());

        let body = body_of(RetrievalError::Embedding(err));

        assert_eq!(body["error"], "embedding_unavailable");
        let message = body["message"].as_str().unwrap_or_default();
        assert!(message.ends_with("it refused the text."), "{body}");
    }

    #[test]
    fn a_duplicate_names_the_document_that_has_the_content() {
        let id = DocumentId::generate();

        let body = body_of(KnowledgeError::Duplicate(id));

        assert_eq!(body["error"], "duplicate_content");
        assert_eq!(body["documentId"], id.to_string());
    }

    #[test]
    fn a_used_up_quota_is_sent_with_its_numbers() {
        let quota = KnowledgeQuota { resource: "KnowledgeDocuments", limit: 100, current: 101 };
        let of_bases =
            KnowledgeError::BaseQuotaExceeded { group: "Sales".to_owned(), limit: 5, current: 6 };

        let documents = body_of(KnowledgeError::QuotaExceeded(quota));
        let bases = body_of(of_bases);

        assert_eq!(documents["resource"], "KnowledgeDocuments");
        assert_eq!(documents["limit"], 100);
        assert_eq!(documents["current"], 101);
        assert_eq!(bases["resource"], "KnowledgeBases");
        assert_eq!(bases["group"], "Sales");
        assert_eq!(bases["limit"], 5);
        assert_eq!(bases["current"], 6);
    }
}
