//! Pagination of long lists, newest first.

use uuid::Uuid;

use crate::Timestamp;

/// Position in a list that is sorted by time and then by id, newest first.
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
    /// Returns the position before the first entry.
    pub fn top() -> Self {
        Self { at: Timestamp::from_micros(i64::MAX), id: Uuid::max() }
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
    fn every_entry_is_after_the_top() {
        let latest = Timestamp::from_micros(i64::MAX);

        assert!((latest, Uuid::now_v7()) < (Cursor::top().at, Cursor::top().id));
    }
}
