//! Performance targets of the server, and the check of results against them.

use crate::contenders::{ContenderRole, PROXY};
use crate::figures::{ContenderIndex, Figures};
use crate::floors::Floor;
use crate::metric::Metric;
use crate::stats::{median, range};
use crate::table::Table;

/// Aim: a figure that is to stay on one side of a limit.
struct Aim {
    metric: Metric,
    of: FigureBase,
    limit: Limit,
    unit: &'static str,
    whose: TargetGroup,
}

/// Figure that the aim compares.
#[derive(Debug, Clone, Copy)]
enum FigureBase {
    /// The figure itself.
    Itself,
    /// The overhead: the figure minus the bare proxy's.
    WhatIsAdded,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// At most a commit of the same round plus the allowance of a call with limits.
    ACommitAndMore,
}

/// Contenders that a target applies to.
#[derive(Debug, Clone, Copy)]
enum TargetGroup {
    Servers,
    WithoutLimits,
    WithLimits,
}

const AIMS: [Aim; 10] = [
    Aim {
        metric: Metric::P50Fast,
        of: FigureBase::WhatIsAdded,
        limit: Limit::AtMost(0.15),
        unit: "ms",
        whose: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::P50Fast,
        of: FigureBase::WhatIsAdded,
        limit: Limit::ACommitAndMore,
        unit: "ms",
        whose: TargetGroup::WithLimits,
    },
    Aim {
        metric: Metric::P99Fast,
        of: FigureBase::WhatIsAdded,
        limit: Limit::AtMost(1.0),
        unit: "ms",
        whose: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::PerSecond,
        of: FigureBase::Itself,
        limit: Limit::AtLeast(5000.0),
        unit: "/s",
        whose: TargetGroup::WithLimits,
    },
    Aim {
        metric: Metric::Chunk,
        of: FigureBase::Itself,
        limit: Limit::AtMost(20.0),
        unit: "µs",
        whose: TargetGroup::Servers,
    },
    Aim {
        metric: Metric::OpenStream,
        of: FigureBase::Itself,
        limit: Limit::AtMost(50.0),
        unit: "KB",
        whose: TargetGroup::Servers,
    },
    Aim {
        metric: Metric::Grown,
        of: FigureBase::Itself,
        limit: Limit::AtMost(0.5),
        unit: "MB",
        whose: TargetGroup::Servers,
    },
    Aim {
        metric: Metric::Resident,
        of: FigureBase::Itself,
        limit: Limit::AtMost(60.0),
        unit: "MB",
        whose: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::ResidentAfterSignIns,
        of: FigureBase::Itself,
        limit: Limit::AtMost(60.0),
        unit: "MB",
        whose: TargetGroup::WithoutLimits,
    },
    Aim {
        metric: Metric::Health,
        of: FigureBase::Itself,
        limit: Limit::AtMost(20.0),
        unit: "ms",
        whose: TargetGroup::WithoutLimits,
    },
];

/// Each aim beside what was measured of each server.
pub(crate) fn judged(
    figures: &Figures,
    contenders: &[(&'static str, ContenderRole)],
    floors: &[Floor],
) -> Table {
    let mut table = Table::new(["Aim", "Server", "Median", "Lowest to highest round", "Result"]);
    for aim in AIMS {
        for (place, (name, kind)) in contenders.iter().enumerate() {
            let rounds = aim.rounds(figures, place);
            let limit = aim.whose.is(*kind).then(|| aim.limit.for_a(*kind, floors)).flatten();
            let (Some(median), Some((lowest, highest)), Some(limit)) =
                (median(&rounds), range(&rounds), limit)
            else {
                continue;
            };
            let digits = aim.metric.digits();
            table.row(vec![
                aim.text(*kind),
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
    fn rounds(&self, figures: &Figures, of: ContenderIndex) -> Vec<f64> {
        match self.of {
            FigureBase::Itself => figures.of(of, self.metric).to_vec(),
            FigureBase::WhatIsAdded => figures.added(of, PROXY, self.metric),
        }
    }

    fn text(&self, kind: ContenderRole) -> String {
        let label = self.metric.label();
        let what = label.rsplit_once(", ").map_or(label, |(what, _)| what);
        let added = match self.of {
            FigureBase::Itself => "",
            FigureBase::WhatIsAdded => ", added to the bare proxy",
        };
        let limit = match (self.limit, kind) {
            (Limit::AtMost(limit), _) => format!("at most {limit}"),
            (Limit::AtLeast(limit), _) => format!("at least {limit}"),
            (Limit::ACommitAndMore, ContenderRole::Limited { more, .. }) => {
                format!("at most a commit and {more}")
            }
            (Limit::ACommitAndMore, _) => "at most a commit".to_owned(),
        };
        format!("{what}{added}: {limit} {}", self.unit)
    }

    fn result(&self, median: f64, limit: f64) -> String {
        let digits = self.metric.digits();
        let beyond = match self.limit {
            Limit::AtLeast(_) => limit - median,
            Limit::AtMost(_) | Limit::ACommitAndMore => median - limit,
        };
        let message = match self.limit {
            Limit::ACommitAndMore => format!(" (at most {limit:.digits$})"),
            Limit::AtMost(_) | Limit::AtLeast(_) => String::new(),
        };
        if beyond <= 0.0 {
            return format!("met{message}");
        }
        format!("**missed** by {beyond:.digits$} {}{message}", self.unit)
    }
}

impl Limit {
    /// The number, where there is one for a contender of this kind.
    fn for_a(self, kind: ContenderRole, floors: &[Floor]) -> Option<f64> {
        match (self, kind) {
            (Self::AtMost(limit) | Self::AtLeast(limit), _) => Some(limit),
            (Self::ACommitAndMore, ContenderRole::Limited { commit, more }) => {
                let floor = floors.iter().find(|it| it.what == commit)?;
                Some(median(&floor.rounds)? + more)
            }
            (Self::ACommitAndMore, _) => None,
        }
    }
}

impl TargetGroup {
    fn is(self, kind: ContenderRole) -> bool {
        match kind {
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

    fn lines(figures: &Figures) -> Vec<String> {
        let limited = ContenderRole::Limited { commit: COMMIT, more: 0.1 };
        let floors = [Floor { what: COMMIT, rounds: vec![0.1, 0.3, 0.2] }];
        let contenders = [
            ("upstream", ContenderRole::Reference),
            ("proxy", ContenderRole::Reference),
            ("server", ContenderRole::Server),
            ("limits", limited),
            ("peer", ContenderRole::Peer),
        ];
        judged(figures, &contenders, &floors).render().lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_aim_that_is_reached_is_met() {
        let mut figures = Figures::default();
        figures.record(2, Metric::Chunk, 20.0);

        let lines = lines(&figures);

        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("at most 20 µs") && lines[2].contains("| met"), "{lines:?}");
    }

    #[test]
    fn a_missed_aim_states_by_how_much() {
        let mut figures = Figures::default();
        for (proxy, server) in [(1.0, 1.2), (2.0, 2.4), (1.0, 2.0)] {
            figures.record(1, Metric::P50Fast, proxy);
            figures.record(2, Metric::P50Fast, server);
        }

        let lines = lines(&figures);

        assert!(lines[2].contains("0.400 ms"), "{lines:?}");
        assert!(lines[2].contains("0.200 to 1.000"), "{lines:?}");
        assert!(lines[2].contains("**missed** by 0.250 ms"), "{lines:?}");
    }

    #[test]
    fn with_limits_a_commit_of_the_same_run_is_allowed() {
        for (added, result) in [(0.3, "| met (at most 0.300)"), (0.4, "**missed** by 0.100 ms")] {
            let mut figures = Figures::default();
            figures.record(1, Metric::P50Fast, 1.0);
            figures.record(3, Metric::P50Fast, 1.0 + added);

            let lines = lines(&figures);

            assert_eq!(lines.len(), 3);
            assert!(lines[2].contains("at most a commit and 0.1 ms"), "{lines:?}");
            assert!(lines[2].contains(result), "{lines:?}");
        }
    }

    #[test]
    fn a_rate_is_to_be_reached_from_above() {
        let mut figures = Figures::default();
        figures.record(3, Metric::PerSecond, 4999.0);
        // Neither aims at it.
        figures.record(2, Metric::PerSecond, 1.0);
        figures.record(4, Metric::PerSecond, 1.0);

        let lines = lines(&figures);

        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("at least 5000 /s"), "{lines:?}");
        assert!(lines[2].contains("**missed** by 1 /s"), "{lines:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert_eq!(lines(&Figures::default()).len(), 2);
    }
}
