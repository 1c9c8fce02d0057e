//! Choice of the models to call, and their order.
//!
//! A route is never empty: without a model `route` returns `None`. `turn/begin.rs` then
//! drops models that lack a capability (`turn/capable_models.rs`).

use std::sync::Arc;

use crate::request::prompt_body::ModelHint;
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::{Mode, Target};
use crate::rules::GroupRules;

/// Models that may answer a call: the chosen one, and then its fallbacks.
pub(crate) type Route = Vec<Arc<Target>>;

/// Name of the default model for callers.
pub const DEFAULT_MODEL: &str = "pia-cloud";

/// Returns the models that may answer. The first is, in this order:
///
/// 1. the model that the request names, if the group may choose it;
/// 2. the group's model for the mode;
/// 3. in mode `Assistant`, the group's model for the persona type;
/// 4. the server's model for the mode.
///
/// Unknown names are ignored.
pub(crate) fn route(
    catalogue: &ModelCatalogue,
    rules: &GroupRules,
    mode: Option<Mode>,
    hint: &ModelHint,
) -> Option<Route> {
    let chosen_model = hint.model.as_deref().filter(|it| may_choose(rules, it));
    let mode_model = mode.and_then(|it| rules.modes.get(&it)).map(String::as_str);
    let persona_model = match (mode, &hint.persona_type) {
        (Some(Mode::Assistant), Some(persona_type)) => rules.persona_types.get(persona_type),
        _ => None,
    };

    let first_target = [chosen_model, mode_model, persona_model.map(String::as_str)]
        .into_iter()
        .flatten()
        .find_map(|id| catalogue.entry(id).cloned())
        .or_else(|| catalogue.serving(mode))?;
    Some(with_fallbacks(catalogue, &first_target))
}

/// Returns a model, followed by its fallbacks.
pub(crate) fn with_fallbacks(catalogue: &ModelCatalogue, first: &Arc<Target>) -> Route {
    let mut route = vec![Arc::clone(first)];
    for fallback in first.fallbacks.iter().filter_map(|id| catalogue.entry(id)) {
        if !route.iter().any(|it| Arc::ptr_eq(it, fallback)) {
            route.push(Arc::clone(fallback));
        }
    }
    route
}

/// Returns the modes that are served without a model name.
pub(crate) fn modes(catalogue: &ModelCatalogue, rules: &GroupRules) -> Vec<Mode> {
    let is_served =
        |mode: &Mode| route(catalogue, rules, Some(*mode), &ModelHint::default()).is_some();
    Mode::ALL.into_iter().filter(is_served).collect()
}

/// Returns the models that a caller may name; the default is the first, if any
/// mode is served.
pub(crate) fn choices(catalogue: &ModelCatalogue, rules: &GroupRules) -> Vec<String> {
    let is_served = !modes(catalogue, rules).is_empty();
    let default = is_served.then(|| DEFAULT_MODEL.to_owned());
    let named_models = rules.models.iter().filter_map(|id| catalogue.entry(id)?.id.clone());
    default.into_iter().chain(named_models).collect()
}

/// Returns the embedding models that a caller may name.
pub(crate) fn embedders(catalogue: &ModelCatalogue, rules: &GroupRules) -> Vec<String> {
    rules.models.iter().filter_map(|id| catalogue.embedder(id)?.id.clone()).collect()
}

/// Returns whether a group's members may name this model.
pub(crate) fn may_choose(rules: &GroupRules, model: &str) -> bool {
    rules.models.iter().any(|it| it.eq_ignore_ascii_case(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::target::ProviderType;

    fn entry(id: &str, fallbacks: &[&str]) -> Arc<Target> {
        Arc::new(Target {
            id: Some(id.to_owned()),
            fallbacks: fallbacks.iter().map(|&it| it.to_owned()).collect(),
            ..Target::new(ProviderType::OpenAi, "http://h", id)
        })
    }

    fn catalogue() -> ModelCatalogue {
        ModelCatalogue {
            default: Some(entry("default", &[])),
            entries: vec![
                entry("small", &["large", "gone", "small", "LARGE"]),
                entry("large", &["small"]),
                entry("coder", &[]),
            ],
            ..ModelCatalogue::default()
        }
    }

    fn rules() -> GroupRules {
        GroupRules {
            modes: [(Mode::Research, "large".to_owned())].into(),
            persona_types: [("code", "coder"), ("lost", "gone")]
                .map(|(name, id)| (name.to_owned(), id.to_owned()))
                .into(),
            models: vec!["small".to_owned(), "gone".to_owned()],
            ..GroupRules::default()
        }
    }

    fn model_hint(model: &str) -> ModelHint {
        ModelHint { model: Some(model.to_owned()), ..ModelHint::default() }
    }

    fn persona_hint(persona_type: &str) -> ModelHint {
        ModelHint { persona_type: Some(persona_type.to_owned()), ..ModelHint::default() }
    }

    /// Returns the models of a route, in their order.
    fn models(mode: Option<Mode>, hint: &ModelHint) -> Vec<String> {
        let route = route(&catalogue(), &rules(), mode, hint).unwrap();
        route.iter().map(|it| it.model.clone()).collect()
    }

    #[test]
    fn the_groups_mode_precedes_the_persona_type_which_counts_in_assistant_mode() {
        let coder = persona_hint("code");

        assert_eq!(models(Some(Mode::Research), &coder), ["large", "small"]);
        assert_eq!(models(Some(Mode::Assistant), &coder), ["coder"]);
        assert_eq!(models(Some(Mode::Optimize), &coder), ["default"]);
        assert_eq!(models(None, &coder), ["default"]);
        assert_eq!(models(Some(Mode::Assistant), &persona_hint("unknown")), ["default"]);
        assert_eq!(models(Some(Mode::Assistant), &persona_hint("lost")), ["default"]);
    }

    #[test]
    fn a_model_is_chosen_only_if_it_exists_and_the_group_may() {
        assert_eq!(models(Some(Mode::Research), &model_hint("Small")), ["small", "large"]);
        assert_eq!(models(None, &model_hint("coder")), ["default"]);
        assert_eq!(models(None, &model_hint("gone")), ["default"]);
        assert_eq!(models(None, &model_hint("pia-cloud")), ["default"]);
    }

    #[test]
    fn the_modes_that_are_served_depend_on_the_group() {
        let without_default = ModelCatalogue { default: None, ..catalogue() };
        let served = |catalogue: &ModelCatalogue, rules: &GroupRules| {
            (modes(catalogue, rules), choices(catalogue, rules).len())
        };

        assert_eq!(served(&catalogue(), &GroupRules::default()), (Mode::ALL.to_vec(), 1));
        assert_eq!(served(&without_default, &GroupRules::default()), (vec![], 0));
        assert_eq!(served(&without_default, &rules()), (vec![Mode::Research], 2));
        let gone = GroupRules { modes: [(Mode::Research, "gone".to_owned())].into(), ..rules() };
        assert_eq!(served(&without_default, &gone), (vec![], 1));
    }

    #[test]
    fn callers_may_name_the_default_and_existing_models_of_the_group() {
        assert_eq!(choices(&catalogue(), &rules()), ["pia-cloud", "small"]);
        assert!(choices(&ModelCatalogue::default(), &rules()).is_empty());
    }
}
