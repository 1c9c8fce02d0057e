//! Features of licences.

/// Licensed feature. Local accounts are always included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Sign-in through identity providers.
    OAuth,
    /// Synchronisation of devices, and stored chats.
    Sync,
    /// The proxy to upstream models, and the task plane.
    AiProxy,
    /// Knowledge bases.
    Knowledge,
    /// End-to-end encryption.
    E2ee,
    /// Groups, client policies and managed personas.
    GroupManagement,
    /// Features of the managed service only.
    ManagedCloud,
}

impl Feature {
    /// All features.
    pub const ALL: [Self; 7] = [
        Self::OAuth,
        Self::Sync,
        Self::AiProxy,
        Self::Knowledge,
        Self::E2ee,
        Self::GroupManagement,
        Self::ManagedCloud,
    ];

    /// Returns the name in a licence and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::OAuth => "OAuth",
            Self::Sync => "Sync",
            Self::AiProxy => "AiProxy",
            Self::Knowledge => "Knowledge",
            Self::E2ee => "E2EE",
            Self::GroupManagement => "GroupManagement",
            Self::ManagedCloud => "ManagedCloud",
        }
    }

    /// Returns the feature with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
