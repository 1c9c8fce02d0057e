//! The results as Markdown that reads well in a terminal too.

use super::Plan;
use super::figures::{Figures, Metric};
use crate::stats::{median, range};
use crate::table::Table;

/// Everything that a report tells.
pub(super) struct Report<'a> {
    pub(super) plan: &'a Plan,
    pub(super) machine: &'a [(&'static str, String)],
    pub(super) servers: &'a [&'static str],
    pub(super) figures: &'a Figures,
}

const READING: &str = "\
Load, server and database share the machine's cores. Raw hashes are made by the benchmark itself,
right before and after the sign-ins they are compared with, with the server's default cost (19 MiB,
t=2, p=1) and one thread a core. In a storm all sign-ins are sent at once over a connection each,
while `/health` and `/auth/me` are asked 200 times a second each, the latter with a token.
";

impl Report<'_> {
    pub(super) fn render(&self, turned_away: usize) -> String {
        let Plan { rounds, storm, quick, .. } = self.plan;
        let quick = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
        let heading = format!(
            "## Signing in\n\nMedians over {rounds} rounds; a storm is {storm} sign-ins at once.{quick}"
        );
        let turned_away = match turned_away {
            0 => String::new(),
            some => format!("- {some} sign-ins of the storms were told to come again (503)."),
        };
        let parts = [
            heading,
            self.figures().render(),
            READING.to_owned(),
            "### Aims of signing in".to_owned(),
            self.aims().render(),
            self.machine().render(),
            turned_away,
        ];
        let parts = parts.map(|it| it.trim_end().to_owned()).into_iter();
        parts.filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n"
    }

    fn figures(&self) -> Table {
        let headings = std::iter::once("Figure").chain(self.servers.iter().copied());
        let mut table = Table::of(headings.map(str::to_owned).collect());
        for metric in Metric::ALL {
            let digits = metric.digits();
            let value = |place| median(self.figures.of(place, metric));
            let cell = |place| value(place).map_or_else(String::new, |it| format!("{it:.digits$}"));
            let cells = (0..self.servers.len()).map(cell);
            table.row(std::iter::once(metric.label().to_owned()).chain(cells).collect());
        }
        table
    }

    fn aims(&self) -> Table {
        let mut table =
            Table::new(["Aim", "Server", "Median", "Lowest to highest round", "Result"]);
        for metric in Metric::ALL {
            let Some(aim) = metric.aim() else { continue };
            for (place, name) in self.servers.iter().enumerate() {
                let rounds = self.figures.of(place, metric);
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

    fn machine(&self) -> Table {
        let mut table = Table::new(["Machine", ""]);
        for (name, value) in self.machine {
            table.row(vec![(*name).to_owned(), value.clone()]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_aim_is_met_or_missed_on_the_side_it_names() {
        let mut figures = Figures::default();
        for (metric, value) in [(Metric::Share, 0.89), (Metric::Health, 19.9), (Metric::Me, 20.0)] {
            figures.note(0, metric, value);
        }
        let plan = Plan { rounds: 1, load: Duration::ZERO, storm: 5, quick: true };
        let report = Report { plan: &plan, machine: &[], servers: &["server"], figures: &figures };

        let text = report.render(3);

        let result = |label: &str| {
            let line = text.lines().find(|it| it.contains(label) && it.contains("server"));
            line.is_some_and(|it| it.contains("| met"))
        };
        assert!(!result("raw hashes: at least 0.9"), "{text}");
        assert!(result("storm, ms: below 20"), "{text}");
        assert!(text.contains("**missed**") && text.contains("A quick run"), "{text}");
        assert!(text.ends_with("3 sign-ins of the storms were told to come again (503).\n"));
    }
}
