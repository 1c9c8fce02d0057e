//! Tests that the evidence named in docs/SECURITY.md exists.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// Returns the tests that a text names, each as
/// `crates/…/file.rs::name_of_the_test` in backticks.
fn test_references(text: &str) -> BTreeSet<(&str, &str)> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter_map(|it| it.split_once("::"))
        .filter(|(file, _)| file.starts_with("crates/"))
        .collect()
}

#[test]
fn every_test_named_by_the_security_page_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let page = fs::read_to_string(root.join("docs/SECURITY.md")).expect("the page");
    let mut sources = HashMap::new();
    let missing: Vec<String> = test_references(&page)
        .into_iter()
        .filter(|(file, name)| {
            let source: &String = sources.entry(*file).or_insert_with(|| {
                let read = fs::read_to_string(root.join(file));
                read.unwrap_or_else(|err| panic!("docs/SECURITY.md names {file}: {err}"))
            });
            !source.contains(&format!("fn {name}("))
        })
        .map(|(file, name)| format!("{file}::{name}"))
        .collect();

    assert!(missing.is_empty(), "tests that are not there:\n{}", missing.join("\n"));
    assert!(test_references(&page).len() > 100, "the page names hardly any test");
}

#[test]
fn a_test_is_named_by_its_file_and_its_name() {
    let text = "| 6.1 | met | `crates/a/tests/it/b.rs::c_d` and `crates/e.rs::f`; `Clock::now` |";

    let references: Vec<_> = test_references(text).into_iter().collect();

    assert_eq!(references, [("crates/a/tests/it/b.rs", "c_d"), ("crates/e.rs", "f")]);
}
