//! Markdown report of the results, readable in a terminal.

use super::Plan;
use super::figures::Metric;
use crate::measured::{Figures, machine};

/// Contents of a report.
pub(super) struct Report<'a> {
    pub(super) plan: &'a Plan,
    pub(super) machine: &'a [(&'static str, String)],
    pub(super) servers: &'a [&'static str],
    pub(super) figures: &'a Figures<Metric>,
}

const READING: &str = "\
Load, server and database share the machine's cores. Raw hashes are made by the benchmark itself,
right before and after the sign-ins they are compared with, with the server's default cost (19 MiB,
t=2, p=1) and one thread a core. In a storm all sign-ins are sent at once over a connection each,
while `/health` and `/auth/me` are asked 200 times a second each, the latter with a token.
";

impl Report<'_> {
    pub(super) fn render(&self, rejected: usize) -> String {
        let Plan { rounds, storm, quick, .. } = self.plan;
        let remark = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
        let heading = format!(
            "## Signing in\n\nMedians over {rounds} rounds; a storm is {storm} sign-ins at once.{remark}"
        );

        let rejections = match rejected {
            0 => String::new(),
            count => format!("- {count} sign-ins of the storms were told to come again (503)."),
        };

        let parts = [
            heading,
            self.figures.medians(self.servers).render(),
            READING.to_owned(),
            "### Aims of signing in".to_owned(),
            self.figures.aims(self.servers).render(),
            machine(self.machine).render(),
            rejections,
        ];

        parts
            .map(|it| it.trim_end().to_owned())
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n")
            + "\n"
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_aim_is_reported_as_met_or_missed() {
        let mut figures = Figures::default();
        for (metric, value) in [(Metric::Share, 0.89), (Metric::Health, 19.9), (Metric::Me, 20.0)] {
            figures.record(0, metric, value);
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
