//! Knowledge base: its name, owner and prompt, and the access of its managers.
//!
//! The owner is charged for documents and tokens. Other groups, and personas, only
//! search a base. `BaseAccess` is what a caller may manage; each lookup by a
//! `BaseRef` checks it, and reports an excluded base as missing.

use pia_kernel::{GroupId, KnowledgeBaseId, Timestamp, utf16_len};
use serde::Serialize;

use crate::draft::to_single_line;
use crate::error::KnowledgeError;

/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of a prompt, in UTF-16 code units.
const MAX_PROMPT_CHARS: usize = 8_000;

/// Knowledge base, without its documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeBase {
    /// Id, by which members and personas are granted the base.
    #[serde(skip)]
    pub id: KnowledgeBaseId,
    /// Group that owns the base, and whose quotas its documents count against.
    pub owner: GroupId,
    /// Name, unique on the server without regard to case.
    pub name: String,
    /// Text that tells the model when to search the base.
    pub prompt: Option<String>,
    /// Time of its creation.
    #[serde(skip)]
    pub created_at: Timestamp,
}

/// Knowledge base in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeBaseEntry {
    /// Base itself, without its documents.
    pub base: KnowledgeBase,
    /// Number of its documents.
    pub document_count: i64,
    /// Groups that it is shared with, beside its owner.
    pub shared_with: Vec<GroupId>,
    /// Model that embedded what searches find; `None` if they find nothing.
    pub model: Option<String>,
    /// Model with which the base is being indexed again; `None` if it is not.
    pub reindex_model: Option<String>,
}

/// Bases that a caller may manage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseAccess {
    /// All bases of the server.
    Server,
    /// Bases that this group owns.
    Group(GroupId),
}

/// Reference to a base that a caller may manage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseRef {
    /// Bases that the caller may manage.
    pub access: BaseAccess,
    /// Base, which need not exist or be among them.
    pub id: KnowledgeBaseId,
}

/// Numbers of a base and of its documents, and the limits of its owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BaseStats {
    /// Documents that wait to be ingested.
    pub pending: i64,
    /// Documents that are being ingested.
    pub processing: i64,
    /// Documents that searches find.
    pub ready: i64,
    /// Documents that could not be ingested.
    pub failed: i64,
    /// Bytes of all files.
    pub size_bytes: i64,
    /// Maximum bytes of all bases of the owner together.
    pub byte_limit: i64,
    /// Maximum number of documents of all bases of the owner together.
    pub document_limit: i64,
    /// Chunks that searches find.
    pub chunk_count: i64,
    /// Tokens of these chunks.
    pub indexed_tokens: i64,
    /// Number of times that a document of the base was retrieved.
    pub retrieval_count: i64,
    /// Time of the last retrieval; `None` before the first.
    pub last_retrieved_at: Option<Timestamp>,
    /// Number of questions for which the base was searched and nothing was found.
    pub miss_count: i64,
    /// Time of the last such question; `None` before the first.
    pub last_missed_at: Option<Timestamp>,
    /// Tokens that were embedded for the base in the current month.
    pub embedding_tokens_this_month: i64,
}

/// Name and owner of a new base, unchecked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseDraft {
    /// Name as typed; control characters become spaces.
    pub name: Option<String>,
    /// Group that owns the base; required.
    pub owner: Option<GroupId>,
}

/// Normalises the name of a base to one line. Rejects a blank name and one that is too long.
pub(crate) fn parse_name(name: Option<String>) -> Result<String, KnowledgeError> {
    let name = name
        .map(|it| to_single_line(&it))
        .filter(|it| !it.is_empty())
        .ok_or(KnowledgeError::NameRequired)?;
    if utf16_len(&name) > MAX_NAME_CHARS {
        return Err(KnowledgeError::NameTooLong);
    }
    Ok(name)
}

/// Returns a prompt without NUL; `None` if it is blank, which clears the stored prompt. Rejects
/// one that is missing or too long.
pub(crate) fn parse_prompt(prompt: Option<String>) -> Result<Option<String>, KnowledgeError> {
    // PostgreSQL stores no NUL.
    let prompt = prompt.ok_or(KnowledgeError::PromptRequired)?.replace('\0', "");
    if utf16_len(&prompt) > MAX_PROMPT_CHARS {
        return Err(KnowledgeError::PromptTooLong);
    }
    Ok(Some(prompt).filter(|it| !it.trim().is_empty()))
}
