//! Settings that nobody requested: most often a slip of the pen.

use std::collections::{BTreeMap, BTreeSet};

use figment::value::{Dict, Value};

use super::fault::{Reason, SettingError};
use super::notice::Notice;
use super::section::{Layered, Outcome, join};

/// Maximum number of unknown settings reported at once.
const MAX_REPORTED: usize = 50;
/// Maximum edit distance for a suggested name.
const MAX_EDIT_DISTANCE: usize = 2;
/// Longer than any name that is compared.
const MAX_KEY_CHARS: usize = 60;

/// Finds in known sections what is no setting of theirs. Sections that nobody
/// knows are not ours to judge, unless one looks like a slip.
pub(super) fn look(layered: &Layered, outcome: &mut Outcome) {
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

/// Names in lower case, each with its spelling: those of settings, and those
/// of sections with what is in them.
#[derive(Default)]
struct KnownKeys {
    settings: BTreeMap<String, String>,
    sections: BTreeMap<String, String>,
    /// Settings that were reported already.
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
        let mut rest = key;
        while let Some((section, _)) = rest.rsplit_once(':') {
            self.sections.insert(section.to_lowercase(), section.to_owned());
            rest = section;
        }
    }

    /// Returns the key in a section that is spelled almost so.
    fn like(&self, section: &str, name: &str) -> Option<&str> {
        if name.len() > MAX_KEY_CHARS {
            return None;
        }
        let names = self.settings.values().chain(self.sections.values());
        let inside = names.filter_map(|key| {
            let (parent, last) = key.rsplit_once(':').unwrap_or(("", key));
            parent.eq_ignore_ascii_case(section).then_some(last)
        });
        let apart = inside.map(|it| (distance(&it.to_lowercase(), name), it));
        let nearest = apart.min()?;
        (nearest.0 <= MAX_EDIT_DISTANCE && nearest.0 * 2 < name.len()).then_some(nearest.1)
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
                    let (key, origin) = (key.clone(), self.layered.origin(value));
                    let reason = Reason::form("expected a section");
                    self.outcome.faults.push(SettingError::of_key(key, origin, reason));
                }
                (None, _) => self.unknown(path, name, value),
            }
        }
    }

    fn unknown(&mut self, path: &str, name: &str, value: &Value) {
        let meant = self.known.like(path, name);
        if self.outcome.notices.len() >= MAX_REPORTED || (path.is_empty() && meant.is_none()) {
            return;
        }
        let text = match meant {
            Some(meant) => format!("is not known and has no effect; did you mean `{meant}`?"),
            None => "is not known and has no effect".to_owned(),
        };
        let section = self.known.sections.get(path).map_or("", String::as_str);
        let origin = self.layered.origin(value);
        self.outcome.notices.push(Notice::new(join(section, name), origin, text));
    }
}

/// Returns the number of letters must be put in, taken out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (before, x) in a.chars().enumerate() {
        let (mut diagonal, mut left) = (before, before + 1);
        let mut next = vec![left];
        for (y, above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_their_letters() {
        for (a, b, apart) in [("", "", 0), ("model", "modle", 2), ("issuer", "isuer", 1)] {
            assert_eq!(distance(a, b), apart, "{a} {b}");
        }
        assert_eq!(distance("", "abc"), 3);
    }
}
