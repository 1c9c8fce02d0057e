//! Tests of the operator's handbook against the actual settings.

use std::collections::BTreeMap;

use pia_assistant::Mode;

use super::*;
use crate::config::SECTIONS;

const HANDBOOK: &str = include_str!("../../../../docs/OPERATING.md");

/// Returns the sources of an operator with every setting, including a catalogue
/// entry.
fn operator() -> Operator {
    Operator::production().arguments(&["Ai:Providers:0:Id=a", "Ai:Providers:0:Model=m"])
}

/// Returns the rows of the form ``| `Section:Key` | environment | default |
/// when | meaning |``. A row for each mode or entry is expanded to one of each.
fn rows() -> BTreeMap<String, Vec<String>> {
    let each = |line: &str| {
        let line = line.replace("<n>", "0");
        let names = if line.contains("<Mode>") { &["Assistant", "Research"][..] } else { &[""] };
        names.iter().map(|it| line.replace("<Mode>", it)).collect::<Vec<_>>()
    };
    let rows = HANDBOOK.lines().flat_map(each).filter_map(|line| {
        let cells: Vec<_> = line.strip_prefix("| `")?.split(" | ").map(str::to_owned).collect();
        let key = cells.first()?.strip_suffix('`')?.to_owned();
        (cells.len() == 5 && key.contains(':')).then_some((key, cells))
    });
    rows.collect()
}

#[test]
fn the_handbook_lists_every_setting_and_no_other() {
    let config = operator().read();

    let known: Vec<_> = config.snapshot.keys().collect();
    let documented: Vec<_> = rows().into_keys().collect();

    assert_eq!(documented, known);
}

#[test]
fn the_handbook_states_when_a_change_takes_effect() {
    let config = operator().read();

    for (key, cells) in rows() {
        let effect = match config.snapshot.effect(&key).unwrap() {
            Effect::Reload => "reload",
            Effect::Restart => "restart",
        };
        assert_eq!(cells[3], effect, "{key}");
    }
}

#[test]
fn the_handbook_states_the_names_of_variables() {
    for (key, cells) in rows() {
        let variable = format!("`{}`", key.replace(':', "__"));
        assert!(cells[1].split(", ").any(|it| it == variable), "{key}");
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

    for (key, cells) in rows().into_iter().filter(|(key, _)| !required.contains(&&**key)) {
        let value = config.snapshot.value_of(&key);
        match cells[2].strip_prefix('`').and_then(|it| it.split_once('`')) {
            Some((default, _)) => assert_eq!(value, Some(default), "{key}"),
            None if cells[2] == "none" => assert!(value.is_none_or(str::is_empty), "{key}"),
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
        let catalogue = config.ai.catalogue;
        assert!(config.notices.is_empty(), "{:?}", config.notices);
        let has_chat_model = catalogue.serving(Some(Mode::Research)).is_some();
        let listed = catalogue.entries.len() + catalogue.embedders.len();
        assert!(has_chat_model || listed > 0, "{example}");
    }
}

#[test]
fn the_handbook_lists_every_code() {
    let codes = [Code::Source, Code::Missing, Code::Form, Code::Weak, Code::Combination];

    for code in codes {
        assert!(HANDBOOK.contains(&format!("| `{code}` |")), "{code}");
    }
}
