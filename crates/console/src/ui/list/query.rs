//! Query of a list: the parameters that search it, sort it and choose its page.

use crate::ui::Field;
use crate::ui::table::SortLink;

/// Parameter with the searched text.
pub(super) const SEARCH: &str = "search";
/// Parameter with the column that sorts the list, after `-` in descending order.
pub(super) const SORT: &str = "sort";
/// Parameter with the row that the page begins after: its position, counted from one,
/// and its key.
pub(super) const AFTER: &str = "after";
/// Parameters that are meaningless in another order or after another search: the
/// page, also that of lists of which one page is loaded, and the result of a form.
const PAGE_PARAMETERS: [&str; 3] = [AFTER, "cursor", "done"];

/// Parameters of a request, also those of other parts of the page.
pub(super) struct ListQuery(pub(super) Vec<(String, String)>);

impl ListQuery {
    /// Returns the query with a parameter replaced, or removed if its value is
    /// empty. It leads to the first page unless the parameter is that of pages.
    pub(super) fn with(&self, name: &str, value: &str) -> String {
        let mut pairs = self.0.clone();
        pairs.retain(|it| it.0 != name && !PAGE_PARAMETERS.contains(&it.0.as_str()));
        if !value.is_empty() {
            pairs.push((name.to_owned(), value.to_owned()));
        }
        serde_urlencoded::to_string(pairs).unwrap_or_default()
    }

    /// Returns a parameter; empty if it is missing.
    pub(super) fn value(&self, name: &str) -> &str {
        self.0.iter().find(|it| it.0 == name).map_or("", |it| it.1.as_str())
    }

    /// Returns the link of a heading, which reverses the order if the list is sorted by it.
    pub(super) fn sort_link(&self, name: &str) -> SortLink {
        let descending = format!("-{name}");
        let sort = self.value(SORT);
        if sort == name {
            SortLink { query: self.with(SORT, &descending), order: "ascending" }
        } else {
            let order = if sort == descending { "descending" } else { "" };
            SortLink { query: self.with(SORT, name), order }
        }
    }

    /// Returns hidden fields by which a search form repeats the parameters that a new search
    /// does not change.
    pub(super) fn fields_beside_search(&self) -> impl Iterator<Item = Field> {
        self.0
            .iter()
            .filter(|it| it.0 != SEARCH && !PAGE_PARAMETERS.contains(&it.0.as_str()))
            .map(|(name, value)| Field::hidden(name, value))
    }
}
