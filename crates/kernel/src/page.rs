//! Long lists, reported in parts: newest first, each part behind the last.

use uuid::Uuid;

use crate::Timestamp;

/// A place in a list that is sorted by time and then by id, newest first.
///
/// It names an entry and not a number of entries, so that what is added or
/// removed meanwhile neither repeats nor hides any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The time of the entry that stands there.
    pub at: Timestamp,
    /// Id.
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

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Entries.
    pub items: Vec<T>,
    /// Behind which place the next part begins; nothing if this is the last.
    pub next: Option<Cursor>,
}

impl Cursor {
    /// Before everything that a list can hold.
    pub fn top() -> Self {
        Self { at: Timestamp::from_micros(i64::MAX), id: Uuid::max() }
    }
}

impl PageRequest {
    /// Asks for one entry more, which shows whether there is a next page.
    #[must_use]
    pub fn and_one_more(self) -> Self {
        Self { limit: self.limit.saturating_add(1), ..self }
    }

    /// The part that these entries are, having been requested with
    /// [`and_one_more`](Self::and_one_more).
    pub fn part_of<T>(self, mut items: Vec<T>, place: impl Fn(&T) -> Cursor) -> Page<T> {
        let more = items.len() > usize::from(self.limit);
        items.truncate(self.limit.into());
        let next = if more { items.last().map(place) } else { None };
        Page { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reports_the_next_only_if_there_is_one() {
        let page = PageRequest { after: None, limit: 2 };
        let place = |micros| Cursor { at: Timestamp::from_micros(micros), id: Uuid::nil() };

        let middle = page.part_of(vec![3, 2, 1], |it| place(*it));
        let last = page.part_of(vec![3, 2], |it| place(*it));

        assert_eq!(page.and_one_more().limit, 3);
        assert_eq!(middle, Page { items: vec![3, 2], next: Some(place(2)) });
        assert_eq!(last, Page { items: vec![3, 2], next: None });
    }

    #[test]
    fn everything_stands_behind_the_top() {
        let latest = Timestamp::from_micros(i64::MAX);

        assert!((latest, Uuid::now_v7()) < (Cursor::top().at, Cursor::top().id));
    }
}
