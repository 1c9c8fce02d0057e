//! Groups that something is granted to.

use std::collections::BTreeSet;

use crate::GroupId;

/// Groups that are selected to be granted something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupSelection {
    /// These groups and no others.
    Exactly(Vec<GroupId>),
    /// Changes of the groups that are stored.
    Changed {
        /// Groups that are added.
        added: Vec<GroupId>,
        /// Groups that are removed.
        removed: Vec<GroupId>,
    },
}

impl GroupSelection {
    /// Returns the groups after the selection, each once and in ascending order. Stores call it
    /// within their transaction, with the groups that they read there.
    pub fn applied_to(&self, before: &[GroupId]) -> Vec<GroupId> {
        let groups: BTreeSet<GroupId> = match self {
            Self::Exactly(groups) => groups.iter().copied().collect(),
            Self::Changed { added, removed } => {
                let removed: BTreeSet<_> = removed.iter().collect();
                let remaining = before.iter().filter(|it| !removed.contains(it));
                remaining.chain(added).copied().collect()
            }
        };
        groups.into_iter().collect()
    }

    /// Returns the number of groups that the selection lists.
    pub fn count(&self) -> usize {
        match self {
            Self::Exactly(groups) => groups.len(),
            Self::Changed { added, removed } => added.len() + removed.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn groups<const N: usize>(numbers: [u128; N]) -> Vec<GroupId> {
        numbers.map(|it| GroupId(Uuid::from_u128(it))).to_vec()
    }

    #[test]
    fn an_exact_selection_replaces_all_groups() {
        let selection = GroupSelection::Exactly(groups([3, 1, 3]));

        assert_eq!(selection.applied_to(&groups([2])), groups([1, 3]));
        assert_eq!(selection.count(), 3);
    }

    #[test]
    fn a_change_leaves_other_groups() {
        let change = GroupSelection::Changed { added: groups([4, 2]), removed: groups([3, 9]) };

        assert_eq!(change.applied_to(&groups([1, 2, 3])), groups([1, 2, 4]));
        assert_eq!(change.count(), 4);
    }
}
