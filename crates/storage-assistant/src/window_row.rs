//! Rows of windows and reservations.
//!
//! `WindowRow` is the stored form of `Window` in `assistant`, which has the rules.
//! Buckets are stored as text: `index:amount` pairs with commas between them. A
//! reservation has one row a window, all under the id of their call.

use diesel::prelude::*;
use pia_assistant::{Buckets, Micros, ReservationLine, Window, WindowKey, WindowKind};
use pia_storage::schema::{credit_reservations, credit_windows};
use pia_storage::{DbError, DbInstant, DbUid};

/// Row of a window.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = credit_windows)]
#[diesel(treat_none_as_null = true, treat_none_as_default_value = false)]
pub(crate) struct WindowRow {
    pub(crate) key: String,
    kind: String,
    owner_id: DbUid,
    pub(crate) user_id: Option<DbUid>,
    pub(crate) group_id: Option<DbUid>,
    pub(crate) week: Option<DbInstant>,
    pub(crate) total: i64,
    pub(crate) used: i64,
    pub(crate) reserved: i64,
    pub(crate) used_last_week: i64,
    pub(crate) buckets: String,
}

/// Amount reserved in one window.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = credit_reservations, treat_none_as_default_value = false)]
pub(crate) struct ReservationRow {
    pub(crate) id: DbUid,
    pub(crate) window_key: String,
    pub(crate) instance_id: DbUid,
    pub(crate) amount: i64,
    pub(crate) opened_at: DbInstant,
}

pia_storage::insert_all! {
    WindowRow => credit_windows,
}

impl WindowRow {
    /// Creates an empty window of a group or a user.
    pub(crate) fn new(key: WindowKey, user: Option<DbUid>, group: Option<DbUid>) -> Self {
        let window = Window::new(key);

        let mut row = Self {
            key: key.to_string(),
            kind: key.kind.name().to_owned(),
            owner_id: DbUid(key.owner),
            user_id: user,
            group_id: group,
            week: None,
            total: 0,
            used: 0,
            reserved: 0,
            used_last_week: 0,
            buckets: String::new(),
        };
        row.set(&window);
        row
    }

    /// Copies the values of a window; key, kind and owner stay.
    pub(crate) fn set(&mut self, window: &Window) {
        let Window { key: _, week, total, used, reserved, used_last_week, buckets } = window;
        self.week = week.map(DbInstant);
        self.total = total.0;
        self.used = used.0;
        self.reserved = reserved.0;
        self.used_last_week = used_last_week.0;
        let pairs = buckets.0.iter().map(|(index, amount)| format!("{index}:{amount}"));
        self.buckets = pairs.collect::<Vec<_>>().join(",");
    }

    /// Parses the window, or returns an error if the row was not written by this server.
    pub(crate) fn window(&self) -> Result<Window, DbError> {
        let kind =
            WindowKind::from_name(&self.kind).ok_or(DbError::Unreadable("credit_windows.kind"))?;
        let buckets =
            parse_buckets(&self.buckets).ok_or(DbError::Unreadable("credit_windows.buckets"))?;
        Ok(Window {
            key: WindowKey { kind, owner: self.owner_id.0 },
            week: self.week.map(|it| it.0),
            total: Micros(self.total),
            used: Micros(self.used),
            reserved: Micros(self.reserved),
            used_last_week: Micros(self.used_last_week),
            buckets,
        })
    }
}

impl ReservationRow {
    /// Converts the row, with the window of one of these lines; `None` if none has its window.
    pub(crate) fn to_reservation_line(&self, lines: &[ReservationLine]) -> Option<ReservationLine> {
        let line = lines.iter().find(|it| it.window.to_string() == self.window_key)?;
        Some(ReservationLine { window: line.window, amount: Micros(self.amount) })
    }
}

fn parse_buckets(text: &str) -> Option<Buckets> {
    let pairs = text.split(',').filter(|it| !it.is_empty()).map(|pair| {
        let (index, amount) = pair.split_once(':')?;
        Some((index.parse().ok()?, amount.parse().ok()?))
    });
    pairs.collect::<Option<Vec<_>>>().map(Buckets)
}

#[cfg(test)]
mod tests {
    use pia_kernel::{BudgetPeriod, Timestamp};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_stored_window_is_read_back_unchanged() {
        let key =
            WindowKey { kind: WindowKind::Limit(BudgetPeriod::GroupDaily), owner: Uuid::now_v7() };
        let window = Window {
            week: Some(Timestamp::UNIX_EPOCH),
            total: Micros(1),
            used: Micros(2),
            reserved: Micros(3),
            used_last_week: Micros(4),
            buckets: Buckets(vec![(-1, 5), (7, 8)]),
            ..Window::new(key)
        };
        let mut row = WindowRow::new(key, None, None);

        assert_eq!(row.window().unwrap(), Window::new(key));
        row.set(&window);
        assert_eq!(row.window().unwrap(), window);
    }

    #[test]
    fn malformed_buckets_are_rejected() {
        let key =
            WindowKey { kind: WindowKind::Limit(BudgetPeriod::Hourly), owner: Uuid::now_v7() };
        for broken in ["1", "1:x", "x:1,2:3"] {
            let row = WindowRow { buckets: broken.to_owned(), ..WindowRow::new(key, None, None) };
            assert!(row.window().is_err(), "{broken}");
        }
    }
}
