//! `Ai:Providers`: the catalogue.

use std::collections::BTreeSet;
use std::sync::Arc;

use pia_assistant::{SearchProvider, Target};

use super::entry::Entry;
use super::identifier::EntryId;
use super::kind::Kind;
use super::model::Model;
use crate::fault::Reason;
use crate::section::Section;
use crate::setting::Setting;

/// The entries there are.
pub(super) struct Providers {
    pub(super) entries: Vec<Arc<Target>>,
    pub(super) searches: Vec<Arc<SearchProvider>>,
    pub(super) embedders: Vec<Arc<Target>>,
    /// Entries that others may name, invalid ones included: an error is
    /// reported once, not wherever its entry is named.
    named: Vec<Named>,
}

struct Named {
    id: String,
    kind: Kind,
    embeds: bool,
    is_blind: bool,
}

impl Providers {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let count = in_order(from);
        let mut providers = Self {
            entries: Vec::new(),
            searches: Vec::new(),
            embedders: Vec::new(),
            named: Vec::new(),
        };
        let mut entries = Vec::new();
        for number in 0..count {
            let mut section = from.section(&number.to_string());
            let entry = Entry::from_section(&mut section);
            providers.name(&entry, &mut section);
            entries.push((number, entry));
        }
        for (number, entry) in entries {
            let mut section = from.section(&number.to_string());
            providers.check(&entry.model, &mut section);
            check_itself(&entry, &mut section);
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

    /// Returns whether what a model names is there, and what it is to be.
    pub(super) fn check(&self, model: &Model, from: &mut Section<'_>) {
        if let Some(id) = &model.web_search_tool {
            let wrong = match self.find(id) {
                None => Some("names no entry of Ai:Providers"),
                Some(it) if it.kind != Kind::Search => Some("expected an entry of type Linkup"),
                Some(_) => None,
            };
            refuse(from, "WebSearchToolProviderId", wrong);
        }
        if let Some(id) = &model.vision_tool {
            let wrong = match self.find(id) {
                None => Some("names no entry of Ai:Providers"),
                Some(it) if it.kind == Kind::Search => Some("expected a chat model, not Linkup"),
                Some(it) if it.embeds => Some("expected a chat model, not one of embeddings"),
                Some(it) if it.is_blind => Some("names an entry whose EnableVision is off"),
                Some(_) => None,
            };
            refuse(from, "VisionToolProviderId", wrong);
        }
        let wrong = model.fallbacks.iter().find_map(|id| match self.find(id) {
            None => Some("names what is no entry of Ai:Providers"),
            Some(it) if it.kind == Kind::Search => Some("expected chat models, not Linkup"),
            Some(it) if it.embeds => Some("expected chat models, not one of embeddings"),
            Some(_) => None,
        });
        refuse(from, "Fallbacks", wrong);
    }

    fn find(&self, id: &str) -> Option<&Named> {
        self.named.iter().find(|it| it.id.eq_ignore_ascii_case(id))
    }

    /// Makes an entry known to the others.
    fn name(&mut self, entry: &Entry, from: &mut Section<'_>) {
        let Some(id) = &entry.id else { return };
        let again = self.find(id).is_some();
        refuse(from, "Id", again.then_some("is that of another entry, whatever its case"));
        if !again {
            let (id, is_blind) = (id.clone(), entry.model.is_blind());
            self.named.push(Named { id, kind: entry.kind, embeds: entry.embeds, is_blind });
        }
    }
}

/// No entry answers in its own place.
fn check_itself(entry: &Entry, from: &mut Section<'_>) {
    let own = |it: &String| entry.id.as_ref().is_some_and(|id| it.eq_ignore_ascii_case(id));
    let wrong = entry.model.fallbacks.iter().any(own);
    refuse(from, "Fallbacks", wrong.then_some("names the entry itself"));
}

fn refuse(from: &mut Section<'_>, name: &str, wrong: Option<&'static str>) {
    if let Some(wrong) = wrong {
        from.refuse(name, Reason::combination(wrong));
    }
}

/// Returns the number of entries there are from 0 on without a gap. Those
/// behind one are left aside, which is notified of each.
fn in_order(from: &mut Section<'_>) -> usize {
    from.may_be_empty();
    let names = from.names();
    let numbers: BTreeSet<usize> = names
        .iter()
        .filter_map(|it| Some((it, it.parse().ok()?)))
        .filter(|(name, number): &(_, usize)| number.to_string() == **name)
        .map(|(_, number)| number)
        .collect();
    let count = (0..names.len()).take_while(|it| numbers.contains(it)).count();
    for name in names {
        match name.parse::<usize>() {
            Ok(number) if number < count && number.to_string() == name => {}
            Ok(number) if number.to_string() == name => {
                let id = from.peek(&format!("{name}:Id")).and_then(|it| EntryId::parse(it).ok());
                let id = id.map_or_else(String::new, |it| format!(" (`{}`)", it.0));
                let text = format!("the entry{id} is ignored, since there is no entry {count}");
                from.ignore(name, text);
            }
            _ => from.ignore(name, "is ignored: entries have numbers, from 0 on"),
        }
    }
    count
}
