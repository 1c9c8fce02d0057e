//! Check that the messages about fields of forms have texts in the console.

use std::path::{Path, PathBuf};

use super::{display_path, files_below, read_text, refuse, root};

/// Files of the texts.
const TEXTS: [&str; 2] =
    ["crates/console/src/texts/field_messages.rs", "crates/console/src/texts/setting_reasons.rs"];

/// Files whose sentences are messages about fields, except for those of errors' variants.
const VIOLATIONS: [&str; 22] = [
    "assignments/src/administration.rs",
    "assignments/src/webhooks.rs",
    "identity/src/api_keys.rs",
    "identity/src/app_passwords.rs",
    "identity/src/passkeys.rs",
    "identity/src/passwords/changes.rs",
    "identity/src/passwords/rules.rs",
    "identity/src/people/accounts.rs",
    "identity/src/people/address_change.rs",
    "identity/src/people/deletion.rs",
    "identity/src/people/email.rs",
    "identity/src/people/invitations.rs",
    "identity/src/scim/tokens.rs",
    "identity/src/violation.rs",
    "policy/src/certificates.rs",
    "policy/src/personas.rs",
    "policy/src/personas/draft.rs",
    "policy/src/plugins.rs",
    "policy/src/plugins/draft.rs",
    "policy/src/setting_overrides.rs",
    "policy/src/violation.rs",
    "uploads/src/icon.rs",
];

/// Files whose errors' variants are messages about fields.
const ERRORS: [&str; 7] = [
    "assistant/src/credits/usage_report.rs",
    "authenticode/src/cabinet.rs",
    "mail/src/settings.rs",
    "passwords/src/cost.rs",
    "policy/src/groups/group.rs",
    "policy/src/groups/settings.rs",
    "settings/src/vector_target.rs",
];

/// Sentences of these files that are about something else.
const OTHER_SENTENCES: [&str; 8] = [
    "The company's name",
    "Terminated by an administrator.",
    "a webhook was not delivered",
    "named as the fields of `PublishedPersona` and its contents",
    "named as the fields of `PublishedPlugin` and its contents",
    "passkey registration rejected",
    "the secret could not be read",
    "too many changes at once",
];

/// Files of the settings whose errors no form can cause: of sources, and of commands.
const OTHER_SETTINGS: [&str; 5] =
    ["command", "environment.rs", "group_setting.rs", "layers.rs", "sources.rs"];

/// Code before the reason why a value of a setting is refused.
const REASONS: [&str; 4] = ["Reason::form(", "Reason::weak(", "Reason::combination(", "Missing,"];

/// Subjects that the console leaves out, beside the names of fields.
const SUBJECTS: [&str; 3] = ["The name", "the name", "The company's name"];

/// String literal of a file.
struct Literal {
    /// Code before it, from the previous literal on.
    before: String,
    text: String,
}

#[test]
fn every_message_about_a_field_has_a_text() {
    let patterns: Vec<String> = TEXTS
        .iter()
        .flat_map(|it| literals(&read_text(&root().join(it))))
        .map(|it| it.text)
        .collect();
    let mut messages = Vec::new();
    for file in VIOLATIONS.map(crate_file) {
        let sentences = literals(&read_text(&file)).into_iter().filter(|it| {
            !it.is_of_variant()
                && it.text.split(' ').count() > 2
                && !OTHER_SENTENCES.contains(&it.text.as_str())
        });
        messages.extend(sentences.map(|it| (display_path(&file), it.text)));
    }
    for file in ERRORS.map(crate_file) {
        let variants = literals(&read_text(&file)).into_iter().filter(Literal::is_of_variant);
        messages.extend(variants.map(|it| (display_path(&file), it.text)));
    }
    for file in files_of_settings() {
        let reasons = literals(&read_text(&file)).into_iter().filter(Literal::is_reason);
        messages.extend(reasons.map(|it| (display_path(&file), it.text)));
    }
    assert!(messages.len() > 100, "there are few messages: {}", messages.len());

    let is_listed = |message: &str| {
        predicates(message).iter().any(|it| patterns.iter().any(|pattern| fits(pattern, it)))
    };
    let unlisted = messages.into_iter().filter(|(_, message)| !is_listed(message));

    refuse(
        unlisted.map(|(file, message)| format!("{file}: {message}")),
        "messages about fields without a text in crates/console/src/texts",
    );
}

#[test]
fn literals_are_found_with_the_code_before_them() {
    let code = "// \"no\"\nrefuse(\"a \\\"b\\\" \\\n    c\");\nlet x = '\"';\n#[cfg(test)]\n\"no\"";

    let found = literals(code);

    assert_eq!(found.len(), 1);
    assert!(found.iter().all(|it| it.before == "refuse(" && it.text == "a \"b\" c"));
}

impl Literal {
    fn is_of_variant(&self) -> bool {
        self.before.trim_end().ends_with("#[error(")
    }

    fn is_reason(&self) -> bool {
        let before = self.before.trim_end();
        let before = before.strip_suffix("format!(").unwrap_or(before).trim_end();
        let is_sentence = self.text.contains(' ');
        let begins_like_one = ["expected ", "names "].iter().any(|it| self.text.starts_with(it));
        is_sentence && (begins_like_one || REASONS.iter().any(|it| before.ends_with(it)))
    }
}

fn crate_file(path: &str) -> PathBuf {
    root().join("crates").join(path)
}

fn files_of_settings() -> Vec<PathBuf> {
    let is_other = |path: &Path| {
        let name = display_path(path);
        name.contains("/tests") || OTHER_SETTINGS.iter().any(|it| name.contains(it))
    };
    let mut files = files_below(&crate_file("settings/src"), "rs");
    files.retain(|it| !is_other(it));
    files
}

/// Returns the forms in which the console looks for a message: as a sentence, with its subject
/// and without. The first word may be the name of the field.
fn predicates(message: &str) -> Vec<String> {
    let sentence = |text: &str| {
        let mut characters = text.chars();
        let first = characters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
        let end = if text.ends_with('.') { "" } else { "." };
        format!("{first}{}{end}", characters.as_str())
    };
    let without_field = message.split_once(' ').map(|it| it.1);
    let without_subject =
        SUBJECTS.iter().filter_map(|it| message.strip_prefix(it)?.strip_prefix(' '));
    [message].into_iter().chain(without_field).chain(without_subject).map(sentence).collect()
}

/// Returns whether a message has the form of a pattern, in which `{}` stands for any text.
fn fits(pattern: &str, message: &str) -> bool {
    let Some((start, end)) = pattern.rsplit_once("{}") else { return pattern == message };
    let Some(mut rest) = message.strip_suffix(end) else { return false };
    start.split("{}").enumerate().all(|(index, separator)| {
        let others = match index {
            0 => rest.strip_prefix(separator),
            _ => rest.split_once(separator).map(|it| it.1),
        };
        rest = others.unwrap_or_default();
        others.is_some()
    })
}

/// Returns the string literals of a file up to its tests, except in comments.
fn literals(file: &str) -> Vec<Literal> {
    let lines = file.lines().take_while(|line| *line != "#[cfg(test)]");
    let code_lines: Vec<&str> = lines.filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code_lines.join("\n").replace("'\"'", "' '");

    let mut literals = Vec::new();
    let mut rest = code.as_str();
    while let Some((before, quoted)) = rest.split_once('"') {
        let mut is_escaped = false;
        let end = quoted.find(|character: char| {
            let is_end = character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_end
        });
        let Some((literal, others)) = end.and_then(|it| quoted.split_at_checked(it)) else { break };
        let text = literal.split("\\\n").map(str::trim_start).collect::<String>();
        literals.push(Literal { before: before.to_owned(), text: text.replace("\\\"", "\"") });
        rest = others.strip_prefix('"').unwrap_or_default();
    }
    literals
}
