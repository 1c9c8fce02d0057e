//! `Ai:Providers`: the catalogue.

use std::collections::BTreeSet;
use std::sync::Arc;

use pia_assistant::{SearchProvider, Target};

use super::entry::Entry;
use super::identifier::EntryId;
use super::kind::Kind;
use super::model::Model;
use crate::error::Reason;
use crate::section::Section;
use crate::setting::Setting;

/// Entries of the catalogue.
pub(super) struct Providers {
    pub(super) entries: Vec<Arc<Target>>,
    pub(super) searches: Vec<Arc<SearchProvider>>,
    pub(super) embedders: Vec<Arc<Target>>,
    /// Entries that others may refer to, invalid ones included: an error is
    /// reported once, not at every reference.
    referable: Vec<ReferableEntry>,
}

struct ReferableEntry {
    id: String,
    kind: Kind,
    embeds: bool,
    is_blind: bool,
}

impl Providers {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let count = count_entries(from);

        let mut providers = Self {
            entries: Vec::new(),
            searches: Vec::new(),
            embedders: Vec::new(),
            referable: Vec::new(),
        };

        let mut entries = Vec::new();
        for number in 0..count {
            let mut section = from.section(&number.to_string());
            let entry = Entry::from_section(&mut section);
            providers.register(&entry, &mut section);
            entries.push((number, entry));
        }

        for (number, entry) in entries {
            let mut section = from.section(&number.to_string());
            providers.check(&entry.model, &mut section);
            check_self_reference(&entry, &mut section);

            match entry.kind {
                Kind::Chat(_) if entry.embeds => {
                    providers.embedders.extend(entry.target(&mut section).map(Arc::new));
                }
                Kind::Chat(_) => providers.entries.extend(entry.target(&mut section).map(Arc::new)),
                Kind::Search => providers.searches.extend(entry.search(&mut section).map(Arc::new)),
            }
        }

        providers
    }

    /// Checks that the entries that a model refers to exist and have the right
    /// type.
    pub(super) fn check(&self, model: &Model, from: &mut Section<'_>) {
        if let Some(id) = &model.web_search_tool {
            let error = match self.find(id) {
                None => Some("names no entry of Ai:Providers"),
                Some(it) if it.kind != Kind::Search => Some("expected an entry of type Linkup"),
                Some(_) => None,
            };
            refuse(from, "WebSearchToolProviderId", error);
        }

        if let Some(id) = &model.vision_tool {
            let error = match self.find(id) {
                None => Some("names no entry of Ai:Providers"),
                Some(it) if it.kind == Kind::Search => Some("expected a chat model, not Linkup"),
                Some(it) if it.embeds => Some("expected a chat model, not one of embeddings"),
                Some(it) if it.is_blind => Some("names an entry whose EnableVision is off"),
                Some(_) => None,
            };
            refuse(from, "VisionToolProviderId", error);
        }

        let error = model.fallbacks.iter().find_map(|id| match self.find(id) {
            None => Some("names an entry that Ai:Providers does not have"),
            Some(it) if it.kind == Kind::Search => Some("expected chat models, not Linkup"),
            Some(it) if it.embeds => Some("expected chat models, not one of embeddings"),
            Some(_) => None,
        });

        refuse(from, "Fallbacks", error);
    }

    fn find(&self, id: &str) -> Option<&ReferableEntry> {
        self.referable.iter().find(|it| it.id.eq_ignore_ascii_case(id))
    }

    /// Registers an entry, so that others may refer to it.
    fn register(&mut self, entry: &Entry, from: &mut Section<'_>) {
        let Some(id) = &entry.id else { return };

        let is_duplicate = self.find(id).is_some();
        refuse(from, "Id", is_duplicate.then_some("is that of another entry, whatever its case"));

        if !is_duplicate {
            self.referable.push(ReferableEntry {
                id: id.clone(),
                kind: entry.kind,
                embeds: entry.embeds,
                is_blind: entry.model.is_blind(),
            });
        }
    }
}

/// Checks that an entry is not its own fallback.
fn check_self_reference(entry: &Entry, from: &mut Section<'_>) {
    let is_own_id = |it: &String| entry.id.as_ref().is_some_and(|id| it.eq_ignore_ascii_case(id));
    let error = entry.model.fallbacks.iter().any(is_own_id);
    refuse(from, "Fallbacks", error.then_some("names the entry itself"));
}

fn refuse(from: &mut Section<'_>, name: &str, error: Option<&'static str>) {
    if let Some(error) = error {
        from.refuse(name, Reason::combination(error));
    }
}

/// Returns the number of entries from 0 on without a gap. Entries behind a gap
/// are ignored, with a notice for each.
fn count_entries(from: &mut Section<'_>) -> usize {
    from.may_be_empty();
    let names = from.names();
    let numbers: BTreeSet<usize> = names.iter().filter_map(|it| entry_number(it)).collect();
    let count = (0..names.len()).take_while(|it| numbers.contains(it)).count();

    for name in names {
        match entry_number(name) {
            Some(number) if number < count => {}
            Some(_) => {
                let id = from
                    .peek(&format!("{name}:Id"))
                    .and_then(|it| EntryId::parse(it).ok())
                    .map_or_else(String::new, |it| format!(" (`{}`)", it.0));
                let text = format!("the entry{id} is ignored, since there is no entry {count}");
                from.ignore(name, text);
            }
            None => from.ignore(name, "is ignored: entries have numbers, from 0 on"),
        }
    }

    count
}

/// Parses the number of an entry; `None` for other spellings, such as `07`.
fn entry_number(name: &str) -> Option<usize> {
    let number: usize = name.parse().ok()?;
    (number.to_string() == name).then_some(number)
}
