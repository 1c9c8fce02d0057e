//! Pagination of long lists, in the order of time or of another column.
//!
//! A store is called with `PageRequest::and_one_more`, so that it returns one entry
//! too many if there is a next page; `PageRequest::into_page` of the original
//! request then cuts that entry off and returns the cursor.

use uuid::Uuid;

use crate::Timestamp;

/// Position in a list that is sorted by time and then by id.
///
/// It names an entry and not an offset, so that entries added or removed
/// meanwhile neither repeat nor hide any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Time of the entry at this position.
    pub at: Timestamp,
    /// Id of the entry at this position.
    pub id: Uuid,
}

/// Position in a list that is sorted by one of its columns and then by id.
///
/// It carries the value that its entry had, so that the next page begins there even if
/// the entry was deleted or has another value meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortCursor {
    /// Value of the column at this position.
    pub value: SortValue,
    /// Id of the entry at this position.
    pub id: Uuid,
}

/// Value of the column that a list is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortValue {
    /// Number, or the microseconds of a time.
    Number(i64),
    /// Text.
    Text(String),
}

/// Order of a list by time and then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeOrder {
    /// Newest entry first.
    #[default]
    Newest,
    /// Oldest entry first.
    Oldest,
}

/// Requested page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest<C = Cursor> {
    /// Cursor that the page begins after; none for the first page.
    pub after: Option<C>,
    /// Maximum number of entries.
    pub limit: u16,
}

/// Page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, C = Cursor> {
    /// Entries of the page, at most the requested number.
    pub items: Vec<T>,
    /// Cursor that the next page begins after; `None` on the last page.
    pub next: Option<C>,
}

impl Cursor {
    /// Returns the position before the first entry, if that is the newest.
    pub fn top() -> Self {
        Self { at: Timestamp::from_micros(i64::MAX), id: Uuid::max() }
    }
}

impl SortCursor {
    /// Creates the cursor of an entry with this time.
    pub fn at_time(time: Timestamp, id: Uuid) -> Self {
        Self { value: SortValue::Number(time.micros()), id }
    }

    /// Creates the cursor of an entry with this text.
    pub fn at_text(text: impl Into<String>, id: Uuid) -> Self {
        Self { value: SortValue::Text(text.into()), id }
    }
}

impl SortValue {
    /// Returns the number; 0 if it is a text.
    pub fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(_) => 0,
        }
    }

    /// Returns the time that the number stands for.
    pub fn time(&self) -> Timestamp {
        Timestamp::from_micros(self.number())
    }

    /// Returns the text; an empty one if it is a number.
    pub fn text(&self) -> &str {
        match self {
            Self::Number(_) => "",
            Self::Text(text) => text,
        }
    }

    /// Returns whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl TimeOrder {
    /// Returns whether the oldest entry is the first.
    pub fn is_oldest_first(self) -> bool {
        self == Self::Oldest
    }

    /// Returns the position before the first entry.
    pub fn start(self) -> Cursor {
        match self {
            Self::Newest => Cursor::top(),
            Self::Oldest => Cursor { at: Timestamp::from_micros(i64::MIN), id: Uuid::nil() },
        }
    }
}

impl<C> PageRequest<C> {
    /// Returns the request with one entry more, which shows whether there is a
    /// next page.
    #[must_use]
    pub fn and_one_more(self) -> Self {
        Self { limit: self.limit.saturating_add(1), ..self }
    }

    /// Returns the page of entries that were requested with
    /// [`and_one_more`](Self::and_one_more).
    pub fn into_page<T>(self, mut items: Vec<T>, cursor: impl Fn(&T) -> C) -> Page<T, C> {
        let has_more = items.len() > usize::from(self.limit);
        items.truncate(self.limit.into());
        let next = if has_more { items.last().map(cursor) } else { None };
        Page { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_with_a_successor_has_a_cursor() {
        let page = PageRequest { after: None, limit: 2 };
        let cursor = |micros| Cursor { at: Timestamp::from_micros(micros), id: Uuid::nil() };

        let middle = page.into_page(vec![3, 2, 1], |it| cursor(*it));
        let last = page.into_page(vec![3, 2], |it| cursor(*it));

        assert_eq!(page.and_one_more().limit, 3);
        assert_eq!(middle, Page { items: vec![3, 2], next: Some(cursor(2)) });
        assert_eq!(last, Page { items: vec![3, 2], next: None });
    }

    #[test]
    fn a_cursor_carries_the_value_of_its_column() {
        let time = SortCursor::at_time(Timestamp::from_micros(7), Uuid::nil()).value;
        let text = SortCursor::at_text("Laptop", Uuid::nil()).value;

        assert_eq!((time.number(), time.text(), time.is_text()), (7, "", false));
        assert_eq!(time.time(), Timestamp::from_micros(7));
        assert_eq!((text.number(), text.text(), text.is_text()), (0, "Laptop", true));
    }

    #[test]
    fn every_entry_is_after_the_start() {
        let newest = TimeOrder::Newest.start();
        let oldest = TimeOrder::Oldest.start();

        assert!((Timestamp::from_micros(i64::MAX), Uuid::now_v7()) < (newest.at, newest.id));
        assert!((Timestamp::from_micros(i64::MIN), Uuid::now_v7()) > (oldest.at, oldest.id));
    }
}
