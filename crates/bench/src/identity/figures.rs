//! What is measured of each server, round by round.

use std::collections::BTreeMap;

/// One kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    Hashes,
    SignIns,
    Share,
    Refreshes,
    Storm,
    Health,
    Me,
    Resident,
    Peak,
}

/// What a figure is to reach.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aim {
    AtLeast(f64),
    Below(f64),
}

impl Metric {
    /// In the order of the report.
    pub(super) const ALL: [Self; 9] = [
        Self::Hashes,
        Self::SignIns,
        Self::Share,
        Self::Refreshes,
        Self::Storm,
        Self::Health,
        Self::Me,
        Self::Resident,
        Self::Peak,
    ];

    /// What it is called, with its unit.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Hashes => "raw Argon2id hashes/s, all cores",
            Self::SignIns => "sign-ins/s at 4 connections",
            Self::Share => "sign-ins as a share of raw hashes",
            Self::Refreshes => "refreshes/s of 16 sessions",
            Self::Storm => "sign-ins/s in a storm",
            Self::Health => "`/health` p99 in the storm, ms",
            Self::Me => "`/auth/me` p99 in the storm, ms",
            Self::Resident => "resident before the first storm, MB",
            Self::Peak => "most ever resident, MB",
        }
    }

    /// How many digits are worth showing after the point.
    pub(super) fn digits(self) -> usize {
        match self {
            Self::Share | Self::Health | Self::Me => 2,
            Self::Refreshes => 0,
            Self::Hashes | Self::SignIns | Self::Storm | Self::Resident | Self::Peak => 1,
        }
    }

    pub(super) fn aim(self) -> Option<Aim> {
        match self {
            Self::Share => Some(Aim::AtLeast(0.9)),
            Self::Health | Self::Me => Some(Aim::Below(20.0)),
            // Two threads hash at a time, 19 MiB each; the rest is the server.
            Self::Peak => Some(Aim::Below(100.0)),
            Self::Hashes | Self::SignIns | Self::Refreshes | Self::Storm | Self::Resident => None,
        }
    }
}

impl Aim {
    pub(super) fn text(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("at least {limit}"),
            Self::Below(limit) => format!("below {limit}"),
        }
    }

    pub(super) fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::Below(limit) => value < limit,
        }
    }
}

/// Every round's figures of every server.
#[derive(Debug, Default)]
pub(super) struct Figures {
    series: BTreeMap<(usize, Metric), Vec<f64>>,
}

impl Figures {
    pub(super) fn note(&mut self, server: usize, metric: Metric, value: f64) {
        self.series.entry((server, metric)).or_default().push(value);
    }

    pub(super) fn of(&self, server: usize, metric: Metric) -> &[f64] {
        self.series.get(&(server, metric)).map(Vec::as_slice).unwrap_or_default()
    }
}
