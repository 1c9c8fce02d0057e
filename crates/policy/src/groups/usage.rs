//! Uses of a group, which prevent its deletion.

use std::fmt;

/// Numbers of the objects that use a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupUse {
    /// Accounts in the group, including deactivated ones.
    pub members: u64,
    /// Invitations into the group.
    pub invitations: u64,
    /// Managed personas that are assigned to the group.
    pub personas: u64,
    /// Plugins that are assigned to the group.
    pub plugins: u64,
    /// Knowledge bases that the group owns.
    pub knowledge_bases: u64,
}

impl GroupUse {
    /// Returns whether nothing uses the group.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether nothing but members uses the group.
    pub fn is_by_members_alone(&self) -> bool {
        Self { members: 0, ..*self }.is_none()
    }
}

/// Formats the uses: `2 members, 1 persona`.
impl fmt::Display for GroupUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses: Vec<_> = [
            (self.members, "member"),
            (self.invitations, "invitation"),
            (self.personas, "persona"),
            (self.plugins, "plugin"),
            (self.knowledge_bases, "knowledge base"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| match number {
            1 => format!("1 {name}"),
            _ => format!("{number} {name}s"),
        })
        .collect();

        f.write_str(&uses.join(", "))
    }
}
