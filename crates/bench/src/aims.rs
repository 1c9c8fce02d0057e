//! Performance targets of the server, and the check of results against them.
//!
//! For the gateway alone: a target may apply to the overhead over the bare proxy, or
//! depend on the commit time of the same run (`Limit::CommitPlus`), so that a slow
//! disk does not fail it. Targets of other benchmarks are in `measured.rs`.

use crate::contenders::{ContenderRole, PROXY};
use crate::figures::{ContenderIndex, Figures};
use crate::floors::Floor;
use crate::metric::Metric;
use crate::stats::{median, range};
use crate::table::Table;

/// Performance target: a limit that a figure must stay on one side of.
struct Aim {
    metric: Metric,
    base: FigureBase,
    limit: Limit,
    unit: &'static str,
    group: TargetGroup,
}

/// Figure that is compared with the limit.
#[derive(Debug, Clone, Copy)]
enum FigureBase {
    /// The measured figure itself.
    Value,
    /// The overhead: the figure minus the bare proxy's.
    Overhead,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// At most the commit time of the same run plus the allowance of the role.
    CommitPlus,
}

/// Contenders that an aim applies to.
#[derive(Debug, Clone, Copy)]
enum TargetGroup {
    Servers,
    WithoutLimits,
    WithLimits,
}

const AIMS: [Aim; 10] = [
    Aim {
        metric: Metric::P50Fast,
        base: FigureBase::Overhead,
        limit: Limit::AtMost(0.15),
        unit: "ms",
        group: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::P50Fast,
        base: FigureBase::Overhead,
        limit: Limit::CommitPlus,
        unit: "ms",
        group: TargetGroup::WithLimits,
    },
    Aim {
        metric: Metric::P99Fast,
        base: FigureBase::Overhead,
        limit: Limit::AtMost(1.0),
        unit: "ms",
        group: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::PerSecond,
        base: FigureBase::Value,
        limit: Limit::AtLeast(5000.0),
        unit: "/s",
        group: TargetGroup::WithLimits,
    },
    Aim {
        metric: Metric::Chunk,
        base: FigureBase::Value,
        limit: Limit::AtMost(20.0),
        unit: "µs",
        group: TargetGroup::Servers,
    },
    Aim {
        metric: Metric::OpenStream,
        base: FigureBase::Value,
        limit: Limit::AtMost(50.0),
        unit: "KB",
        group: TargetGroup::Servers,
    },
    Aim {
        metric: Metric::Grown,
        base: FigureBase::Value,
        limit: Limit::AtMost(0.5),
        unit: "MB",
        group: TargetGroup::Servers,
    },
    Aim {
        metric: Metric::Resident,
        base: FigureBase::Value,
        limit: Limit::AtMost(60.0),
        unit: "MB",
        group: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::ResidentAfterSignIns,
        base: FigureBase::Value,
        limit: Limit::AtMost(60.0),
        unit: "MB",
        group: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::Health,
        base: FigureBase::Value,
        limit: Limit::AtMost(20.0),
        unit: "ms",
        group: TargetGroup::WithoutLimits,
    },
];

/// Returns the table of the aims and of the results of each server.
pub(crate) fn evaluate(
    figures: &Figures,
    contenders: &[(&'static str, ContenderRole)],
    floors: &[Floor],
) -> Table {
    let mut table = Table::new(["Aim", "Server", "Median", "Lowest to highest round", "Result"]);
    for aim in AIMS {
        for (index, (name, role)) in contenders.iter().enumerate() {
            let rounds = aim.rounds(figures, index);
            let limit =
                if aim.group.includes(*role) { aim.limit.value_for(*role, floors) } else { None };
            let (Some(median), Some((lowest, highest)), Some(limit)) =
                (median(&rounds), range(&rounds), limit)
            else {
                continue;
            };

            let digits = aim.metric.digits();
            table.row(vec![
                aim.text(*role),
                (*name).to_owned(),
                format!("{median:.digits$} {}", aim.unit),
                format!("{lowest:.digits$} to {highest:.digits$}"),
                aim.result(median, limit),
            ]);
        }
    }

    table
}

impl Aim {
    fn rounds(&self, figures: &Figures, contender: ContenderIndex) -> Vec<f64> {
        match self.base {
            FigureBase::Value => figures.series(contender, self.metric).to_vec(),
            FigureBase::Overhead => figures.added(contender, PROXY, self.metric),
        }
    }

    fn text(&self, role: ContenderRole) -> String {
        let label = self.metric.label();
        let name = label.rsplit_once(", ").map_or(label, |(name, _)| name);

        let added = match self.base {
            FigureBase::Value => "",
            FigureBase::Overhead => ", added to the bare proxy",
        };

        let limit = match (self.limit, role) {
            (Limit::AtMost(limit), _) => format!("at most {limit}"),
            (Limit::AtLeast(limit), _) => format!("at least {limit}"),
            (Limit::CommitPlus, ContenderRole::Limited { more, .. }) => {
                format!("at most a commit and {more}")
            }
            (Limit::CommitPlus, _) => "at most a commit".to_owned(),
        };

        format!("{name}{added}: {limit} {}", self.unit)
    }

    fn result(&self, median: f64, limit: f64) -> String {
        let digits = self.metric.digits();

        let excess = match self.limit {
            Limit::AtLeast(_) => limit - median,
            Limit::AtMost(_) | Limit::CommitPlus => median - limit,
        };

        let limit_note = match self.limit {
            Limit::CommitPlus => format!(" (at most {limit:.digits$})"),
            Limit::AtMost(_) | Limit::AtLeast(_) => String::new(),
        };

        if excess <= 0.0 {
            return format!("met{limit_note}");
        }

        format!("**missed** by {excess:.digits$} {}{limit_note}", self.unit)
    }
}

impl Limit {
    /// Returns the limit for a contender of this role; `None` if there is none.
    fn value_for(self, role: ContenderRole, floors: &[Floor]) -> Option<f64> {
        match (self, role) {
            (Self::AtMost(limit) | Self::AtLeast(limit), _) => Some(limit),
            (Self::CommitPlus, ContenderRole::Limited { commit, more }) => {
                let floor = floors.iter().find(|it| it.name == commit)?;
                Some(median(&floor.rounds)? + more)
            }
            (Self::CommitPlus, _) => None,
        }
    }
}

impl TargetGroup {
    fn includes(self, role: ContenderRole) -> bool {
        match role {
            ContenderRole::Server => matches!(self, Self::Servers | Self::WithoutLimits),
            ContenderRole::Limited { .. } => matches!(self, Self::Servers | Self::WithLimits),
            ContenderRole::Reference | ContenderRole::Peer => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "a commit";

    fn lines_of(figures: &Figures) -> Vec<String> {
        let limited = ContenderRole::Limited { commit: COMMIT, more: 0.1 };
        let floors = [Floor { name: COMMIT, rounds: vec![0.1, 0.3, 0.2] }];
        let contenders = [
            ("upstream", ContenderRole::Reference),
            ("proxy", ContenderRole::Reference),
            ("server", ContenderRole::Server),
            ("limits", limited),
            ("peer", ContenderRole::Peer),
        ];
        evaluate(figures, &contenders, &floors).render().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_figure_at_its_limit_meets_the_aim() {
        let mut figures = Figures::default();
        figures.record(2, Metric::Chunk, 20.0);

        let lines = lines_of(&figures);

        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("at most 20 µs") && lines[2].contains("| met"), "{lines:?}");
    }

    #[test]
    fn a_missed_aim_is_reported_with_the_excess() {
        let mut figures = Figures::default();
        for (proxy, server) in [(1.0, 1.2), (2.0, 2.4), (1.0, 2.0)] {
            figures.record(1, Metric::P50Fast, proxy);
            figures.record(2, Metric::P50Fast, server);
        }

        let lines = lines_of(&figures);

        assert!(lines[2].contains("0.400 ms"), "{lines:?}");
        assert!(lines[2].contains("0.200 to 1.000"), "{lines:?}");
        assert!(lines[2].contains("**missed** by 0.250 ms"), "{lines:?}");
    }

    #[test]
    fn a_server_with_limits_may_take_a_commit_of_the_same_run() {
        for (added, result) in [(0.3, "| met (at most 0.300)"), (0.4, "**missed** by 0.100 ms")] {
            let mut figures = Figures::default();
            figures.record(1, Metric::P50Fast, 1.0);
            figures.record(3, Metric::P50Fast, 1.0 + added);

            let lines = lines_of(&figures);

            assert_eq!(lines.len(), 3);
            assert!(lines[2].contains("at most a commit and 0.1 ms"), "{lines:?}");
            assert!(lines[2].contains(result), "{lines:?}");
        }
    }

    #[test]
    fn a_rate_below_its_limit_misses_the_aim() {
        let mut figures = Figures::default();
        figures.record(3, Metric::PerSecond, 4999.0);
        // The aim does not apply to these two.
        figures.record(2, Metric::PerSecond, 1.0);
        figures.record(4, Metric::PerSecond, 1.0);

        let lines = lines_of(&figures);

        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("at least 5000 /s"), "{lines:?}");
        assert!(lines[2].contains("**missed** by 1 /s"), "{lines:?}");
    }

    #[test]
    fn figures_that_were_not_measured_are_left_out() {
        assert_eq!(lines_of(&Figures::default()).len(), 2);
    }
}
