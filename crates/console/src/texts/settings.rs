//! Descriptions of settings.

mod accounts;
mod assignments;
mod calls;
mod email;
mod knowledge;
mod limits;
mod models;
mod records;
mod server;
mod storage;
mod sync;

use crate::ui::Text;

/// Returns the description of a setting.
pub(crate) fn description(key: &str) -> Option<Text> {
    find(key).or_else(|| find(&default_model_key(key)?))
}

/// Patterns of keys, in which `*` stands for any segment, with their descriptions.
fn descriptions() -> impl Iterator<Item = &'static (&'static str, Text)> {
    [
        accounts::ACCOUNTS,
        assignments::ASSIGNMENTS,
        calls::CALLS,
        email::EMAIL,
        knowledge::KNOWLEDGE,
        limits::LIMITS,
        models::MODELS,
        records::RECORDS,
        server::SERVER,
        storage::STORAGE,
        sync::SYNC,
    ]
    .into_iter()
    .flatten()
}

fn find(key: &str) -> Option<Text> {
    descriptions().find(|it| is_match(it.0, key)).map(|it| it.1)
}

fn is_match(pattern: &str, key: &str) -> bool {
    pattern.split(':').count() == key.split(':').count()
        && pattern.split(':').zip(key.split(':')).all(|(part, name)| part == "*" || part == name)
}

/// Returns the key of the default model for a setting of a mode or a catalogue entry.
fn default_model_key(key: &str) -> Option<String> {
    let rest = key.strip_prefix("Ai:Modes:").or_else(|| key.strip_prefix("Ai:Providers:"))?;
    rest.split_once(':').map(|(_, name)| format!("Ai:{name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pia_kernel::Language;

    use super::*;

    #[test]
    fn no_two_patterns_are_equal() {
        let patterns: Vec<_> = descriptions().map(|it| it.0).collect();
        let distinct: BTreeSet<_> = patterns.iter().collect();

        assert_eq!(distinct.len(), patterns.len(), "{patterns:?}");
    }

    #[test]
    fn each_description_is_translated() {
        for (pattern, text) in descriptions() {
            let english = text.of(Language::En);
            let german = text.of(Language::De);

            assert!(!english.is_empty() && !german.is_empty(), "{pattern}");
            assert_ne!(english, german, "{pattern}");
        }
    }

    #[test]
    fn names_in_keys_match_patterns_and_models_share_their_descriptions() {
        let model = description("Ai:Model").expect("a description");
        let entry_model = description("Ai:Providers:0:Model").expect("a description");

        assert_eq!(description("Ai:Modes:Research:Model"), Some(model));
        assert_ne!(entry_model, model);
        assert_eq!(
            description("Ai:Providers:12:CreditRates:InputPerMillion"),
            description("Ai:CreditRates:InputPerMillion"),
        );
        assert_eq!(description("OAuth:google:Scopes"), description("OAuth:oidc:Scopes"));
        for unknown in ["Ai", "OAuth:google", "OAuth:google:Scopes:0", "Ai:Modes:Research"] {
            assert_eq!(description(unknown), None, "{unknown}");
        }
    }
}
