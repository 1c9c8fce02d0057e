//! Roles of accounts.

/// Permissions of an account beyond its own data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Role {
    /// Uses the server, without access to others' accounts.
    #[default]
    User,
    /// Manages the knowledge bases of the group.
    KbManager,
    /// Manages the members of the group.
    OrgManager,
    /// Administers the server, its users and groups.
    Admin,
}

impl Role {
    /// All roles, from the least to the most privileged.
    pub const ALL: [Self; 4] = [Self::User, Self::KbManager, Self::OrgManager, Self::Admin];

    /// Returns the name in the database, on the wire and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::KbManager => "kb_manager",
            Self::OrgManager => "org_manager",
            Self::Admin => "admin",
        }
    }

    /// Returns the role with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
