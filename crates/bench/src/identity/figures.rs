//! Figures measured for each server in each round.

use crate::measured::{Aim, Measured};

/// Kind of figure.
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

impl Measured for Metric {
    const ALL: &'static [Self] = &[
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

    fn label(self) -> &'static str {
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

    fn digits(self) -> usize {
        match self {
            Self::Share | Self::Health | Self::Me => 2,
            Self::Refreshes => 0,
            Self::Hashes | Self::SignIns | Self::Storm | Self::Resident | Self::Peak => 1,
        }
    }

    fn aim(self) -> Option<Aim> {
        match self {
            Self::Share => Some(Aim::AtLeast(0.9)),
            Self::Health | Self::Me => Some(Aim::Below(20.0)),
            // Two threads hash at a time, 19 MiB each; the rest is the server.
            Self::Peak => Some(Aim::Below(100.0)),
            Self::Hashes | Self::SignIns | Self::Refreshes | Self::Storm | Self::Resident => None,
        }
    }
}
