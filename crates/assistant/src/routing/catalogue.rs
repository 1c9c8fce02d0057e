//! Catalogue of the models, and the modes that they serve.
//!
//! The crate `settings` reads it from `Ai`. Groups choose among its entries by their ids
//! (`route.rs`), and entries refer to each other by them: fallbacks, vision and web search.

use std::fmt;
use std::sync::Arc;

use pia_kernel::{Secret, named_variants};

use crate::routing::target::{Mode, Protection, Target};

named_variants! {
    /// Thoroughness of a web search, with its name in settings and upstream. The fastest
    /// is the first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SearchDepth {
        /// Takes about a second.
        Fast = "fast",
        /// Takes a few seconds.
        Standard = "standard",
        /// Takes as long as it needs.
        Deep = "deep",
    }
}

/// Service that searches the web.
#[derive(Clone)]
pub struct SearchProvider {
    /// Id of its catalogue entry.
    pub id: String,
    /// Base URL, without a slash at the end.
    pub endpoint: String,
    /// Interchangeable keys; empty if none is required.
    pub keys: Vec<Secret<String>>,
    /// Thoroughness of its searches, which costs time.
    pub depth: SearchDepth,
    /// Limits on its calls. It takes no tokens.
    pub protection: Protection,
}

/// Omits the endpoint, which may contain a password.
impl fmt::Debug for SearchProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchProvider")
            .field("id", &self.id)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// Models in use, by purpose.
#[derive(Debug, Clone, Default)]
pub struct ModelCatalogue {
    /// Model for optimising, for unknown modes, and for modes without their
    /// own.
    pub default: Option<Arc<Target>>,
    /// Model for `Assistant`; `None` uses the default.
    pub assistant: Option<Arc<Target>>,
    /// Model for `Research`; `None` uses the default.
    pub research: Option<Arc<Target>>,
    /// Models that groups may choose, and that tools and fallbacks refer to.
    pub entries: Vec<Arc<Target>>,
    /// Services that search the web for models.
    pub searches: Vec<Arc<SearchProvider>>,
    /// Embedding models, which are not available for chats.
    pub embedders: Vec<Arc<Target>>,
}

impl ModelCatalogue {
    /// Returns the model for a mode, or for a request without a known mode.
    pub fn serving(&self, mode: Option<Mode>) -> Option<Arc<Target>> {
        let mode_target = match mode {
            Some(Mode::Assistant) => self.assistant.as_ref(),
            Some(Mode::Research) => self.research.as_ref(),
            Some(Mode::Optimize) | None => None,
        };
        mode_target.or(self.default.as_ref()).map(Arc::clone)
    }

    /// Replaces the entries by those of another catalogue, for settings that
    /// are read once.
    #[must_use]
    pub fn with_entries_of(mut self, other: &Self) -> Self {
        self.entries.clone_from(&other.entries);
        self.searches.clone_from(&other.searches);
        self.embedders.clone_from(&other.embedders);
        self
    }

    /// Returns the entry with this id, in any case.
    pub fn entry(&self, id: &str) -> Option<&Arc<Target>> {
        find_by_id(&self.entries, id)
    }

    /// Returns the embedding model with this id, in any case.
    pub fn embedder(&self, id: &str) -> Option<&Arc<Target>> {
        find_by_id(&self.embedders, id)
    }

    /// Returns the search service with this id, in any case.
    pub fn search(&self, id: &str) -> Option<&Arc<SearchProvider>> {
        self.searches.iter().find(|it| it.id.eq_ignore_ascii_case(id))
    }
}

fn find_by_id<'a>(targets: &'a [Arc<Target>], id: &str) -> Option<&'a Arc<Target>> {
    targets.iter().find(|it| it.id.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes;

    #[test]
    fn a_mode_without_its_own_model_has_the_default() {
        let catalogue = ModelCatalogue {
            default: Some(fakes::target("default")),
            assistant: Some(fakes::target("assistant")),
            ..ModelCatalogue::default()
        };
        let model = |mode| catalogue.serving(mode).map(|it| it.model.clone());

        assert_eq!(model(Some(Mode::Assistant)).as_deref(), Some("assistant"));
        assert_eq!(model(Some(Mode::Research)).as_deref(), Some("default"));
        assert_eq!(model(Some(Mode::Optimize)).as_deref(), Some("default"));
        assert_eq!(model(None).as_deref(), Some("default"));
    }

    #[test]
    fn without_a_default_only_configured_modes_are_served() {
        let catalogue =
            ModelCatalogue { assistant: Some(fakes::target("a")), ..ModelCatalogue::default() };

        assert!(catalogue.serving(Some(Mode::Assistant)).is_some());
        assert!(catalogue.serving(Some(Mode::Optimize)).is_none());
        assert!(catalogue.serving(None).is_none());
    }
}
