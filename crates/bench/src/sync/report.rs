//! Markdown report of the results, readable in a terminal.

use super::Plan;
use super::figures::Metric;
use super::seeding::MANY;
use crate::measured::{Figures, machine};

/// Contents of a report.
pub(super) struct Report<'a> {
    pub(super) plan: &'a Plan,
    pub(super) machine: &'a [(&'static str, String)],
    pub(super) servers: &'a [&'static str],
    pub(super) figures: &'a Figures<Metric>,
}

const READING: &str = "\
Load, server and database share the machine's cores. Things are todos of 1,024 bytes of JSON, sealed
in the database. One person's are pushed and pulled; the others' rows are copies of theirs, there to
be in the way. A raw read selects the page that a pull gives, ordered and cut alike, with a statement
prepared once: on SQLite by threads of the benchmark, on PostgreSQL by `pgbench -M prepared`, which
is sent bodies as text. It neither opens what is sealed nor makes JSON of it. It is taken right before
and right after the pulls that it is compared with, on as many connections. A raw insert commits 500
of the same rows, under other people's names, to a table of the same definition: on SQLite row by row
with a prepared statement, on PostgreSQL by `COPY`. Pages are timed on one connection, from the
request to the last byte, all of a walk until there is no more; those of one with 10,000 rows and of
one with 100 in turns. A page is asked for with `limit=500`; one answer with all 10,000 rows is what
devices get that ask without. Statements are those of sync itself, `BEGIN` and `COMMIT` apart, counted in
PostgreSQL's log while nothing else was asked. The gates' look at account and session, good for five
seconds, and what runs in the background is counted apart. On SQLite a push writes row by row; that a
pull takes no more statements there than on PostgreSQL is asserted by a test of `pia-storage-sync`.
";

impl Report<'_> {
    pub(super) fn render(&self) -> String {
        let Plan { rounds, users, quick, .. } = self.plan;
        let trial_note = if *quick { " **A quick run: a trial, not a result.**" } else { "" };
        let heading = format!(
            "## Keeping devices in step\n\nMedians over {rounds} rounds, among {users} people with \
             {MANY} things each.{trial_note}"
        );

        let parts = [
            heading,
            self.figures.medians(self.servers).render(),
            READING.to_owned(),
            "### Aims of keeping devices in step".to_owned(),
            self.figures.aims(self.servers).render(),
            machine(self.machine).render(),
        ];

        parts.map(|it| it.trim_end().to_owned()).join("\n\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_report_contains_the_number_of_users_and_the_results_of_the_aims() {
        let mut figures = Figures::default();
        for (metric, value) in [
            (Metric::ShareOne, 0.49),
            (Metric::ShareFour, 0.5),
            (Metric::PullStatements, 2.0),
            (Metric::SameStatements, 1.1),
        ] {
            figures.record(0, metric, value);
        }
        let load = Duration::ZERO;
        let plan = Plan { rounds: 1, load, pushes: 1, pulls: 1, walks: 1, users: 7, quick: true };
        let report = Report { plan: &plan, machine: &[], servers: &["server"], figures: &figures };

        let text = report.render();

        let met = |label: &str| {
            text.lines().find(|it| it.contains(label)).is_some_and(|it| it.contains("| met"))
        };
        assert!(text.contains("among 7 people with 10000 things each. **A quick run"), "{text}");
        assert!(!met("1 connection: at least 0.5") && met("4 connections: at least 0.5"), "{text}");
        assert!(met("a pull: at most 3") && !met("a 304: at most 1"), "{text}");
    }
}
