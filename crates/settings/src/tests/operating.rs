//! Tests of the operator's handbook against the actual settings.

use std::collections::BTreeMap;

use pia_assistant::Mode;

use super::*;
use crate::config::SECTIONS;
use crate::snapshot::Effect;

const HANDBOOK: &str = include_str!("../../../../docs/OPERATING.md");

/// Returns the sources of an operator with every setting, including a catalogue
/// entry.
fn operator() -> Operator {
    Operator::production().arguments(&["Ai:Providers:0:Id=a", "Ai:Providers:0:Model=m"])
}

/// Row of a table of settings, without its key and its meaning.
struct HandbookRow {
    /// Names of environment variables, each in backticks.
    variables: String,
    default: String,
    /// Word for the time when a change takes effect.
    effect: String,
}

/// Returns the rows of the handbook by the keys of their settings.
fn rows() -> BTreeMap<String, HandbookRow> {
    HANDBOOK.lines().flat_map(expand_line).filter_map(|line| parse_row(&line)).collect()
}

/// Returns a line for each mode, if it is about one, with the index of the first entry.
fn expand_line(line: &str) -> Vec<String> {
    let line = line.replace("<n>", "0");
    if line.contains("<Mode>") {
        vec![line.replace("<Mode>", "Assistant"), line.replace("<Mode>", "Research")]
    } else {
        vec![line]
    }
}

/// Parses a row of the form ``| `Section:Key` | environment | default | when | meaning |``.
fn parse_row(line: &str) -> Option<(String, HandbookRow)> {
    let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
    let [key, variables, default, effect, _meaning] = *cells.as_slice() else { return None };
    let key = key.strip_suffix('`').filter(|it| it.contains(':'))?;
    let row = HandbookRow {
        variables: variables.to_owned(),
        default: default.to_owned(),
        effect: effect.to_owned(),
    };
    Some((key.to_owned(), row))
}

#[test]
fn the_handbook_lists_every_setting_and_no_other() {
    let config = operator().read();

    let known_keys: Vec<_> = config.snapshot.keys().collect();
    let documented_keys: Vec<_> = rows().into_keys().collect();

    assert_eq!(documented_keys, known_keys);
}

#[test]
fn the_handbook_states_when_a_change_takes_effect() {
    let config = operator().read();

    for (key, row) in rows() {
        let effect = match config.snapshot.effect(&key).unwrap() {
            Effect::Reload => "reload",
            Effect::Restart => "restart",
        };
        assert_eq!(row.effect, effect, "{key}");
    }
}

#[test]
fn the_handbook_states_the_names_of_variables() {
    for (key, row) in rows() {
        let variable = format!("`{}`", key.replace(':', "__"));
        assert!(row.variables.split(", ").any(|it| it == variable), "{key}");
    }
}

/// Checks the defaults that the handbook states literally.
#[test]
fn the_handbook_states_the_defaults() {
    let config = operator().read();
    let required = [
        "Server:PublicUrl",
        "Database:ConnectionString",
        "Jwt:SecretKey",
        "Ai:Providers:0:Id",
        "Ai:Providers:0:Model",
    ];

    for (key, row) in rows() {
        if required.contains(&key.as_str()) {
            continue;
        }

        let value = config.snapshot.value_of(&key);
        match row.default.strip_prefix('`').and_then(|it| it.split_once('`')) {
            Some((default, _)) => assert_eq!(value, Some(default), "{key}"),
            None if row.default == "none" => assert!(value.is_none_or(str::is_empty), "{key}"),
            None => {}
        }
    }
}

#[test]
fn every_section_is_listed() {
    let config = operator().read();

    let mut sections: Vec<_> =
        config.snapshot.keys().filter_map(|it| it.split(':').next()).collect();
    sections.dedup();

    assert_eq!(sections, SECTIONS);
}

#[test]
fn every_example_of_a_model_is_valid() {
    let handbook = include_str!("../../../../docs/AI.md");
    let examples: Vec<_> = handbook.split("```json").skip(1).collect();

    assert!(examples.len() >= 9);
    for example in examples {
        let (example, _) = example.split_once("```").unwrap();
        let operator = Operator::development().file("appsettings.json", example);

        let config = operator.read();

        assert!(config.notices.is_empty(), "{:?}", config.notices);
        let catalogue = config.ai.catalogue;
        let has_default_model = catalogue.serving(Some(Mode::Research)).is_some();
        let has_entries = !catalogue.entries.is_empty() || !catalogue.embedders.is_empty();
        assert!(has_default_model || has_entries, "{example}");
    }
}

#[test]
fn the_handbook_lists_every_code() {
    let codes = [Code::Source, Code::Missing, Code::Form, Code::Weak, Code::Combination];

    for code in codes {
        assert!(HANDBOOK.contains(&format!("| `{code}` |")), "{code}");
    }
}
