//! Round: every load on each contender in turn.
//!
//! The loads of the gateway, in this order: latencies at three rates, throughput with
//! CPU time, chunks of a stream, memory, and sign-ins. All contenders take turns
//! within a load.

use std::thread;
use std::time::Duration;

use crate::burst::microseconds_a_chunk;
use crate::chat_endpoint::CHUNKS;
use crate::closed_loop::{Throughput, closed_loop};
use crate::contenders::{Contender, ContenderRole, Contenders, health};
use crate::failure::Outcome;
use crate::figures::Figures;
use crate::metric::Metric;
use crate::open_loop::OpenLoop;
use crate::plan::Plan;
use crate::sign_ins::sign_ins;
use crate::stats::{count, percentile};
use crate::usage_rows::UsageRows;

const CONNECTIONS: usize = 32;
/// Delay before the memory is measured, longer than hashing threads keep their
/// buffers: only memory that stays allocated counts.
const HASHING_IDLE: Duration = Duration::from_millis(1_500);

/// Round: the contenders it measures and the figures it records.
pub(crate) struct Round<'a> {
    pub(crate) number: usize,
    pub(crate) plan: &'a Plan,
    pub(crate) contenders: &'a Contenders,
    pub(crate) figures: &'a mut Figures,
}

impl Round<'_> {
    /// Runs every load on every contender and returns the number of rejected
    /// sign-ins. Contenders take turns within a load, so that compared figures
    /// are measured seconds apart.
    pub(crate) fn run(mut self) -> Outcome<usize> {
        let gentle = (20, self.plan.slow, Metric::P50Gentle, Metric::P99Gentle);
        let slow = (100, self.plan.slow, Metric::P50Slow, Metric::P99Slow);
        let fast = (1000, self.plan.fast, Metric::P50Fast, Metric::P99Fast);
        for (per_second, duration, p50, p99) in [gentle, slow, fast] {
            self.each(|contender| {
                // Peers get the lowest rate only, as they may not sustain the
                // others.
                if contender.is_peer() != (per_second == 20) {
                    return Ok(Vec::new());
                }
                let latencies = at_rate(contender, per_second, duration)?;
                let share = |share| percentile(&latencies, share).ok_or("nothing was answered");
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

        self.sign_in_loads()
    }

    /// Measures the closed-loop load. The CPU time includes writes after the
    /// last response.
    fn full_load(&mut self) -> Outcome<()> {
        let contenders = self.contenders;
        let duration = self.plan.full;
        self.each(|contender| {
            let before = contender.process.cpu()?;
            let usage = contender.data.as_ref().map(|data| &data.usage);
            let written = usage.map_or(Ok(0), UsageRows::count)?;
            let Throughput { answered, elapsed } =
                closed_loop(contender.address, &contender.calls.full, CONNECTIONS, duration)?;
            let expected = i64::try_from(answered)?;
            let recorded = usage.map(|it| it.since(written, expected)).transpose()?;
            contenders.settle()?;
            let cpu = contender.process.cpu()?.saturating_sub(before);
            let mut measured = vec![
                (Metric::PerSecond, count(answered) / elapsed.as_secs_f64()),
                (Metric::Cpu, cpu.as_secs_f64() * 1e6 / count(answered)),
            ];

            if let Some(recorded) = recorded {
                let recorded = count(usize::try_from(recorded)?);
                measured.push((Metric::Recorded, recorded / count(answered)));
            }

            Ok(measured)
        })
    }

    fn sign_in_loads(&mut self) -> Outcome<usize> {
        let mut rejected = 0;
        let has_sign_ins = |it: &Contender| matches!(it.role, ContenderRole::Server);
        let servers = self.contenders.servers().filter(|(_, it, _)| has_sign_ins(it));
        for (index, server, data) in servers {
            let logins = data.accounts.sign_ins(self.plan.sign_ins);
            let load = sign_ins(server.address, &[health(server.address)], &logins)
                .map_err(|err| format!("{}: {err}", server.name))?;
            thread::sleep(HASHING_IDLE);
            self.contenders.settle()?;
            rejected += load.rejected;
            let health = load.p99s.into_iter().map(|it| (Metric::Health, it));

            let others = [
                (Metric::SignIns, load.per_second),
                (Metric::ResidentAfterSignIns, server.process.resident()?),
            ];

            for (metric, value) in others.into_iter().chain(health) {
                self.figures.record(index, metric, value);
            }
        }

        Ok(rejected)
    }

    fn each(&mut self, measure: impl Fn(&Contender) -> Outcome<Vec<(Metric, f64)>>) -> Outcome<()> {
        for (index, contender) in self.contenders.from(self.number) {
            let measured =
                measure(contender).map_err(|err| format!("{}: {err}", contender.name))?;
            for (metric, value) in measured {
                self.figures.record(index, metric, value);
            }
            self.contenders.settle()?;
        }
        Ok(())
    }
}

fn at_rate(contender: &Contender, per_second: u32, duration: Duration) -> Outcome<Vec<f64>> {
    let load = OpenLoop {
        to: contender.address,
        call: &contender.calls.full,
        per_second,
        connections: CONNECTIONS,
    };
    load.run(|after| after < duration)
}
