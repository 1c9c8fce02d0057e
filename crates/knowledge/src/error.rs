//! Errors of the use cases.

use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, Unavailable};

use crate::draft::DraftError;
use crate::ports::document_store::KnowledgeQuota;

/// Errors that prevent a knowledge base or a document from being read or
/// changed.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// No such base, document or persona.
    #[error("There is no such knowledge base or document.")]
    NotFound,
    /// Document is invalid.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// Name is missing or blank.
    #[error("The knowledge base needs a name.")]
    NameRequired,
    /// Name is too long.
    #[error("The name may have at most 100 characters.")]
    NameTooLong,
    /// Another base has the name.
    #[error("Another knowledge base has this name.")]
    NameTaken,
    /// Request names no group that owns the base.
    #[error("The knowledge base needs a group that owns it.")]
    OwnerRequired,
    /// Prompt is missing; an empty one would clear it.
    #[error("The prompt is required; an empty one clears it.")]
    PromptRequired,
    /// Prompt is too long.
    #[error("The prompt may have at most 8,000 characters.")]
    PromptTooLong,
    /// One of the groups does not exist.
    #[error("There is no group with the id {0}.")]
    UnknownGroup(GroupId),
    /// One of the bases does not exist.
    #[error("There is no knowledge base with the id {0}.")]
    UnknownBase(KnowledgeBaseId),
    /// More ids than one request may have.
    #[error("The list may have at most 10,000 ids.")]
    TooManyIds,
    /// Another document of the base has this content.
    #[error("Another document of the knowledge base has this content.")]
    Duplicate(DocumentId),
    /// Document has not failed, so there is nothing to try again.
    #[error("Only a document that failed can be sent again.")]
    NotFailed,
    /// Group has used up a quota for documents.
    #[error("{resource} of the group is used up.", resource = .0.resource)]
    QuotaExceeded(KnowledgeQuota),
    /// Group would search more bases than it may.
    #[error("The group {group} has its maximum of {limit} knowledge bases.")]
    BaseQuotaExceeded {
        /// Name of the group.
        group: String,
        /// Maximum number of bases that the group searches.
        limit: i64,
        /// Number that there would be.
        current: i64,
    },
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
