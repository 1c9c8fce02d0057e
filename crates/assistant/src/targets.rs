//! Which model serves which mode.

use std::sync::Arc;

use crate::target::{Mode, Target};

/// The models in use.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// Serves optimising, unknown modes, and every mode without its own.
    pub default: Option<Arc<Target>>,
    /// Serves talking.
    pub assistant: Option<Arc<Target>>,
    /// Serves looking into things.
    pub research: Option<Arc<Target>>,
}

impl Targets {
    /// The model for a mode; for none where the caller named none we know.
    pub fn serving(&self, mode: Option<Mode>) -> Option<Arc<Target>> {
        let own = match mode {
            Some(Mode::Assistant) => self.assistant.as_ref(),
            Some(Mode::Research) => self.research.as_ref(),
            Some(Mode::Optimize) | None => None,
        };
        own.or(self.default.as_ref()).map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes;

    #[test]
    fn a_mode_without_a_model_of_its_own_has_the_default() {
        let targets = Targets {
            default: Some(fakes::target("default")),
            assistant: Some(fakes::target("assistant")),
            research: None,
        };
        let model = |mode| targets.serving(mode).map(|it| it.model.clone());

        assert_eq!(model(Some(Mode::Assistant)).as_deref(), Some("assistant"));
        assert_eq!(model(Some(Mode::Research)).as_deref(), Some("default"));
        assert_eq!(model(Some(Mode::Optimize)).as_deref(), Some("default"));
        assert_eq!(model(None).as_deref(), Some("default"));
    }

    #[test]
    fn without_a_default_only_the_modes_that_are_set_are_served() {
        let targets = Targets { assistant: Some(fakes::target("a")), ..Targets::default() };

        assert!(targets.serving(Some(Mode::Assistant)).is_some());
        assert!(targets.serving(Some(Mode::Optimize)).is_none());
        assert!(targets.serving(None).is_none());
    }
}
