//! What the server aims at, and whether it got there.

use crate::figures::{Figures, Place};
use crate::metric::Metric;
use crate::stats::{median, range};
use crate::table::Table;

/// One aim: a figure that is to stay at or below a limit.
struct Aim {
    metric: Metric,
    of: Of,
    limit: f64,
    unit: &'static str,
}

/// Of which number the aim speaks.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// The figure itself.
    Itself,
    /// What it is more than the bare proxy's.
    WhatIsAdded,
}

const AIMS: [Aim; 6] = [
    Aim { metric: Metric::P50Fast, of: Of::WhatIsAdded, limit: 0.15, unit: "ms" },
    Aim { metric: Metric::P99Fast, of: Of::WhatIsAdded, limit: 1.0, unit: "ms" },
    Aim { metric: Metric::Chunk, of: Of::Itself, limit: 20.0, unit: "µs" },
    Aim { metric: Metric::Resident, of: Of::Itself, limit: 60.0, unit: "MB" },
    Aim { metric: Metric::ResidentAfterSignIns, of: Of::Itself, limit: 60.0, unit: "MB" },
    Aim { metric: Metric::Health, of: Of::Itself, limit: 20.0, unit: "ms" },
];

/// Each aim beside what was measured of each server, the proxy being at `proxy`.
pub(crate) fn judged(figures: &Figures, proxy: Place, servers: &[(Place, &str)]) -> Table {
    let mut table = Table::new(["Aim", "Server", "Median", "Lowest to highest round", "Result"]);
    for aim in AIMS {
        for (place, name) in servers {
            let rounds = aim.rounds(figures, *place, proxy);
            let (Some(median), Some((lowest, highest))) = (median(&rounds), range(&rounds)) else {
                continue;
            };
            let digits = aim.metric.digits();
            table.row(vec![
                aim.text(),
                (*name).to_owned(),
                format!("{median:.digits$} {}", aim.unit),
                format!("{lowest:.digits$} to {highest:.digits$}"),
                aim.result(median),
            ]);
        }
    }
    table
}

impl Aim {
    fn rounds(&self, figures: &Figures, of: Place, proxy: Place) -> Vec<f64> {
        match self.of {
            Of::Itself => figures.of(of, self.metric).to_vec(),
            Of::WhatIsAdded => figures.added(of, proxy, self.metric),
        }
    }

    fn text(&self) -> String {
        let label = self.metric.label();
        let what = label.rsplit_once(", ").map_or(label, |(what, _)| what);
        let added = match self.of {
            Of::Itself => "",
            Of::WhatIsAdded => ", added to the bare proxy",
        };
        format!("{what}{added}: at most {} {}", self.limit, self.unit)
    }

    fn result(&self, median: f64) -> String {
        let digits = self.metric.digits();
        if median <= self.limit {
            return "met".to_owned();
        }
        format!("**missed** by {:.digits$} {}", median - self.limit, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(figures: &Figures) -> Vec<String> {
        judged(figures, 1, &[(2, "server")]).render().lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_aim_that_is_reached_is_met() {
        let mut figures = Figures::default();
        figures.note(2, Metric::Chunk, 20.0);

        let lines = lines(&figures);

        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("at most 20 µs") && lines[2].contains("| met"), "{lines:?}");
    }

    #[test]
    fn a_missed_aim_says_by_how_much() {
        let mut figures = Figures::default();
        for (proxy, server) in [(1.0, 1.2), (2.0, 2.4), (1.0, 2.0)] {
            figures.note(1, Metric::P50Fast, proxy);
            figures.note(2, Metric::P50Fast, server);
        }

        let lines = lines(&figures);

        assert!(lines[2].contains("0.400 ms"), "{lines:?}");
        assert!(lines[2].contains("0.200 to 1.000"), "{lines:?}");
        assert!(lines[2].contains("**missed** by 0.250 ms"), "{lines:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert_eq!(lines(&Figures::default()).len(), 2);
    }
}
