//! Tables.
//!
//! A `Table` is one page of a list, as `ui/list.rs` or a page with a list of its own
//! builds it. Queries in it are without `?` and relative to the page.

use super::form::Form;
use super::text::Text;
use super::view::Link;
use crate::texts::common;

/// Table, paged by key. A list of rows that are all loaded is
/// [`PageContext::list`](crate::page_context::PageContext::list).
#[derive(Default)]
pub(crate) struct Table {
    /// Caption for screen readers.
    pub(crate) caption: String,
    /// Headings of the columns.
    pub(crate) columns: Vec<String>,
    /// Links of the headings that sort the table, by column; none if it has one
    /// order.
    pub(crate) sort_links: Vec<Option<SortLink>>,
    /// Rows; each has a cell per column.
    pub(crate) rows: Vec<Row>,
    /// Text in place of a table without rows. It explains how to add the first.
    pub(crate) empty: String,
    /// Search field above the table.
    pub(crate) search: Option<Search>,
    /// Query of the first page, without `?`; `None` on that page.
    pub(crate) first: Option<String>,
    /// Query of the next page, without `?`.
    pub(crate) next: Option<String>,
    /// Label of the link to the next page.
    pub(crate) next_label: String,
}

/// Link of a heading that sorts the table by its column.
pub(crate) struct SortLink {
    /// Query of the table in that order, without `?`; empty if the table has no other one.
    pub(crate) query: String,
    /// Order by this column, in terms of `aria-sort`; empty if the table is not
    /// sorted by it.
    pub(crate) order: &'static str,
}

/// Row of a table.
pub(crate) struct Row {
    /// Key, unique in its table; empty if the table has one page.
    pub(crate) key: String,
    pub(crate) cells: Vec<Cell>,
    /// Forms at the end of the row, such as one button each.
    pub(crate) forms: Vec<Form>,
}

/// Value in a table or a list of facts.
#[derive(Default)]
pub(crate) struct Cell {
    /// Text; empty is displayed as a dash.
    pub(crate) text: String,
    /// Second, quieter line; empty for none.
    pub(crate) detail: String,
    /// English text of another system, below the second line; empty for none.
    pub(crate) quote: String,
    /// Path that the text links to, without the leading slash.
    pub(crate) path: Option<String>,
    /// Meaning of a status.
    pub(crate) tone: Tone,
    /// Value that a list is sorted by; `None` for the text.
    pub(crate) sort_value: Option<i128>,
}

/// Meaning of a value. The tones of states are displayed as badges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    /// No badge.
    #[default]
    Plain,
    /// Number, aligned to the end.
    Number,
    /// State as intended.
    Good,
    /// Needs attention.
    Warning,
    /// Failed.
    Bad,
    /// State that is neither good nor bad.
    Neutral,
}

/// Search field and filters above a table, sent as its query.
pub(crate) struct Search {
    pub(crate) label: String,
    /// Fields: a text, and selections.
    pub(crate) fields: Vec<super::Field>,
    /// Label of the button.
    pub(crate) submit: String,
    /// Link that removes the filters, if there are any.
    pub(crate) reset: Option<Link>,
}

impl Search {
    /// Returns the text in place of a table without rows: that of a list without entries,
    /// unless there are filters.
    pub(crate) fn empty_text(&self, without_entries: Text) -> Text {
        if self.reset.is_some() { common::NO_MATCH } else { without_entries }
    }
}

impl Cell {
    /// Creates a plain value.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates a link to a page, by its path without the leading slash.
    pub(crate) fn link(text: impl Into<String>, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::text(text) }
    }

    /// Creates a number.
    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self { tone: Tone::Number, ..Self::text(text) }
    }

    /// Creates a status.
    pub(crate) fn badge(text: impl Into<String>, tone: Tone) -> Self {
        Self { tone, ..Self::text(text) }
    }

    /// Returns whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        self.tone == Tone::Number
    }

    /// Returns whether it is an email address.
    pub(crate) fn is_address(&self) -> bool {
        self.text.contains('@') && !self.text.contains(char::is_whitespace)
    }

    /// Returns whether it is a time of a day.
    pub(crate) fn is_time(&self) -> bool {
        self.text.ends_with(" UTC")
    }

    /// Sets the second line.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// Adds an English text of another system, if there is one, after a label in
    /// the second line.
    pub(crate) fn quoted(self, label: &str, quote: Option<&str>) -> Self {
        match quote {
            Some(quote) => Self { detail: label.to_owned(), quote: quote.to_owned(), ..self },
            None => self,
        }
    }

    /// Sets the value that a list is sorted by, where the text has another order.
    pub(crate) fn sort_value(self, value: impl Into<i128>) -> Self {
        Self { sort_value: Some(value.into()), ..self }
    }
}

impl Row {
    /// Creates a row.
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self { key: String::new(), cells, forms: Vec::new() }
    }

    /// Sets the key.
    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Adds a form at its end.
    pub(crate) fn form(mut self, form: Form) -> Self {
        self.forms.push(form);
        self
    }
}

impl Tone {
    /// Returns the class of the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Number => "number",
            Self::Good => "badge good",
            Self::Warning => "badge warning",
            Self::Bad => "badge bad",
            Self::Neutral => "badge",
        }
    }
}

impl Table {
    /// Returns the heading of a column.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub(crate) fn heading(&self, column: &usize) -> &str {
        self.columns.get(*column).map_or("", String::as_str)
    }

    /// Returns the link of a column's heading.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub(crate) fn sort_link(&self, column: &usize) -> Option<&SortLink> {
        self.sort_links.get(*column)?.as_ref()
    }

    /// Returns whether a column consists of numbers, as its first row does.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub(crate) fn is_numeric(&self, column: &usize) -> bool {
        let first = self.rows.first().and_then(|it| it.cells.get(*column));
        first.is_some_and(Cell::is_number)
    }

    /// Returns whether any row has a form.
    pub(crate) fn has_forms(&self) -> bool {
        self.rows.iter().any(|it| !it.forms.is_empty())
    }
}
