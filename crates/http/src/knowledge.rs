//! `/api/kb-manager` and `/api/kb`: knowledge bases and their documents.

mod bases;
mod documents;
mod ingest;
mod path;
mod prompt;
mod questions;
mod wire;
mod writing;

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use pia_knowledge::{Documents, KnowledgeBases, Retrieval, UnansweredQuestions};
use pia_web::ApiError;

use crate::Api;

pub(crate) use bases::{KnowledgeBaseItem, bases, stats};
pub use documents::document_file;
pub(crate) use documents::{cited, content, delete, documents, retry};
pub(crate) use ingest::{
    IngestRequest, delete_ingested, ingest, ingested_document, ingested_documents,
};
pub(crate) use prompt::{KnowledgePrompt, KnowledgePromptRequest, prompt, set_prompt};
pub(crate) use questions::{UnansweredQuestionPage, delete_question, questions};
pub(crate) use wire::{DocumentSubmission, KnowledgeDocument, KnowledgeStats};
pub(crate) use writing::{DocumentContentRequest, DocumentRequest, replace, submit};

/// Use cases of knowledge bases.
#[derive(Clone)]
pub struct KnowledgeApi {
    /// Documents.
    pub documents: Documents,
    /// Administration of bases.
    pub bases: KnowledgeBases,
    /// Questions that no document answers.
    pub questions: UnansweredQuestions,
    /// Retrieval, with which managers try a search; `None` if knowledge is off.
    pub retrieval: Option<Retrieval>,
    /// True if documents are ingested and searched. Administrators manage bases
    /// in any case.
    pub is_enabled: bool,
}

/// Proof that knowledge is on.
///
/// As the first extractor of a handler it refuses a request before the body is
/// read.
pub(crate) struct KnowledgeEnabled;

impl FromRequest for KnowledgeEnabled {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let api = request
            .app_data::<Data<Api>>()
            .ok_or_else(|| ApiError::internal("no use cases are configured"));
        ready(api.and_then(|it| it.knowledge.check_enabled()).map(|()| Self))
    }
}

impl KnowledgeApi {
    /// Refuses to change or read documents while knowledge is off.
    pub fn check_enabled(&self) -> Result<(), ApiError> {
        if self.is_enabled { Ok(()) } else { Err(switched_off()) }
    }
}

/// Returns the error of requests while knowledge is off.
pub(crate) fn switched_off() -> ApiError {
    let message = "Knowledge bases are switched off on this server.";
    ApiError::refused(StatusCode::SERVICE_UNAVAILABLE, "knowledge_disabled", message)
}
