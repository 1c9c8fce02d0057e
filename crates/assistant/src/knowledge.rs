//! Knowledge bases, as chats are answered from them.
//!
//! `turn/knowledge_search.rs` searches: for the user's last message (`question.rs`), which a
//! model may rewrite (`rewriting.rs`), or for the question of a model that calls the tool.
//! `prompt.rs` formats the passages that were found.

pub(crate) mod prompt;
pub(crate) mod question;
mod rewriting;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, Unavailable, named_variants};
use uuid::Uuid;

/// Port of knowledge bases; implemented in `server` over `knowledge`.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Knowledge: Send + Sync {
    /// Returns the bases that a caller may search; none if knowledge is off.
    async fn bases(&self, scope: KnowledgeScope) -> Result<Vec<KnowledgeSummary>, Unavailable>;

    /// Finds the passages that may answer a question, best first. `bases` are
    /// those that [`bases`](Self::bases) returned for the scope: they are read
    /// once in a turn, however often it searches.
    async fn search(
        &self,
        scope: KnowledgeScope,
        bases: &[KnowledgeSummary],
        question: &str,
    ) -> Result<Vec<KnowledgePassage>, Unavailable>;

    /// Records the searches of a turn that has ended. Nobody waits for it.
    fn record(&self, scope: KnowledgeScope, bases: &[KnowledgeSummary], searches: TurnSearches);
}

named_variants! {
    /// Moment at which knowledge bases are searched, with its name in settings.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum KnowledgeMode {
        /// Before the call of the model, with the caller's question.
        UpFront = "UpFront",
        /// During the call, when the model calls a tool with its own question.
        Tool = "Tool",
        /// Before the call, and again when the model calls the tool.
        #[default]
        Both = "Both",
    }
}

/// Scope of a search: the caller's group, and the persona that the caller named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnowledgeScope {
    /// Group of the caller, whose bases are searched.
    pub group: GroupId,
    /// Persona; ignored unless it is assigned to the group.
    pub persona: Option<Uuid>,
}

/// Knowledge base that a caller may search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeSummary {
    /// Id by which it is searched.
    pub id: KnowledgeBaseId,
    /// Name, which the model sees.
    pub name: String,
    /// Text that tells the model when to search it.
    pub prompt: Option<String>,
}

/// Passage of a document, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgePassage {
    /// Document, whose retrieval is recorded.
    pub document: DocumentId,
    /// Title of the document, which the model cites.
    pub title: String,
    /// URL by which the caller opens the document.
    pub url: String,
    /// Headings above the passage, joined by ` › `.
    pub path: String,
    /// Text, with what surrounds it in the document.
    pub text: String,
}

/// Results of all searches of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnSearches {
    /// Documents with passages that were found, each once.
    Found(Vec<DocumentId>),
    /// Questions of which none found anything.
    Missed(Vec<String>),
}

/// Knowledge bases of a server without any.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKnowledge;

#[async_trait]
impl Knowledge for NoKnowledge {
    async fn bases(&self, _scope: KnowledgeScope) -> Result<Vec<KnowledgeSummary>, Unavailable> {
        Ok(Vec::new())
    }

    async fn search(
        &self,
        _scope: KnowledgeScope,
        _bases: &[KnowledgeSummary],
        _question: &str,
    ) -> Result<Vec<KnowledgePassage>, Unavailable> {
        Ok(Vec::new())
    }

    fn record(&self, _scope: KnowledgeScope, _bases: &[KnowledgeSummary], _: TurnSearches) {}
}
