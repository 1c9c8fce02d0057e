//! Roles of accounts.

use pia_kernel::named_variants;

named_variants! {
    /// Permissions of an account beyond its own data.
    ///
    /// The names are those in the database, on the wire and on the command line. The
    /// least privileged role is the first, the most privileged the last.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    pub enum Role {
        /// Uses the server, without access to others' accounts.
        #[default]
        User = "user",
        /// Manages the knowledge bases of the group.
        KbManager = "kb_manager",
        /// Manages the members of the group.
        OrgManager = "org_manager",
        /// Administers the server, its users and groups.
        Admin = "admin",
    }
}

impl Role {
    /// Returns the role with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
