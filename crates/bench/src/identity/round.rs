//! Round: every load on each server in turn.

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

/// Number of connections: above two, so that the hashing threads never wait,
/// and below the number of attempts at one account that delays begin at.
const CONNECTIONS: usize = 4;

pub(super) struct Round<'a> {
    pub(super) plan: &'a Plan,
    pub(super) servers: &'a [(&'static str, Server)],
    pub(super) figures: &'a mut Figures<Metric>,
}

impl Round<'_> {
    /// Runs the loads and returns the number of sign-ins rejected during the
    /// storms.
    pub(super) fn run(mut self) -> Outcome<usize> {
        let mut rejected = 0;
        for (index, (name, server)) in self.servers.iter().enumerate() {
            let with_name = |err| format!("{name}: {err}");
            self.steady(index, server).map_err(with_name)?;
            self.settle()?;
            rejected += self.storm(index, server).map_err(with_name)?;
            self.settle()?;
        }
        Ok(rejected)
    }

    /// Measures sign-ins between two runs of raw hashes, so that a slow phase
    /// of the machine affects both.
    fn steady(&mut self, index: usize, server: &Server) -> Outcome<()> {
        let duration = self.plan.load;
        let before = hashes::per_second(duration / 2)?;
        let call = server.accounts.sign_ins(1).pop().ok_or("nobody may sign in")?;
        let throughput = closed_loop(server.address, &call, CONNECTIONS, duration)?;
        let after = hashes::per_second(duration / 2)?;
        let raw = f64::midpoint(before, after);
        let sign_ins = count(throughput.answered) / throughput.elapsed.as_secs_f64();
        let refreshes = refreshes::per_second(server.address, &server.accounts, duration)?;

        for (metric, value) in [
            (Metric::Hashes, raw),
            (Metric::SignIns, sign_ins),
            (Metric::Share, sign_ins / raw),
            (Metric::Refreshes, refreshes),
        ] {
            self.figures.record(index, metric, value);
        }

        Ok(())
    }

    fn storm(&mut self, index: usize, server: &Server) -> Outcome<usize> {
        if self.figures.series(index, Metric::Resident).is_empty() {
            self.figures.record(index, Metric::Resident, server.process.resident()?);
        }

        let watcher = server.accounts.token()?;
        let expectation = Expectation::Holds(b"\"requiresBusinessProfile\"".to_vec());
        let me = Call::get_as(server.address, "/auth/me", &watcher, expectation);
        let logins = server.accounts.sign_ins_of_others(self.plan.storm);
        let load = sign_ins(server.address, &[health(server.address), me], &logins)?;
        self.figures.record(index, Metric::Storm, load.per_second);

        for (metric, value) in [Metric::Health, Metric::Me].into_iter().zip(load.p99s) {
            self.figures.record(index, metric, value);
        }

        self.figures.record(index, Metric::Peak, server.process.peak()?);

        Ok(load.rejected)
    }

    fn settle(&self) -> Outcome<()> {
        process::settle(&self.servers.iter().map(|(_, it)| &it.process).collect::<Vec<_>>())
    }
}
