//! Markdown report of the results, readable in a terminal.

use crate::aims;
use crate::contenders::{ContenderRole, PROXY};
use crate::figures::{ContenderIndex, Figures};
use crate::floors::Floor;
use crate::measured;
use crate::metric::Metric;
use crate::plan::Plan;
use crate::stats::{median, range};
use crate::table::Table;

/// Contents of a report.
pub(crate) struct Report<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) machine: &'a [(&'static str, String)],
    pub(crate) contenders: &'a [(&'static str, ContenderRole)],
    pub(crate) figures: &'a Figures,
    pub(crate) floors: &'a [Floor],
    /// Remarks below the table, a paragraph each.
    pub(crate) remarks: &'a [String],
}

const READING: &str = "\
Everything runs on one machine over loopback: the load, the upstream, the proxy, the server and
its database share its cores, so read the differences and the ratios. Each server has two workers,
signs its callers in, counts them against rate budgets that do not refuse, and writes down what
each call used. *With limits* each call is also admitted out of three budgets, of its caller's day
and week and of the week of the group, all callers being one member of one group, and settled when
it has ended. In brackets: what a figure is more than the bare proxy's, and its ratio to it; both
are taken round by round before the median. CPU is that of the process alone, not of PostgreSQL's,
and includes what it still writes after the last answer.

An open stream is what the process's resident memory grows by, divided by 512, while as many
callers each read a stream that has a chunk every half second: both its connections, the answer,
the reservation, and whatever the allocator keeps for them; not what the kernel buffers, and not
the table that tokens are counted by, which is read before. Readers who stand still have asked for
20 MB each and read none of it. Both are measured once, on processes of their own.
";

impl Report<'_> {
    pub(crate) fn render(&self) -> String {
        let Plan { rounds, quick, .. } = self.plan;
        let trial_note = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
        let remarks: Vec<String> = self.remarks.iter().map(|it| format!("- {it}")).collect();
        [
            format!("## Gateway\n\nMedians over {rounds} interleaved rounds.{trial_note}"),
            self.figures().render(),
            READING.to_owned(),
            "### Aims".to_owned(),
            aims::evaluate(self.figures, self.contenders, self.floors).render(),
            "### Floors in the same run".to_owned(),
            self.floors().render(),
            "### Machine".to_owned(),
            measured::machine(self.machine).render(),
            remarks.join("\n"),
        ]
        .map(|part| part.trim_end().to_owned())
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
            + "\n"
    }

    fn figures(&self) -> Table {
        let headings = std::iter::once("Figure").chain(self.contenders.iter().map(|it| it.0));
        let mut table = Table::with_headings(headings.map(str::to_owned).collect());
        for metric in Metric::ALL {
            let indexes = 0..self.contenders.len();
            let cells: Vec<_> = indexes.map(|index| self.cell(index, metric)).collect();
            if cells.iter().all(String::is_empty) {
                continue;
            }
            table.row(std::iter::once(metric.label().to_owned()).chain(cells).collect());
        }
        table
    }

    fn cell(&self, index: ContenderIndex, metric: Metric) -> String {
        let digits = metric.digits();
        let Some(value) = median(self.figures.series(index, metric)) else { return String::new() };
        let ratio = if index > PROXY { self.figures.ratio(index, PROXY, metric) } else { None };
        let Some(ratio) = ratio else { return format!("{value:.digits$}") };
        let added = median(&self.figures.added(index, PROXY, metric));
        match added {
            Some(added) if metric.is_latency() => {
                format!("{value:.digits$} ({added:+.digits$}, {ratio:.2}x)")
            }
            _ => format!("{value:.digits$} ({ratio:.2}x)"),
        }
    }

    fn floors(&self) -> Table {
        let mut table = Table::new(["Floor", "Median, ms", "Lowest to highest round"]);
        for Floor { name, rounds } in self.floors {
            let (Some(median), Some((lowest, highest))) = (median(rounds), range(rounds)) else {
                continue;
            };
            table.row(vec![
                (*name).to_owned(),
                format!("{median:.3}"),
                format!("{lowest:.3} to {highest:.3}"),
            ]);
        }

        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn report(figures: &Figures) -> String {
        let floors = [Floor { name: "a floor", rounds: vec![3.0, 1.0, 2.0] }];
        Report {
            plan: &Plan::from_options(&Options { quick: true, ..Options::default() }),
            machine: &[("CPU", "a fast one".to_owned())],
            contenders: &[
                ("direct", ContenderRole::Reference),
                ("proxy", ContenderRole::Reference),
                ("server", ContenderRole::Server),
            ],
            figures,
            floors: &floors,
            remarks: &["nothing on PostgreSQL".to_owned()],
        }
        .render()
    }

    #[test]
    fn a_server_is_compared_with_the_bare_proxy() {
        let mut figures = Figures::default();
        for (index, p50, rate) in [(0, 0.05, 9000.0), (1, 0.1, 4000.0), (2, 0.25, 3000.0)] {
            figures.record(index, Metric::P50Fast, p50);
            figures.record(index, Metric::PerSecond, rate);
        }

        let text = report(&figures);

        assert!(text.contains("| 0.050  | 0.100 | 0.250 (+0.150, 2.50x) |"), "{text}");
        assert!(text.contains("| 9000   | 4000  | 3000 (0.75x)          |"), "{text}");
    }

    #[test]
    fn a_report_contains_floors_machine_and_remarks() {
        let text = report(&Figures::default());

        assert!(text.contains("A quick run"), "{text}");
        assert!(text.contains("| a floor | 2.000      | 1.000 to 3.000"), "{text}");
        assert!(text.contains("| CPU     | a fast one |"), "{text}");
        assert!(text.ends_with("\n\n- nothing on PostgreSQL\n"), "{text}");
    }
}
