//! Ids of the catalogue, for configurations that only refer to them.

use super::identifier::EntryId;
use super::kind::Kind;
use crate::section::Section;
use crate::setting::Setting;

/// Ids of the catalogue, regardless of other errors in its entries.
#[derive(Debug, Clone, Default)]
pub struct ListedEntries {
    models: Vec<String>,
    searches: Vec<String>,
}

impl ListedEntries {
    /// Reads the ids of `Ai:Providers`, numbered from 0 without a gap, as a
    /// server does. Reports no missing settings.
    pub(crate) fn from_section(from: &Section<'_>) -> Self {
        let mut listed = Self::default();
        let names = from.names();
        for number in (0..names.len()).map(|it| it.to_string()) {
            if !names.contains(&number.as_str()) {
                break;
            }

            let peek = |key: &str| from.peek(&format!("{number}:{key}"));
            let Some(EntryId(id)) = peek("Id").and_then(|it| EntryId::parse(it).ok()) else {
                continue;
            };

            match peek("ProviderType").and_then(|it| Kind::parse(it).ok()) {
                Some(Kind::Search) => listed.searches.push(id),
                Some(Kind::Chat(_)) | None => listed.models.push(id),
            }
        }

        listed
    }

    /// Returns the reason why no model has this id, in any case; `None` if one
    /// may have it.
    pub fn fault(&self, id: &str) -> Option<&'static str> {
        let is_in = |listed: &[String]| listed.iter().any(|it| it.eq_ignore_ascii_case(id));
        if is_in(&self.models) {
            None
        } else if is_in(&self.searches) {
            Some("is a web search, not a chat model")
        } else {
            Some("is not an entry of Ai:Providers")
        }
    }
}
