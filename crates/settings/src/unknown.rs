//! Unknown settings, most of which are misspelled.
//!
//! `Sources` calls `report` after all sections were read: keys that no section read
//! are unknown. The most similar known key of the same section is suggested, by its
//! Levenshtein distance.

use std::collections::{BTreeMap, BTreeSet};

use figment::value::{Dict, Value};

use super::error::{Reason, SettingError};
use super::notice::Notice;
use super::section::{Layered, Outcome, join};

/// Maximum number of unknown settings reported at once.
const MAX_REPORTED: usize = 50;
/// Maximum edit distance for a suggested name.
const MAX_EDIT_DISTANCE: usize = 2;
/// Maximum length of a name that is compared.
const MAX_KEY_CHARS: usize = 60;

/// Reports keys of known sections that are not settings. Unknown sections are
/// ignored, unless one looks misspelled.
pub(super) fn report(layered: &Layered, outcome: &mut Outcome) {
    let mut known = KnownKeys::default();
    for key in outcome.snapshot.keys() {
        known.add(key);
    }
    for section in &outcome.sections {
        known.sections.insert(section.to_lowercase(), section.clone());
    }
    known.ignored.extend(outcome.ignored.iter().cloned());
    let Some(all) = layered.merged().as_dict() else { return };
    Search { layered, outcome, known }.section("", all);
}

/// Known keys in lower case, each with its spelling: those of settings, and
/// those of sections.
#[derive(Default)]
struct KnownKeys {
    settings: BTreeMap<String, String>,
    sections: BTreeMap<String, String>,
    /// Settings that were already reported.
    ignored: BTreeSet<String>,
}

struct Search<'a> {
    layered: &'a Layered,
    outcome: &'a mut Outcome,
    known: KnownKeys,
}

impl KnownKeys {
    fn add(&mut self, key: &str) {
        self.settings.insert(key.to_lowercase(), key.to_owned());
        let mut path = key;
        while let Some((section, _)) = path.rsplit_once(':') {
            self.sections.insert(section.to_lowercase(), section.to_owned());
            path = section;
        }
    }

    /// Returns the key in a section with the most similar spelling.
    fn most_similar(&self, section: &str, name: &str) -> Option<&str> {
        if name.len() > MAX_KEY_CHARS {
            return None;
        }
        let keys = self.settings.values().chain(self.sections.values());
        let names_in_section = keys.filter_map(|key| {
            let (parent, last) = key.rsplit_once(':').unwrap_or(("", key));
            parent.eq_ignore_ascii_case(section).then_some(last)
        });
        let (edits, nearest) =
            names_in_section.map(|it| (distance(&it.to_lowercase(), name), it)).min()?;
        (edits <= MAX_EDIT_DISTANCE && edits * 2 < name.len()).then_some(nearest)
    }
}

impl Search<'_> {
    fn section(&mut self, path: &str, section: &Dict) {
        for (name, value) in section {
            let inner = join(path, name);
            if self.known.settings.contains_key(&inner) || self.known.ignored.contains(&inner) {
                continue;
            }

            match (self.known.sections.get(&inner), value.as_dict()) {
                (Some(_), Some(section)) => self.section(&inner, section),
                (Some(key), None) => {
                    let key = key.clone();
                    let origin = self.layered.origin(value);
                    let reason = Reason::form("expected a section");
                    self.outcome.errors.push(SettingError::of_key(key, origin, reason));
                }
                (None, _) => self.unknown(path, name, value),
            }
        }
    }

    fn unknown(&mut self, path: &str, name: &str, value: &Value) {
        let suggestion = self.known.most_similar(path, name);
        if self.outcome.notices.len() >= MAX_REPORTED || (path.is_empty() && suggestion.is_none()) {
            return;
        }

        let text = match suggestion {
            Some(suggestion) => {
                format!("is not known and has no effect; did you mean `{suggestion}`?")
            }
            None => "is not known and has no effect".to_owned(),
        };

        let section = self.known.sections.get(path).map_or("", String::as_str);
        let origin = self.layered.origin(value);
        self.outcome.notices.push(Notice::new(join(section, name), origin, text));
    }
}

/// Returns the edit distance: the number of characters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (index, a_char) in a.chars().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        let mut next_row = vec![left];
        for (b_char, above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(a_char != b_char)).min(above + 1).min(left + 1);
            diagonal = *above;
            next_row.push(left);
        }
        row = next_row;
    }

    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edit_distance_is_counted() {
        for (a, b, expected) in [("", "", 0), ("model", "modle", 2), ("issuer", "isuer", 1)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
        assert_eq!(distance("", "abc"), 3);
    }
}
