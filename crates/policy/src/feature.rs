//! Features of licences.

use pia_kernel::named_variants;

named_variants! {
    /// Licensed feature, with its name in a licence and on the wire. Local accounts are
    /// always included.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Feature {
        /// Sign-in through identity providers.
        OAuth = "OAuth",
        /// Synchronisation of devices, and stored chats.
        Sync = "Sync",
        /// The proxy to upstream models, and the task plane.
        AiProxy = "AiProxy",
        /// Knowledge bases.
        Knowledge = "Knowledge",
        /// End-to-end encryption.
        E2ee = "E2EE",
        /// Groups, client policies and managed personas.
        GroupManagement = "GroupManagement",
        /// Features of the managed service only.
        ManagedCloud = "ManagedCloud",
    }
}

impl Feature {
    /// Returns the feature with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
