//! Knowledge bases, as chats are answered from them.

pub(crate) mod prompt;
pub(crate) mod question;
mod rewriting;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, Unavailable};
use uuid::Uuid;

/// Moment at which knowledge bases are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KnowledgeMode {
    /// Before the call of the model, with the caller's question.
    UpFront,
    /// During the call, when the model calls a tool with its own question.
    Tool,
    /// Both.
    #[default]
    Both,
}

impl KnowledgeMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::UpFront, Self::Tool, Self::Both];

    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::UpFront => "UpFront",
            Self::Tool => "Tool",
            Self::Both => "Both",
        }
    }
}

/// Scope of a search: the caller's group, and the persona that the caller named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnowledgeScope {
    /// Group of the caller.
    pub group: GroupId,
    /// Persona; ignored unless it is assigned to the group.
    pub persona: Option<Uuid>,
}

/// Knowledge base that a caller may search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeSummary {
    /// Id.
    pub id: KnowledgeBaseId,
    /// Name.
    pub name: String,
    /// Text that tells the model when to search it.
    pub prompt: Option<String>,
}

/// Passage of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgePassage {
    /// Document.
    pub document: DocumentId,
    /// Title of the document.
    pub title: String,
    /// URL of the document.
    pub url: String,
    /// Headings above the passage.
    pub path: String,
    /// Text.
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

/// Knowledge bases of callers.
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

/// Knowledge that is off.
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
