//! What the database does for whoever asks it without a server.

use std::path::Path;
use std::time::Duration;

use super::figures::Metric;
use super::items::Dice;
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use crate::contenders::Server;
use crate::failure::Outcome;
use crate::installation::DATABASE_FILE;

/// How many rows are read at once.
pub(super) const ROWS: u8 = 100;

/// The database of a server.
pub(super) enum Raw {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

/// Whose rows are read: what changed of theirs after a stamp.
pub(super) struct Whose<'a> {
    pub(super) email: String,
    pub(super) since: &'a str,
}

impl Raw {
    /// Looks up who that is; a server without a URL is one on SQLite.
    pub(super) fn of(server: &Server, url: Option<&str>, whose: &Whose<'_>) -> Outcome<Self> {
        let dir: &Path = &server.installation.dir;
        Ok(match url {
            None => Self::Sqlite(Box::new(Sqlite::open(&dir.join(DATABASE_FILE), dir, whose)?)),
            Some(url) => Self::Postgres(Box::new(Postgres::open(url, dir, whose)?)),
        })
    }

    /// Gives so many people more a copy of all that this one has.
    pub(super) fn copy(&mut self, people: u32) -> Outcome<()> {
        match self {
            Self::Sqlite(raw) => raw.copy(people),
            Self::Postgres(raw) => raw.copy(people),
        }
    }

    /// How often a second the rows are read on so many connections.
    pub(super) fn reads(&self, connections: usize, lasts: Duration) -> Outcome<f64> {
        match self {
            Self::Sqlite(raw) => raw.reads(connections, lasts),
            Self::Postgres(raw) => raw.reads(connections, lasts),
        }
    }

    /// What pulls are as a share of these reads, over one connection and over
    /// four. A file is read without leaving the process, with nobody in between
    /// to ask: a server cannot be measured by that as it is by what another
    /// client of its database gets.
    pub(super) fn share_metrics(&self) -> [Metric; 2] {
        match self {
            Self::Sqlite(_) => [Metric::InProcessOne, Metric::InProcessFour],
            Self::Postgres(_) => [Metric::ShareOne, Metric::ShareFour],
        }
    }

    /// Rows a second that are inserted in so many transactions.
    pub(super) fn inserts(&mut self, dice: &mut Dice, transactions: usize) -> Outcome<f64> {
        match self {
            Self::Sqlite(raw) => raw.inserts(dice, transactions),
            Self::Postgres(raw) => raw.inserts(dice, transactions),
        }
    }
}
