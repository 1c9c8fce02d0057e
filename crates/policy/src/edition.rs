//! Editions of licences.

use std::collections::BTreeSet;

use crate::feature::Feature;

/// Bundle of features, for licences that list none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    /// Free edition.
    Community,
    /// Edition for organisations that host the server themselves.
    Enterprise,
    /// Edition of the managed service.
    Cloud,
}

impl Edition {
    /// All editions.
    pub const ALL: [Self; 3] = [Self::Community, Self::Enterprise, Self::Cloud];

    /// Returns the name in a licence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Community => "Community",
            Self::Enterprise => "Enterprise",
            Self::Cloud => "Cloud",
        }
    }

    /// Returns the edition with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the included features.
    pub fn features(self) -> BTreeSet<Feature> {
        let includes = |it: &Feature| match self {
            Self::Community => matches!(it, Feature::Sync | Feature::AiProxy | Feature::E2ee),
            Self::Enterprise => *it != Feature::ManagedCloud,
            Self::Cloud => true,
        };
        Feature::ALL.into_iter().filter(includes).collect()
    }
}
