//! Rules for every file that no compiler checks.

#![expect(clippy::expect_used, clippy::panic, reason = "a test")]

#[path = "tidy/field_messages.rs"]
mod field_messages;
#[path = "tidy/links.rs"]
mod links;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};

/// Number of lines a source file may have. Its tests and empty lines do not count.
const MAX_LINES: usize = 400;

/// Files that may be longer: the tables of the schema belong together.
const LONGER: &[&str] = &["crates/storage/src/schema.rs"];

/// Texts that look like actions: names of files, and of fields.
const NOT_ACTIONS: [&str; 4] =
    ["appsettings.json", "pia.db", "tool_choice.allowed_tools", "tool_choice.type"];

#[test]
fn every_module_is_documented() {
    let undocumented = rust_files().into_iter().filter(|it| {
        let text = read_text(it);
        !text.starts_with("//!") && !text.starts_with("#![doc")
    });
    refuse(undocumented.map(|it| display_path(&it)), "files that do not begin with a `//!` line");
}

#[test]
fn source_files_are_short() {
    let shipped = rust_files().into_iter().filter(|it| {
        let path = display_path(it);
        path.contains("/src/") && !path.contains("/tests/") && !path.ends_with("tests.rs")
    });
    let long_files = shipped.filter_map(|it| {
        let text = read_text(&it);
        let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
        let lines = code.filter(|line| !line.is_empty()).count();
        (lines > MAX_LINES && !LONGER.contains(&display_path(&it).as_str()))
            .then(|| format!("{} ({lines})", display_path(&it)))
    });
    refuse(long_files, "files of more than 400 lines without their tests");
}

#[test]
fn each_value_has_a_let_of_its_own() {
    let tuples = rust_files().into_iter().flat_map(|file| {
        let text = read_text(&file);
        let statements = text.lines().map(str::trim_start).enumerate();
        let tuple_lets = statements.filter(|(_, line)| {
            line.starts_with("let (") && line.contains(") = (") && line.ends_with(");")
        });
        let places =
            tuple_lets.map(|(number, _)| format!("{}:{}", display_path(&file), number + 1));
        places.collect::<Vec<_>>()
    });
    refuse(tuples, "lets that pair a tuple of names with a tuple of values");
}

#[test]
fn conditions_are_stated_as_ifs() {
    // Concatenated, so that this file does not match.
    let filter = concat!(".filter(", "|_|");
    let filters = rust_files().into_iter().filter(|it| read_text(it).contains(filter));
    refuse(filters.map(|it| display_path(&it)), "files with filters that ignore the value");
}

#[test]
fn steps_of_long_functions_are_separated() {
    let shipped = rust_files().into_iter().filter(|it| {
        let path = display_path(it);
        path.contains("/src/") && !path.ends_with("tests.rs")
    });
    let dense = shipped.flat_map(|file| {
        let text = read_text(&file);
        let code: Vec<_> = text.lines().take_while(|line| *line != "#[cfg(test)]").collect();
        let dense = functions(&code).into_iter().filter(Function::is_dense);
        dense.map(|it| format!("{}:{}", display_path(&file), it.number)).collect::<Vec<_>>()
    });
    refuse(dense, "functions of eight steps and fifteen lines or more without an empty line");
}

/// Function in a formatted file.
struct Function<'a> {
    /// Number of its first line.
    number: usize,
    /// Indentation of its statements.
    indentation: String,
    body: Vec<&'a str>,
}

impl Function<'_> {
    fn is_dense(&self) -> bool {
        let begins_statement = |line: &&&str| {
            let code = line.strip_prefix(&self.indentation).unwrap_or_default();
            code.starts_with(|it: char| it.is_alphabetic() || it == '_')
        };
        self.body.len() >= 15
            && !self.body.contains(&"")
            && self.body.iter().filter(begins_statement).count() >= 8
    }
}

/// Returns the functions of formatted code that have a body.
fn functions<'a>(code: &[&'a str]) -> Vec<Function<'a>> {
    let mut functions = Vec::new();
    for (at, line) in code.iter().enumerate() {
        let declaration = line.trim_start();
        let is_function = declaration.starts_with("fn ")
            || declaration.contains(" fn ") && !declaration.starts_with("//");
        if !is_function {
            continue;
        }

        let mut lines = code.iter().skip(at).copied();
        let last_of_signature = lines.find(|it| it.ends_with(['{', ';', '}']));
        if !last_of_signature.is_some_and(|it| it.ends_with('{')) {
            continue;
        }

        let margin = " ".repeat(line.len() - declaration.len());
        let end = format!("{margin}}}");
        let body = lines.take_while(|it| *it != end).collect();
        functions.push(Function { number: at + 1, indentation: format!("{margin}    "), body });
    }
    functions
}

#[test]
fn no_work_is_left_unfinished() {
    // Concatenated, so that this file does not match.
    let marks =
        [concat!("#[", "ignore"), concat!("TO", "DO"), concat!("FIX", "ME"), concat!("to", "do!(")];
    let mut files = rust_files();
    files.extend(files_below(&root().join("migrations"), "sql"));
    let unfinished = files.into_iter().flat_map(|file| {
        let text = read_text(&file);
        let lines = text.lines().enumerate();
        let marked = lines.filter(|(_, line)| marks.iter().any(|it| line.contains(it)));
        let places = marked.map(|(number, line)| {
            format!("{}:{}: {}", display_path(&file), number + 1, line.trim())
        });
        places.collect::<Vec<_>>()
    });
    refuse(unfinished, "marks of unfinished work, or tests that do not run");
}

#[test]
fn storage_does_not_forward_port_methods() {
    let storage = rust_files().into_iter().filter(|it| {
        let path = display_path(it);
        path.starts_with("crates/storage") && path.contains("/src/")
    });
    let forwarding = storage.flat_map(|file| {
        let methods = forwarding_methods(&read_text(&file));
        methods.into_iter().map(move |it| format!("{}: {it}", display_path(&file)))
    });
    refuse(forwarding, "methods that only one other method calls, and only to forward to them");
}

/// Returns the methods of a file that are called only once, by a method that
/// does nothing else.
fn forwarding_methods(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let bodies = lines.windows(3).filter_map(|it| match it {
        [opened, body, "}"] if opened.ends_with('{') => body.strip_prefix("Ok(self."),
        _ => None,
    });
    bodies
        .filter(|it| it.ends_with(".await?)"))
        .filter_map(|it| Some(it.split_once('(')?.0.to_owned()))
        .filter(|it| text.matches(&format!("self.{it}(")).count() == 1)
        .filter(|it| text.contains(&format!("fn {it}(")))
        .collect()
}

#[test]
fn a_forwarding_method_is_found() {
    let forwards = "async fn end(&self) {\nOk(self.delete().await?)\n}\nasync fn delete(&self) {}";
    let shared = format!("{forwards}\nasync fn sweep(&self) {{\nOk(self.delete().await?)\n}}");

    assert_eq!(forwarding_methods(forwards), ["delete"]);
    assert_eq!(forwarding_methods(&shared), Vec::<String>::new());
}

#[test]
fn every_email_has_a_template() {
    let shipped = rust_files().into_iter().filter(|it| {
        let path = display_path(it);
        path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/tests.rs")
    });
    let emails: BTreeSet<String> = shipped
        .flat_map(|it| {
            let text = read_text(&it);
            let queued = text.match_indices("QueuedEmail::new(\"");
            let linked = text.match_indices(" template: \"");
            let starts = queued.chain(linked).map(|(at, it)| at + it.len());
            let names = starts.filter_map(|at| text.get(at..)?.split('"').next());
            names.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let kinds = read_text(&root().join("crates/mail/src/templates/kind.rs"));

    let without_template = emails.iter().filter(|it| !kinds.contains(&format!("\"{it}\" =>")));

    refuse(without_template.cloned(), "emails without a template");
    assert!(!emails.is_empty(), "there are no emails");
}

#[test]
fn every_action_of_the_audit_log_is_explained() {
    let metadata = load_metadata();
    let deciding = metadata.workspace_packages().into_iter().filter(|it| {
        let layer = it.metadata["architecture"]["layer"].as_str();
        layer.is_some_and(|it| ["domain", "composition"].contains(&it))
    });
    let folders = deciding.filter_map(|it| it.manifest_path.parent()).map(|it| it.join("src"));
    let files = folders.flat_map(|it| files_below(it.as_std_path(), "rs"));
    let shipped = files.filter(|it| {
        let path = display_path(it);
        !path.ends_with("tests.rs") && !path.contains("/tests/")
    });
    let used_actions: BTreeSet<String> = shipped
        .flat_map(|it| {
            let text = read_text(&it);
            let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
            let literals = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
            literals.map(str::to_owned).collect::<Vec<_>>()
        })
        .filter(|it| is_action(it) && !NOT_ACTIONS.contains(&it.as_str()))
        .collect();
    let handbook = read_text(&root().join("docs/AUDIT.md"));
    let documented_actions: BTreeSet<String> = handbook
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();

    let selectable_actions: BTreeSet<String> =
        read_text(&root().join("crates/console/src/admin/audit/actions.rs"))
            .lines()
            .filter_map(|line| line.split('"').nth(1))
            .filter(|it| is_action(it))
            .map(str::to_owned)
            .collect();

    let differing_actions = used_actions.symmetric_difference(&documented_actions).cloned();
    let differing_selection = selectable_actions.symmetric_difference(&documented_actions).cloned();

    refuse(differing_actions, "actions that only the code or only docs/AUDIT.md has");
    refuse(differing_selection, "actions that only the console or only docs/AUDIT.md has");
    assert!(!used_actions.is_empty(), "there are no actions");
}

/// Returns whether a text has the form `noun.what_happened`, or
/// `Noun.WhatHappened` as for actions of administrators.
fn is_action(text: &str) -> bool {
    let is_lower = |name: &str| {
        !name.is_empty() && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_')
    };
    let is_title = |name: &str| {
        name.starts_with(|it: char| it.is_ascii_uppercase())
            && name.bytes().all(|it| it.is_ascii_alphabetic())
    };
    let Some((noun, verb)) = text.split_once('.') else { return false };
    (is_lower(noun) && is_lower(verb)) || (is_title(noun) && is_title(verb))
}

#[test]
fn both_databases_have_the_same_migrations() {
    let names = |database: &str| -> BTreeSet<String> {
        let folder = root().join("migrations").join(database);
        let entries = folder.read_dir().unwrap_or_else(|err| panic!("{}: {err}", folder.display()));
        entries.map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let sqlite = names("sqlite");
    let postgres = names("postgres");

    let unpaired = sqlite.symmetric_difference(&postgres).cloned();

    refuse(unpaired, "migrations that only one database has");
    assert!(!sqlite.is_empty(), "there are no migrations");
}

#[test]
fn dependencies_come_from_the_registry() {
    let metadata = load_metadata();
    let foreign_packages = metadata.packages.iter().filter_map(|it| {
        let source = it.source.as_ref()?.to_string();
        (!source.starts_with("registry+")).then(|| format!("{} from {source}", it.name))
    });
    refuse(foreign_packages, "dependencies from elsewhere than the registry");
}

#[test]
fn every_crate_inherits_the_lints_and_names_its_layer() {
    let metadata = load_metadata();
    let incomplete = metadata.workspace_packages().into_iter().filter(|it| {
        let manifest = read_text(it.manifest_path.as_std_path());
        !manifest.contains("[lints]\nworkspace = true")
            || !it.metadata["architecture"]["layer"].is_string()
    });
    refuse(incomplete.map(|it| it.name.to_string()), "crates without the lints or without a layer");
}

#[test]
fn a_crate_root_contains_only_modules() {
    let roots = rust_files().into_iter().filter(|it| it.ends_with("src/lib.rs"));
    let violations = roots.filter_map(|it| {
        let item = first_other_item(&read_text(&it))?;
        Some(format!("{}: {item}", display_path(&it)))
    });
    refuse(violations, "lib.rs files with more than docs, modules and uses");
}

#[test]
fn operators_have_a_changelog() {
    assert!(root().join("CHANGELOG.md").is_file(), "CHANGELOG.md is missing");
}

#[test]
fn other_items_are_found_in_a_root() {
    let root_of_modules =
        "//! Docs.\n\n#[cfg(test)]\nmod a;\npub mod b;\n\npub use a::{B, C};\nuse b::D;\n";

    assert_eq!(first_other_item(root_of_modules), None);
    assert_eq!(first_other_item("mod a;\n\npub fn b() {}\n").as_deref(), Some("pub fn b() {}"));
}

fn refuse(violations: impl Iterator<Item = String>, description: &str) {
    let violations: Vec<String> = violations.collect();
    assert!(violations.is_empty(), "{description}:\n{}", violations.join("\n"));
}

fn load_metadata() -> Metadata {
    MetadataCommand::new().exec().expect("cargo metadata")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn display_path(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

fn rust_files() -> Vec<PathBuf> {
    ["crates", "xtask"].iter().flat_map(|it| files_below(&root().join(it), "rs")).collect()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in folder.read_dir().into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the first item in a crate's root that is neither comment, attribute,
/// module nor use.
fn first_other_item(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim);
    let code_lines: Vec<&str> = lines
        .filter(|it| !it.is_empty() && !it.starts_with("//") && !it.starts_with('#'))
        .collect();
    let code = code_lines.join(" ");
    let mut statements = code.split_inclusive(';').map(str::trim);
    let allowed = ["mod ", "pub mod ", "use ", "pub use ", "pub(crate) use "];
    statements
        .find(|it| !allowed.iter().any(|start| it.starts_with(start)) || !it.ends_with(';'))
        .map(str::to_owned)
}
