//! Permissions of an account beyond its own data.

/// Permissions of an account beyond its own data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Role {
    /// Role without privileges.
    #[default]
    User,
    /// Fill the knowledge bases of their group.
    KbManager,
    /// Look after the members of their group.
    OrgManager,
    /// Run the server.
    Admin,
}

impl Role {
    /// All there are, the least first.
    pub const ALL: [Self; 4] = [Self::User, Self::KbManager, Self::OrgManager, Self::Admin];

    /// Name in the database, on the wire and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::KbManager => "kb_manager",
            Self::OrgManager => "org_manager",
            Self::Admin => "admin",
        }
    }

    /// The role with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
