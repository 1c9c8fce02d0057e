//! Choice of the models to ask, and their order.

use std::sync::Arc;

use crate::request::prompt_body::ModelHint;
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::target::{Mode, Target};
use crate::rules::GroupRules;

/// The models that may answer a call: the one that is meant, and then those
/// that answer in its place.
pub(crate) type Route = Vec<Arc<Target>>;

/// The model that serves everybody who names none, as callers see it.
pub const DEFAULT_MODEL: &str = "pia-cloud";

/// Returns the models that may answer. In this order:
///
/// 1. the model that a request names, where the group may choose it;
/// 2. what the group has for the mode;
/// 3. while talking, what it has for the persona's type;
/// 4. what the server has for the mode.
///
/// What is named but not there is passed over, as if nobody had named it.
pub(crate) fn route(
    catalogue: &ModelCatalogue,
    rules: &GroupRules,
    mode: Option<Mode>,
    wish: &ModelHint,
) -> Option<Route> {
    let chosen = wish.model.as_deref().filter(|it| may_choose(rules, it));
    let for_mode = mode.and_then(|it| rules.modes.get(&it));
    let talking = mode == Some(Mode::Assistant);
    let persona = wish.persona_type.as_ref().filter(|_| talking);
    let for_persona = persona.and_then(|it| rules.persona_types.get(it));
    let first = [chosen, for_mode.map(String::as_str), for_persona.map(String::as_str)]
        .into_iter()
        .flatten()
        .find_map(|id| catalogue.entry(id).cloned())
        .or_else(|| catalogue.serving(mode))?;
    Some(with_fallbacks(catalogue, &first))
}

/// A model, and then those that answer in its place.
pub(crate) fn with_fallbacks(catalogue: &ModelCatalogue, first: &Arc<Target>) -> Route {
    let mut route = vec![Arc::clone(first)];
    for fallback in first.fallbacks.iter().filter_map(|id| catalogue.entry(id)) {
        if !route.iter().any(|it| Arc::ptr_eq(it, fallback)) {
            route.push(Arc::clone(fallback));
        }
    }
    route
}

/// The modes that are served to who names no model.
pub(crate) fn modes(catalogue: &ModelCatalogue, rules: &GroupRules) -> Vec<Mode> {
    let is_served =
        |mode: &Mode| route(catalogue, rules, Some(*mode), &ModelHint::default()).is_some();
    Mode::ALL.into_iter().filter(is_served).collect()
}

/// The models that a caller may name, the default first, where some mode is
/// served.
pub(crate) fn choices(catalogue: &ModelCatalogue, rules: &GroupRules) -> Vec<String> {
    let is_served = !modes(catalogue, rules).is_empty();
    let default = is_served.then(|| DEFAULT_MODEL.to_owned());
    let named = rules.models.iter().filter_map(|id| catalogue.entry(id)?.id.clone());
    default.into_iter().chain(named).collect()
}

/// The embedding models that a caller may name.
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

    fn models(mode: Option<Mode>, model: &str, persona: &str) -> Vec<String> {
        let input = |it: &str| Some(it.to_owned()).filter(|it| !it.is_empty());
        let wish = ModelHint { model: input(model), persona_type: input(persona) };
        let route = route(&catalogue(), &rules(), mode, &wish).unwrap();
        route.iter().map(|it| it.model.clone()).collect()
    }

    #[test]
    fn the_groups_mode_wins_over_the_personas_type_which_counts_while_talking() {
        assert_eq!(models(Some(Mode::Research), "", "code"), ["large", "small"]);
        assert_eq!(models(Some(Mode::Assistant), "", "code"), ["coder"]);
        assert_eq!(models(Some(Mode::Optimize), "", "code"), ["default"]);
        assert_eq!(models(None, "", "code"), ["default"]);
        assert_eq!(models(Some(Mode::Assistant), "", "unknown"), ["default"]);
        assert_eq!(models(Some(Mode::Assistant), "", "lost"), ["default"]);
    }

    #[test]
    fn a_model_is_chosen_only_where_the_group_may_and_there_is_one() {
        assert_eq!(models(Some(Mode::Research), "Small", ""), ["small", "large"]);
        assert_eq!(models(None, "coder", ""), ["default"]);
        assert_eq!(models(None, "gone", ""), ["default"]);
        assert_eq!(models(None, "pia-cloud", ""), ["default"]);
    }

    #[test]
    fn the_modes_that_are_served_depend_on_the_group() {
        let without = ModelCatalogue { default: None, ..catalogue() };
        let of = |catalogue: &ModelCatalogue, rules: &GroupRules| {
            (modes(catalogue, rules), choices(catalogue, rules).len())
        };

        assert_eq!(of(&catalogue(), &GroupRules::default()), (Mode::ALL.to_vec(), 1));
        assert_eq!(of(&without, &GroupRules::default()), (vec![], 0));
        assert_eq!(of(&without, &rules()), (vec![Mode::Research], 2));
        let gone = GroupRules { modes: [(Mode::Research, "gone".to_owned())].into(), ..rules() };
        assert_eq!(of(&without, &gone), (vec![], 1));
    }

    #[test]
    fn what_may_be_named_is_the_default_and_what_is_there_of_the_groups_list() {
        assert_eq!(choices(&catalogue(), &rules()), ["pia-cloud", "small"]);
        assert!(choices(&ModelCatalogue::default(), &rules()).is_empty());
    }
}
