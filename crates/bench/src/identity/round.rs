//! Round: every load on every server, one after the other.

use super::figures::Metric;
use super::{Plan, hashes, refreshes};
use crate::call::{Call, Expectation};
use crate::closed_loop::closed_loop;
use crate::contenders::{Server, health};
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::process;
use crate::sign_ins::sign_ins;
use crate::stats::count;

/// More than two cores hash at once, so that the hashing threads never wait,
/// and fewer than the guesses at one account that go on without a delay.
const CONNECTIONS: usize = 4;

pub(super) struct Round<'a> {
    pub(super) plan: &'a Plan,
    pub(super) servers: &'a [(&'static str, Server)],
    pub(super) figures: &'a mut Figures<Metric>,
}

impl Round<'_> {
    /// Returns the number of sign-ins of the storms that must be retried.
    pub(super) fn run(mut self) -> Outcome<usize> {
        let mut turned_away = 0;
        for (place, (name, server)) in self.servers.iter().enumerate() {
            let reported = |err| format!("{name}: {err}");
            self.steady(place, server).map_err(reported)?;
            self.settle()?;
            turned_away += self.storm(place, server).map_err(reported)?;
            self.settle()?;
        }
        Ok(turned_away)
    }

    /// Hashes are made right before and after, so that a machine that is slow
    /// for a while is slow for both.
    fn steady(&mut self, place: usize, server: &Server) -> Outcome<()> {
        let lasts = self.plan.load;
        let before = hashes::per_second(lasts / 2)?;
        let call = server.accounts.crowd(1).pop().ok_or("nobody may sign in")?;
        let came = closed_loop(server.address, &call, CONNECTIONS, lasts)?;
        let after = hashes::per_second(lasts / 2)?;
        let raw = f64::midpoint(before, after);
        let sign_ins = count(came.answered) / came.took.as_secs_f64();
        let refreshes = refreshes::per_second(server.address, &server.accounts, lasts)?;
        for (metric, value) in [
            (Metric::Hashes, raw),
            (Metric::SignIns, sign_ins),
            (Metric::Share, sign_ins / raw),
            (Metric::Refreshes, refreshes),
        ] {
            self.figures.record(place, metric, value);
        }
        Ok(())
    }

    fn storm(&mut self, place: usize, server: &Server) -> Outcome<usize> {
        if self.figures.of(place, Metric::Resident).is_empty() {
            self.figures.record(place, Metric::Resident, server.process.resident()?);
        }
        let watcher = server.accounts.token()?;
        let proof = Expectation::Holds(b"\"requiresBusinessProfile\"".to_vec());
        let me = Call::get_as(server.address, "/auth/me", &watcher, proof);
        let crowd = server.accounts.crowd_of_others(self.plan.storm);
        let came = sign_ins(server.address, &[health(server.address), me], &crowd)?;
        self.figures.record(place, Metric::Storm, came.per_second);
        for (metric, value) in [Metric::Health, Metric::Me].into_iter().zip(came.p99s) {
            self.figures.record(place, metric, value);
        }
        self.figures.record(place, Metric::Peak, server.process.peak()?);
        Ok(came.turned_away)
    }

    fn settle(&self) -> Outcome<()> {
        process::settle(&self.servers.iter().map(|(_, it)| &it.process).collect::<Vec<_>>())
    }
}
