//! The rules of docs/GLOSSARY.md that a program can check.

#![expect(clippy::expect_used, clippy::panic, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Words that no doc comment begins with: they leave out the thing's noun.
const OPENINGS: [&str; 30] = [
    "What", "How", "Whether", "Whose", "Who", "Where", "When", "Which", "Why", "The same", "It",
    "Its", "There", "Of", "As", "So", "Those", "They", "That", "Nobody", "Whoever", "Whatever",
    "In", "By", "To", "Since", "Not", "Nothing", "Only", "Here",
];

/// Names of functions that say nothing of what they do.
const VAGUE_FUNCTIONS: [&str; 18] = [
    "told", "kept", "known", "shown", "said", "asked", "given", "owed", "begun", "come_in",
    "appoint", "put_on", "take_off", "shut_out", "let_in", "bury", "judge", "sift",
];

/// First words of constants that leave out their noun or do not say `MAX`.
const VAGUE_LIMITS: [&str; 7] =
    ["MOST", "LEAST", "LONGEST", "SHORTEST", "LARGEST", "FEWEST", "DEEPEST"];

/// Words that no name contains: each has a dozen meanings.
const VAGUE_WORDS: [&str; 11] =
    ["told", "tell", "tells", "kept", "asked", "asks", "shown", "said", "says", "given", "owed"];

/// Names of others that contain one of these words: SCIM's, and of wiremock.
const FOREIGN_NAMES: [&str; 4] = ["given", "given_name", "GivenName", "givenname"];

/// Public types of one name in several crates that are the same idea.
const ONE_IDEA: &[&str] = &["Violation"];

#[test]
fn doc_comments_begin_with_the_thing_they_describe() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        let mut before = "";
        for (number, line) in text.lines().map(str::trim_start).enumerate() {
            for mark in ["///", "//!"] {
                let Some(doc) = line.strip_prefix(mark) else { continue };
                let begins = !before.starts_with(mark);
                let vague = OPENINGS.iter().any(|it| {
                    let rest = doc.trim_start().strip_prefix(it);
                    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
                });
                if begins && vague {
                    violations.push(format!("{path}:{}: {line}", number + 1));
                }
            }
            before = line;
        }
    }
    refuse(&violations, "doc comments that leave out what they describe");
}

#[test]
fn types_of_outcomes_are_named_so() {
    let mut violations = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_shipped(path)) {
        let mut describes = false;
        for line in text.lines() {
            describes |= line.starts_with("/// Outcome of ");
            let name = line.strip_prefix("pub enum ").or(line.strip_prefix("pub(crate) enum "));
            if let Some(name) = name.and_then(|it| it.split([' ', '<']).next())
                && std::mem::take(&mut describes)
                && !["Outcome", "Result", "Verdict"].iter().any(|it| name.ends_with(it))
            {
                violations.push(format!("{path}: {name}"));
            }
            describes &= !line.is_empty();
        }
    }
    refuse(&violations, "types of outcomes that are named like a success or a command");
}

#[test]
fn vague_names_do_not_come_back() {
    let banned = banned_types();
    let mut violations = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_shipped(path)) {
        for (number, line) in text.lines().enumerate() {
            let Some((keyword, name)) = declaration(line) else { continue };
            let vague = match keyword {
                "fn" => VAGUE_FUNCTIONS.contains(&name),
                "const" | "static" => {
                    VAGUE_LIMITS.iter().any(|it| name.split('_').next() == Some(it))
                }
                _ => banned.iter().any(|(folder, names)| {
                    path.starts_with(folder.as_str()) && names.contains(name)
                }),
            };
            if vague {
                violations.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    refuse(&violations, "names that docs/GLOSSARY.md replaces");
    assert!(banned.values().any(|it| it.contains("Standing")), "the glossary was not read");
}

#[test]
fn names_say_what_they_are() {
    let mut violations = BTreeSet::new();
    for (path, text) in sources() {
        for name in identifiers(&text) {
            let is_vague = words(&name).iter().any(|it| VAGUE_WORDS.contains(&it.as_str()));
            if is_vague && !FOREIGN_NAMES.contains(&name.as_str()) {
                violations.insert(format!("{path}: {name}"));
            }
        }
    }
    refuse(&violations.into_iter().collect::<Vec<_>>(), "names of words with a dozen meanings");
    let sample = r##"let told = r#"kept"#; // asked
        let x = 'a'; fn f<'said>() { "sh\"own" }"##;
    assert_eq!(identifiers(sample), ["let", "told", "let", "x", "fn", "f", "said"]);
    assert_eq!(words("HTTPError_isTold2"), ["h", "t", "t", "p", "error", "is", "told2"]);
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut owners_by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_shipped(path)) {
        let owner = path.split('/').nth(1).unwrap_or_default().to_owned();
        // Those of `named_variants!` are indented.
        let is_public = |it: &&str| it.starts_with("pub ") || it.starts_with("    pub enum ");
        for line in text.lines().filter(is_public) {
            if let Some(("struct" | "enum" | "trait" | "type", name)) = declaration(line) {
                owners_by_name.entry(name.to_owned()).or_default().insert(owner.clone());
            }
        }
    }
    let shared: Vec<String> = owners_by_name
        .into_iter()
        .filter(|(name, owners)| owners.len() > 1 && !ONE_IDEA.contains(&name.as_str()))
        .map(|(name, owners)| format!("{name}: {owners:?}"))
        .collect();
    refuse(&shared, "public types of several crates with one name");
}

/// Returns the types of the glossary's column of replaced words, by the folder
/// of the crates that they are replaced in.
fn banned_types() -> BTreeMap<String, BTreeSet<String>> {
    let glossary = fs::read_to_string(root().join("docs/GLOSSARY.md")).expect("the glossary");
    let (_, table) = glossary.split_once("## Words").expect("its table of words");
    let mut banned: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut areas = Vec::new();
    for row in table.lines().filter(|it| it.starts_with('|')).skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, area, replaced, ..] = cells.as_slice() else { panic!("not a row: {row}") };
        if !area.is_empty() {
            areas = area.split(", ").map(area_folder).collect();
        }
        let is_type =
            |it: &&str| it.starts_with(char::is_uppercase) && it.chars().all(char::is_alphanumeric);
        let parts = replaced.split([',', ';']).map(str::trim);
        let names: BTreeSet<String> = parts.filter(is_type).map(str::to_owned).collect();
        for area in &areas {
            banned.entry(area.clone()).or_default().extend(names.iter().cloned());
        }
    }
    banned
}

fn area_folder(area: &str) -> String {
    if area == "everywhere" { "crates/".to_owned() } else { format!("crates/{area}/") }
}

/// Returns the identifiers of a source file, outside of comments and literals.
fn identifiers(text: &str) -> Vec<String> {
    let mut identifiers = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(end) = raw_text_end(rest) {
            end
        } else if first == '"' {
            text_end(rest)
        } else if first == '\'' {
            // A lifetime is read as an identifier behind its mark.
            char_end(rest).unwrap_or(1)
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_');
            let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            identifiers.push(name.to_owned());
            name.len()
        } else {
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    identifiers
}

/// Returns the length of a raw string literal, if the text begins with one.
fn raw_text_end(text: &str) -> Option<usize> {
    let behind = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes: String = behind.chars().take_while(|it| *it == '#').collect();
    let inside = behind.get(hashes.len()..)?.strip_prefix('"')?;
    let end = format!("\"{hashes}");
    Some(text.len() - inside.len() + inside.find(&end)? + end.len())
}

/// Returns the length of a string literal.
fn text_end(text: &str) -> usize {
    let mut escaped = false;
    for (position, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character literal, if the text begins with one.
fn char_end(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        return Some(3 + inside.get(2..)?.find('\'')?);
    }
    let length = inside.chars().next()?.len_utf8();
    inside.get(length..)?.starts_with('\'').then_some(length + 2)
}

/// Returns the words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for letter in name.chars() {
        if letter == '_' {
            begins = true;
            continue;
        }
        if begins || letter.is_uppercase() {
            words.push(String::new());
        }
        begins = false;
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

/// Returns the keyword and the name that a line declares, if it declares one.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace().skip_while(|it| {
        it.starts_with("pub") || it.starts_with("in") || ["async", "unsafe"].contains(it)
    });
    let keyword = words.next()?;
    let keywords = ["fn", "const", "static", "struct", "enum", "trait", "type"];
    let name = words.next()?.split(|it: char| !it.is_alphanumeric() && it != '_').next()?;
    keywords.contains(&keyword).then_some((keyword, name))
}

/// Returns whether a file is part of a crate, and not only of its tests.
fn is_shipped(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && !path.contains("/tests/")
        && !path.ends_with("tests.rs")
}

/// Returns every Rust file of the workspace, with its path.
fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![root().join("crates"), root().join("xtask")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let name = path.strip_prefix(root()).expect("a path of the workspace");
                let text = fs::read_to_string(&path).expect("a text");
                sources.push((name.display().to_string(), text));
            }
        }
    }
    sources
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn refuse(violations: &[String], description: &str) {
    assert!(violations.is_empty(), "{description}:\n{}", violations.join("\n"));
}
