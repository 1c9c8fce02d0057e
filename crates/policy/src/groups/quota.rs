//! Quotas of a group, by name, and their defaults.
//!
//! Only names and defaults are here. The stores enforce the limits, in the
//! transactions that use a resource up.

use pia_kernel::named_variants;

named_variants! {
    /// Resource that a group may use up to a limit, with its name on the wire and on
    /// the command line.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    pub enum Quota {
        /// Knowledge bases.
        KnowledgeBases = "KnowledgeBases",
        /// Documents in all knowledge bases together.
        KnowledgeDocuments = "KnowledgeDocuments",
        /// Bytes of these documents.
        KnowledgeStorageBytes = "KnowledgeStorageBytes",
        /// Tokens that are embedded within a calendar month.
        MonthlyEmbeddingTokens = "MonthlyEmbeddingTokens",
        /// Managed personas that are assigned to the group.
        ManagedPersonas = "ManagedPersonas",
        /// Bytes that each member stores.
        UserStorageBytes = "UserStorageBytes",
    }
}

impl Quota {
    /// Returns the quota with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }

    /// Returns the limit of a group without a setting of its own; `None` where
    /// the server's settings decide.
    pub fn default_limit(self) -> Option<i64> {
        match self {
            Self::KnowledgeBases => Some(5),
            Self::KnowledgeDocuments => Some(100),
            Self::KnowledgeStorageBytes => Some(50 * 1024 * 1024),
            Self::MonthlyEmbeddingTokens => Some(5_000_000),
            Self::ManagedPersonas => Some(50),
            Self::UserStorageBytes => None,
        }
    }
}
