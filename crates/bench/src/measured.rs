//! Figures measured for each server in each round, and their targets.
//!
//! A benchmark has an enum of its metrics that implements `Measured`; `Figures`
//! records values by server and metric and renders both tables of the report.

use std::collections::BTreeMap;

use crate::stats::{median, range};
use crate::table::Table;

/// Target of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

/// Metrics of a benchmark.
pub(crate) trait Measured: Copy + Ord + 'static {
    /// Figures in the order of the report.
    const ALL: &'static [Self];

    /// Returns the display name, with its unit.
    fn label(self) -> &'static str;

    /// Returns the number of significant digits after the decimal point.
    fn digits(self) -> usize;

    fn aim(self) -> Option<Aim>;
}

impl Aim {
    fn text(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("at least {limit}"),
            Self::AtMost(limit) => format!("at most {limit}"),
            Self::Below(limit) => format!("below {limit}"),
        }
    }

    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::AtMost(limit) => value <= limit,
            Self::Below(limit) => value < limit,
        }
    }
}

/// Figures of every server in every round.
#[derive(Debug)]
pub(crate) struct Figures<M> {
    series: BTreeMap<(usize, M), Vec<f64>>,
}

impl<M> Default for Figures<M> {
    fn default() -> Self {
        Self { series: BTreeMap::new() }
    }
}

impl<M: Measured> Figures<M> {
    pub(crate) fn record(&mut self, server: usize, metric: M, value: f64) {
        self.series.entry((server, metric)).or_default().push(value);
    }

    pub(crate) fn series(&self, server: usize, metric: M) -> &[f64] {
        self.series.get(&(server, metric)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the table of medians, a column for each server. Metrics without
    /// figures are left out.
    pub(crate) fn medians(&self, servers: &[&str]) -> Table {
        let headings = std::iter::once("Figure").chain(servers.iter().copied());
        let mut table = Table::with_headings(headings.map(str::to_owned).collect());
        for &metric in M::ALL {
            let digits = metric.digits();
            let values: Vec<_> =
                (0..servers.len()).map(|index| median(self.series(index, metric))).collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let cell = |figure: Option<f64>| {
                figure.map_or_else(String::new, |it| format!("{it:.digits$}"))
            };
            let cells = values.into_iter().map(cell);
            table.row(std::iter::once(metric.label().to_owned()).chain(cells).collect());
        }

        table
    }

    /// Returns the table of the targets, and of whether each was met.
    pub(crate) fn aims(&self, servers: &[&str]) -> Table {
        self.aims_by("Server", servers)
    }

    /// Returns the table of the targets for columns that are no servers.
    pub(crate) fn aims_by(&self, heading: &str, servers: &[&str]) -> Table {
        let mut table = Table::new(["Aim", heading, "Median", "Lowest to highest round", "Result"]);
        for &metric in M::ALL {
            let Some(aim) = metric.aim() else { continue };

            for (index, name) in servers.iter().enumerate() {
                let rounds = self.series(index, metric);
                let (Some(median), Some((lowest, highest))) = (median(rounds), range(rounds))
                else {
                    continue;
                };

                let digits = metric.digits();
                table.row(vec![
                    format!("{}: {}", metric.label(), aim.text()),
                    (*name).to_owned(),
                    format!("{median:.digits$}"),
                    format!("{lowest:.digits$} to {highest:.digits$}"),
                    if aim.is_met_by(median) { "met" } else { "**missed**" }.to_owned(),
                ]);
            }
        }

        table
    }
}

/// Returns the table that describes the machine.
pub(crate) fn machine(facts: &[(&'static str, String)]) -> Table {
    let mut table = Table::new(["Machine", ""]);
    for (name, value) in facts {
        table.row(vec![(*name).to_owned(), value.clone()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_met_up_to_its_limit() {
        for (aim, met, missed) in [
            (Aim::AtLeast(0.5), 0.5, 0.49),
            (Aim::AtMost(3.0), 3.0, 3.01),
            (Aim::Below(20.0), 19.9, 20.0),
        ] {
            assert!(aim.is_met_by(met) && !aim.is_met_by(missed), "{}", aim.text());
        }
    }
}
