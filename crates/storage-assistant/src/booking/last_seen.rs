//! Windows as an instance knows them. Another may have changed them since: it
//! is for guesses that the database checks.

use std::collections::HashMap;

use crate::window_row::WindowRow;

/// How many windows are kept in mind, some hundred bytes each.
const MOST: usize = 20_000;

/// Windows as this instance has read or written them last.
#[derive(Debug, Default)]
pub(crate) struct LastSeen {
    windows: HashMap<String, Seen>,
}

#[derive(Debug)]
struct Seen {
    row: WindowRow,
    /// Whether, when it was last read, nobody else had changed it since it was
    /// seen before.
    ours: bool,
}

impl LastSeen {
    /// Windows as they were read, and are held.
    pub(crate) fn read(&mut self, rows: &[WindowRow]) {
        if self.windows.len() + rows.len() > MOST {
            self.windows.clear();
        }
        for row in rows {
            let ours = self.windows.get(&row.key).is_none_or(|it| it.row == *row);
            self.windows.insert(row.key.clone(), Seen { row: row.clone(), ours });
        }
    }

    /// What windows that were read have become.
    pub(crate) fn wrote(&mut self, rows: Vec<WindowRow>) {
        for row in rows {
            if let Some(seen) = self.windows.get_mut(&row.key) {
                seen.row = row;
            }
        }
    }

    /// Those of these windows that are known, if nobody else seems to change
    /// any of them. Where others do, to guess would cost more than to read.
    pub(crate) fn ours(&self, keys: &[String]) -> Option<Vec<WindowRow>> {
        let known = keys.iter().filter_map(|key| self.windows.get(key));
        known.map(|it| it.ours.then(|| it.row.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use pia_assistant::{Kind, WindowKey};
    use uuid::Uuid;

    use super::*;

    fn window(kind: Kind, used: i64) -> WindowRow {
        let key = WindowKey { kind, owner: Uuid::nil() };
        let mut row = WindowRow::new(key, None, None);
        row.used = used;
        row
    }

    #[test]
    fn a_window_is_ours_until_another_was_seen_to_change_it_and_again_when_they_stopped() {
        let mut seen = LastSeen::default();
        let (hour, week) = (window(Kind::Hourly, 1), window(Kind::GroupWeekly, 1));
        let keys = [hour.key.clone(), week.key.clone()];
        assert_eq!(seen.ours(&keys), Some(Vec::new()));

        seen.read(&[hour.clone(), week.clone()]);
        seen.wrote(vec![window(Kind::GroupWeekly, 2)]);
        assert_eq!(seen.ours(&keys), Some(vec![hour.clone(), window(Kind::GroupWeekly, 2)]));

        seen.read(&[hour.clone(), window(Kind::GroupWeekly, 3)]);
        assert_eq!(seen.ours(&keys), None);
        assert_eq!(seen.ours(&keys[..1]), Some(vec![hour]));

        seen.wrote(vec![window(Kind::GroupWeekly, 4)]);
        seen.read(&[window(Kind::GroupWeekly, 4)]);
        assert_eq!(seen.ours(&keys[1..]), Some(vec![window(Kind::GroupWeekly, 4)]));
    }

    #[test]
    fn it_forgets_rather_than_grow() {
        let mut seen = LastSeen::default();

        for number in 0..=MOST {
            let mut row = window(Kind::Hourly, 1);
            row.key = number.to_string();
            seen.read(&[row]);
        }

        assert_eq!(seen.windows.len(), 1);
    }
}
