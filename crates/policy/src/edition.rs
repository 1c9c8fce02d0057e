//! Editions of licences.

use std::collections::BTreeSet;

use pia_kernel::named_variants;

use crate::feature::Feature;

named_variants! {
    /// Bundle of features, for licences that list none, with its name in a licence.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Edition {
        /// Free edition.
        Community = "Community",
        /// Edition for organisations that host the server themselves.
        Enterprise = "Enterprise",
        /// Edition of the managed service.
        Cloud = "Cloud",
    }
}

impl Edition {
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
