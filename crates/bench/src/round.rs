//! Round: every load on every contender, one after the other.

use std::thread;
use std::time::Duration;

use crate::burst::microseconds_a_chunk;
use crate::closed_loop::{Throughput, closed_loop};
use crate::contenders::{CHUNKS, Contender, ContenderRole, Contenders, health};
use crate::failure::Outcome;
use crate::figures::Figures;
use crate::metric::Metric;
use crate::open_loop::OpenLoop;
use crate::plan::Plan;
use crate::sign_ins::sign_ins;
use crate::stats::{count, percentile};
use crate::usage_rows::UsageRows;

const CONNECTIONS: usize = 32;
/// For longer than threads that hash keep their memory for the next password:
/// what is asked is what stays.
const WARM: Duration = Duration::from_millis(1_500);

/// Round: the contenders it measures and the figures it records.
pub(crate) struct Round<'a> {
    pub(crate) number: usize,
    pub(crate) plan: &'a Plan,
    pub(crate) contenders: &'a Contenders,
    pub(crate) figures: &'a mut Figures,
}

impl Round<'_> {
    /// Puts every load on every contender. Contenders take turns within a
    /// load, so that what is compared lies seconds apart. Answers how many
    /// sign-ins were turned away.
    pub(crate) fn run(mut self) -> Outcome<usize> {
        let gentle = (20, self.plan.slow, Metric::P50Gentle, Metric::P99Gentle);
        let slow = (100, self.plan.slow, Metric::P50Slow, Metric::P99Slow);
        let fast = (1000, self.plan.fast, Metric::P50Fast, Metric::P99Fast);
        for (per_second, lasts, p50, p99) in [gentle, slow, fast] {
            self.each(|contender| {
                // A peer need not hold what the server holds.
                if contender.is_peer() != (per_second == 20) {
                    return Ok(Vec::new());
                }
                let waits = at_rate(contender, per_second, lasts)?;
                let share = |share| percentile(&waits, share).ok_or("nothing was answered");
                Ok(vec![(p50, share(0.5)?), (p99, share(0.99)?)])
            })?;
        }
        self.full_load()?;
        let streams = self.plan.streams;
        self.each(|it| {
            let chunk = microseconds_a_chunk(it.address, &it.calls.stream, streams, CHUNKS)?;
            Ok(vec![(Metric::Chunk, chunk)])
        })?;
        self.each(|it| Ok(vec![(Metric::Resident, it.process.resident()?)]))?;
        self.crowds()
    }

    /// The CPU time covers what a contender still writes after the last answer.
    fn full_load(&mut self) -> Outcome<()> {
        let (contenders, lasts) = (self.contenders, self.plan.full);
        self.each(|it| {
            let before = it.process.cpu()?;
            let usage = it.own.as_ref().map(|own| &own.usage);
            let written = usage.map_or(Ok(0), UsageRows::count)?;
            let Throughput { answered, took } =
                closed_loop(it.address, &it.calls.whole, CONNECTIONS, lasts)?;
            let expected = i64::try_from(answered)?;
            let recorded = usage.map(|it| it.since(written, expected)).transpose()?;
            contenders.settle()?;
            let cpu = it.process.cpu()?.saturating_sub(before);
            let mut found = vec![
                (Metric::PerSecond, count(answered) / took.as_secs_f64()),
                (Metric::Cpu, cpu.as_secs_f64() * 1e6 / count(answered)),
            ];
            if let Some(recorded) = recorded {
                let recorded = count(usize::try_from(recorded)?);
                found.push((Metric::Recorded, recorded / count(answered)));
            }
            Ok(found)
        })
    }

    fn crowds(&mut self) -> Outcome<usize> {
        let mut turned_away = 0;
        let signing_in = |it: &Contender| matches!(it.kind, ContenderRole::Server);
        let servers = self.contenders.servers().filter(|(_, it, _)| signing_in(it));
        for (place, server, own) in servers {
            let crowd = own.accounts.crowd(self.plan.sign_ins);
            let came = sign_ins(server.address, &[health(server.address)], &crowd)
                .map_err(|err| format!("{}: {err}", server.name))?;
            thread::sleep(WARM);
            self.contenders.settle()?;
            turned_away += came.turned_away;
            let health = came.p99s.into_iter().map(|it| (Metric::Health, it));
            let others = [
                (Metric::SignIns, came.per_second),
                (Metric::ResidentAfterSignIns, server.process.resident()?),
            ];
            for (metric, value) in others.into_iter().chain(health) {
                self.figures.record(place, metric, value);
            }
        }
        Ok(turned_away)
    }

    fn each(&mut self, measure: impl Fn(&Contender) -> Outcome<Vec<(Metric, f64)>>) -> Outcome<()> {
        for (place, contender) in self.contenders.from(self.number) {
            let found = measure(contender).map_err(|err| format!("{}: {err}", contender.name))?;
            for (metric, value) in found {
                self.figures.record(place, metric, value);
            }
            self.contenders.settle()?;
        }
        Ok(())
    }
}

fn at_rate(contender: &Contender, per_second: u32, lasts: Duration) -> Outcome<Vec<f64>> {
    let load = OpenLoop {
        to: contender.address,
        call: &contender.calls.whole,
        per_second,
        connections: CONNECTIONS,
    };
    load.run(|after| after < lasts)
}
