//! Pagination of long lists in the order of time.
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
pub struct PageRequest {
    /// Cursor that the page begins after; none for the first page.
    pub after: Option<Cursor>,
    /// Maximum number of entries.
    pub limit: u16,
}

/// Page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Entries of the page, at most the requested number.
    pub items: Vec<T>,
    /// Cursor that the next page begins after; `None` on the last page.
    pub next: Option<Cursor>,
}

impl Cursor {
    /// Returns the position before the first entry, if that is the newest.
    pub fn top() -> Self {
        Self { at: Timestamp::from_micros(i64::MAX), id: Uuid::max() }
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

impl PageRequest {
    /// Returns the request with one entry more, which shows whether there is a
    /// next page.
    #[must_use]
    pub fn and_one_more(self) -> Self {
        Self { limit: self.limit.saturating_add(1), ..self }
    }

    /// Returns the page of entries that were requested with
    /// [`and_one_more`](Self::and_one_more).
    pub fn into_page<T>(self, mut items: Vec<T>, cursor: impl Fn(&T) -> Cursor) -> Page<T> {
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
    fn every_entry_is_after_the_start() {
        let newest = TimeOrder::Newest.start();
        let oldest = TimeOrder::Oldest.start();

        assert!((Timestamp::from_micros(i64::MAX), Uuid::now_v7()) < (newest.at, newest.id));
        assert!((Timestamp::from_micros(i64::MIN), Uuid::now_v7()) > (oldest.at, oldest.id));
    }
}
