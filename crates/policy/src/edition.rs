//! Editions of licences.

use std::collections::BTreeSet;

use crate::feature::Feature;

/// A bundle of features, for licences that name none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    /// The free one.
    Community,
    /// The one for organisations that run it themselves.
    Enterprise,
    /// The managed service's own.
    Cloud,
}

impl Edition {
    /// Every edition.
    pub const ALL: [Self; 3] = [Self::Community, Self::Enterprise, Self::Cloud];

    /// Name in a licence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Community => "Community",
            Self::Enterprise => "Enterprise",
            Self::Cloud => "Cloud",
        }
    }

    /// The edition of this name, spelled exactly so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns its features.
    pub fn features(self) -> BTreeSet<Feature> {
        let includes = |it: &Feature| match self {
            Self::Community => matches!(it, Feature::Sync | Feature::AiProxy | Feature::E2ee),
            Self::Enterprise => *it != Feature::ManagedCloud,
            Self::Cloud => true,
        };
        Feature::ALL.into_iter().filter(includes).collect()
    }
}
