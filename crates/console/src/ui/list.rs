//! Lists whose rows are all loaded: the query of the request searches them,
//! sorts them and chooses the page, so that each state has an address.
//!
//! `PageContext::list` applies the three steps in this order. A page begins after a
//! row's key and not at an offset, so that added or removed rows repeat or hide
//! none; only if that row itself is gone, it begins at the row's last position. Lists
//! that are too long to be loaded are paged by their stores and built as a `Table`
//! directly.

mod query;

use std::cmp::Reverse;

use pia_kernel::Language;

use self::query::{AFTER, ListQuery, SEARCH, SORT};
use super::table::{Row, Search, SortLink, Table};
use super::view::Link;
use super::{Field, Text};
use crate::page_context::PageContext;
use crate::texts::common;

/// Number of rows on a page.
const PAGE_ROWS: usize = 50;
/// Number of rows up to which a list has no search field.
const MAX_UNSEARCHED_ROWS: usize = 10;

/// Column of a list: its name in the query, and its heading.
pub(crate) type Column = (&'static str, Text);

/// List whose search, order and page a request chooses.
struct RequestedList {
    language: Language,
    /// Path of the list, without the leading slash.
    path: String,
    query: ListQuery,
}

impl PageContext {
    /// Returns the requested page of a list, by its caption, the text in place
    /// of a list without rows, its columns and all its rows. Each row has a key,
    /// and numbers and times their values.
    pub(crate) fn list(
        &self,
        caption: Text,
        empty: Text,
        columns: &[Column],
        rows: Vec<Row>,
    ) -> Table {
        let path = self.page_path().to_owned();
        let list = RequestedList { language: self.language, path, query: self.list_query() };
        list.table(caption, empty, columns, rows)
    }

    /// Returns the links of headings, by the names of the columns in the query; an
    /// empty name is that of a column that sorts nothing.
    pub(crate) fn sort_links(&self, names: &[&str]) -> Vec<Option<SortLink>> {
        let query = self.list_query();
        names.iter().map(|it| (!it.is_empty()).then(|| query.sort_link(it))).collect()
    }

    /// Returns the hidden field of a search form that keeps the order.
    pub(crate) fn sort_field(&self) -> Option<Field> {
        let sort = self.query(SORT);
        (!sort.is_empty()).then(|| Field::hidden(SORT, sort))
    }

    fn list_query(&self) -> ListQuery {
        ListQuery(self.query_pairs())
    }
}

impl RequestedList {
    fn table(&self, caption: Text, empty: Text, columns: &[Column], mut rows: Vec<Row>) -> Table {
        let t = |text: Text| text.of(self.language).to_owned();
        let count = rows.len();
        let search = self.query.value(SEARCH).trim();
        rows.retain(|it| contains(it, search));
        self.sort(&mut rows, columns);
        let next = self.cut_page(&mut rows);

        Table {
            caption: t(caption),
            columns: columns.iter().map(|it| t(it.1)).collect(),
            sort_links: columns.iter().map(|it| Some(self.query.sort_link(it.0))).collect(),
            rows,
            empty: t(if count > 0 { common::NO_MATCH } else { empty }),
            search: (count > MAX_UNSEARCHED_ROWS || !search.is_empty())
                .then(|| self.search_form(search)),
            first: (!self.query.value(AFTER).is_empty()).then(|| self.query.with(AFTER, "")),
            next,
            next_label: t(common::NEXT_PAGE),
        }
    }

    /// Sorts the rows by the requested column; rows of equal value, and all if
    /// there is no such column, stay in their order.
    fn sort(&self, rows: &mut [Row], columns: &[Column]) {
        let sort = self.query.value(SORT);
        let name = sort.strip_prefix('-').unwrap_or(sort);
        let Some(column) = columns.iter().position(|it| it.0 == name) else { return };
        if sort.starts_with('-') {
            rows.sort_by_cached_key(|it| Reverse(sort_key(it, column)));
        } else {
            rows.sort_by_cached_key(|it| sort_key(it, column));
        }
    }

    /// Cuts the rows to the requested page. Returns the query of the next page.
    fn cut_page(&self, rows: &mut Vec<Row>) -> Option<String> {
        let start = self.page_start(rows);
        rows.drain(..start);
        if rows.len() <= PAGE_ROWS {
            return None;
        }

        rows.truncate(PAGE_ROWS);
        let position = start + PAGE_ROWS;
        rows.last().map(|it| self.query.with(AFTER, &format!("{position}.{}", it.key)))
    }

    /// Returns the number of rows before the requested page: those up to the row that it
    /// begins after, or if that is gone, those before its last position.
    fn page_start(&self, rows: &[Row]) -> usize {
        let Some((position, key)) = self.query.value(AFTER).split_once('.') else { return 0 };
        let Ok(position) = position.parse::<usize>() else { return 0 };
        let index = rows.iter().position(|it| it.key == key);
        index.map_or(position.saturating_sub(1), |it| it + 1).min(rows.len())
    }

    fn search_form(&self, search: &str) -> Search {
        let label = common::SEARCH_LIST.of(self.language);
        let field = Field::input(SEARCH, label, "search", "off", search).optional();
        let query = self.query.with(SEARCH, "");
        let separator = if query.is_empty() { "" } else { "?" };
        let reset = Link {
            label: common::RESET_FILTERS.of(self.language).to_owned(),
            path: format!("{}{separator}{query}", self.path),
        };

        Search {
            label: label.to_owned(),
            fields: std::iter::once(field).chain(self.query.fields_beside_search()).collect(),
            submit: common::SEARCH.of(self.language).to_owned(),
            reset: (!search.is_empty()).then_some(reset),
        }
    }
}

/// Returns whether a text is part of what a row displays, numbers excepted.
fn contains(row: &Row, text: &str) -> bool {
    let text = fold(text);
    let mut texts = row.cells.iter().filter(|it| !it.is_number());
    texts.any(|it| fold(&it.text).contains(&text) || fold(&it.detail).contains(&text))
}

/// Returns what a row is sorted by: the value of a cell, or else its text without
/// an emoji before it.
fn sort_key(row: &Row, column: usize) -> Option<(Option<i128>, String)> {
    row.cells.get(column).map(|cell| {
        let folded = fold(&cell.text);
        let text = folded.trim_start_matches(|it: char| !it.is_alphanumeric());
        (cell.sort_value, text.to_owned())
    })
}

/// Returns a text as it is compared: without case and umlauts.
pub(crate) fn fold(text: &str) -> String {
    let lower = text.to_lowercase();
    let letters = lower.chars().map(|it| match it {
        'ä' => 'a',
        'ö' => 'o',
        'ü' => 'u',
        other => other,
    });
    letters.collect()
}

#[cfg(test)]
mod tests;
