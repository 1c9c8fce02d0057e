//! Round: every load on one server.
//!
//! The order of the loads matters: timed pulls come before the pushes, which add
//! rows to the same tables, and memory comes last, after the server has settled.

use std::time::Instant;

use super::Plan;
use super::contender::{Contender, WITH_FEW, WITH_MANY, device, new_items_push};
use super::figures::Metric;
use super::person::{BEGINNING, Device, Pulled};
use super::seeding::{BATCH, FEW, MANY};
use crate::call::Call;
use crate::closed_loop::closed_loop;
use crate::contenders::Server;
use crate::failure::Outcome;
use crate::measured::Figures;
use crate::process;
use crate::stats::{count, percentile};

/// Number of users without data who push in turns.
const PUSHERS: usize = 90;
/// Number of repetitions of a call whose statements are counted.
const COUNTED: u8 = 20;
const COUNTED_PUSHES: u8 = 4;

pub(super) struct Round<'a> {
    pub(super) plan: &'a Plan,
    /// Number of the round, from 1.
    pub(super) number: u32,
    pub(super) index: usize,
    pub(super) figures: &'a mut Figures<Metric>,
}

impl Round<'_> {
    pub(super) fn run(mut self, contender: &mut Contender<'_>) -> Outcome<()> {
        let mut many = device(contender.server, WITH_MANY)?;
        let known = many.pull(&contender.changes.hundredth, 0)?;
        self.reads(contender, &many, &known)?;
        self.pages(contender, &mut many, &known)?;
        self.in_turns(contender, &mut many, &known)?;
        self.pushes(contender)?;
        self.statements(contender, &mut many, &known)?;
        process::settle(&[&contender.server.process])?;
        self.memory(contender.server)
    }

    fn record(&mut self, metric: Metric, value: f64) {
        self.figures.record(self.index, metric, value);
    }

    /// Measures pulls between two runs of raw reads, so that a slow phase of
    /// the machine affects both.
    fn reads(&mut self, contender: &Contender<'_>, device: &Device, known: &Pulled) -> Outcome<()> {
        let since = &contender.changes.hundredth;
        let duration = self.plan.load;
        let pull = device.page_request(since, known.catalogue, &known.at);
        let shares = contender.raw.share_metrics();

        for ((connections, [raw, pulls]), share) in
            [(1, [Metric::RawOne, Metric::PullsOne]), (4, [Metric::RawFour, Metric::PullsFour])]
                .into_iter()
                .zip(shares)
        {
            let before = contender.raw.reads(connections, duration / 2)?;
            let pulled = self.per_second(contender.server, &pull, connections)?;
            let after = contender.raw.reads(connections, duration / 2)?;
            let read = f64::midpoint(before, after);
            self.record(raw, read);
            self.record(pulls, pulled);
            self.record(share, pulled / read);
        }

        let same = device.unchanged_request(since, known);
        let unchanged = self.per_second(contender.server, &same, 4)?;
        self.record(Metric::Unchanged, unchanged);

        Ok(())
    }

    fn per_second(&self, server: &Server, call: &Call, connections: usize) -> Outcome<f64> {
        let throughput = closed_loop(server.address, call, connections, self.plan.load)?;
        Ok(count(throughput.answered) / throughput.elapsed.as_secs_f64())
    }

    /// Measures pulls of the changes page by page, and of all items in one
    /// response.
    fn pages(
        &mut self,
        contender: &Contender<'_>,
        many: &mut Device,
        known: &Pulled,
    ) -> Outcome<()> {
        let changes = &contender.changes;

        for (since, rows, times, metrics) in [
            (
                changes.tenth.as_str(),
                MANY / 10,
                self.plan.walks * 4,
                [Metric::TenthP50, Metric::TenthP99, Metric::TenthRow],
            ),
            (BEGINNING, MANY, self.plan.walks, [Metric::AllP50, Metric::AllP99, Metric::AllRow]),
        ] {
            let mut samples = Vec::new();
            for _ in 0..times {
                samples.extend(many.walk(since, known.catalogue, rows)?);
            }
            self.record_spread(metrics, &samples, f64::from(times) * count(rows))?;
        }

        let pull_all = |_| many.pull_all(BEGINNING, known.catalogue, MANY);
        let samples: Vec<f64> = (0..self.plan.walks).map(pull_all).collect::<Outcome<_>>()?;
        let metrics = [Metric::FullP50, Metric::FullP99, Metric::FullRow];

        self.record_spread(metrics, &samples, f64::from(self.plan.walks) * count(MANY))
    }

    /// Measures pulls of the same number of changes from many and from few
    /// items, and of none.
    fn in_turns(
        &mut self,
        contender: &Contender<'_>,
        many: &mut Device,
        known: &Pulled,
    ) -> Outcome<()> {
        let since = &contender.changes.hundredth;
        let last = &contender.changes.last;
        let mut few = device(contender.server, WITH_FEW)?;
        let known_few = few.pull(BEGINNING, 0)?;
        let last_of_many = many.pull(last, known.catalogue)?;
        let last_of_few = few.pull(&known_few.at, 0)?;
        let unchanged_many = many.unchanged_request(last, &last_of_many);
        let unchanged_few = few.unchanged_request(&known_few.at, &last_of_few);

        let (pages, small) = alternately(
            self.plan.pulls,
            || Ok(many.walk(since, known.catalogue, MANY / 100)?.iter().sum()),
            || Ok(few.walk(BEGINNING, known_few.catalogue, FEW)?.iter().sum()),
        )?;

        let (unchanged, small_unchanged) = alternately(
            self.plan.pulls,
            || many.request_unchanged(&unchanged_many),
            || few.request_unchanged(&unchanged_few),
        )?;

        let rows = f64::from(self.plan.pulls) * count(MANY / 100);
        let metrics = [Metric::HundredthP50, Metric::HundredthP99, Metric::HundredthRow];
        self.record_spread(metrics, &pages, rows)?;
        let page = share(&pages, 0.5)?;
        let small = share(&small, 0.5)?;
        let same = share(&unchanged, 0.5)?;
        let small_same = share(&small_unchanged, 0.5)?;
        self.record(Metric::SmallP50, small);
        self.record(Metric::PullGrowth, page / small);
        self.record(Metric::SameP50, same);
        self.record(Metric::SameP99, share(&unchanged, 0.99)?);
        self.record(Metric::SmallSameP50, small_same);
        self.record(Metric::SameGrowth, same / small_same);

        Ok(())
    }

    fn record_spread(&mut self, metrics: [Metric; 3], samples: &[f64], rows: f64) -> Outcome<()> {
        let [p50, p99, row] = metrics;
        self.record(p50, share(samples, 0.5)?);
        self.record(p99, share(samples, 0.99)?);
        self.record(row, samples.iter().sum::<f64>() * 1e3 / rows);
        Ok(())
    }

    /// Measures pushes by a user without data, a different one each round.
    fn pushes(&mut self, contender: &mut Contender<'_>) -> Outcome<()> {
        let times = self.plan.pushes;
        let mut pusher = device(contender.server, self.pusher())?;
        let pushes: Vec<Call> =
            (0..times).map(|_| new_items_push(&pusher, &mut contender.rng)).collect();
        let before = contender.raw.inserts(&mut contender.rng, times)?;
        let start = Instant::now();

        for push in &pushes {
            pusher.push(push)?;
        }

        let pushed = count(times * BATCH) / start.elapsed().as_secs_f64();
        let after = contender.raw.inserts(&mut contender.rng, times)?;
        let raw = f64::midpoint(before, after);
        self.record(Metric::RawInserts, raw);
        self.record(Metric::Pushed, pushed);
        self.record(Metric::PushShare, pushed / raw);

        Ok(())
    }

    fn statements(
        &mut self,
        contender: &mut Contender<'_>,
        many: &mut Device,
        known: &Pulled,
    ) -> Outcome<()> {
        let Contender { server, log: Some(log), changes, rng, .. } = contender else {
            return Ok(());
        };

        let mut pusher = device(server, self.pusher())?;
        let pushes: Vec<Call> = (0..COUNTED_PUSHES).map(|_| new_items_push(&pusher, rng)).collect();
        let at_last = many.pull(&changes.last, known.catalogue)?;
        let same = many.unchanged_request(&changes.last, &at_last);

        let pulled = log.count(|| {
            let mut pull = || many.pull(&changes.hundredth, known.catalogue).map(drop);
            (0..COUNTED).try_for_each(|_| pull())
        })?;

        let unchanged =
            log.count(|| (0..COUNTED).try_for_each(|_| many.request_unchanged(&same).map(drop)))?;
        let pushed = log.count(|| pushes.iter().try_for_each(|it| pusher.push(it).map(drop)))?;
        let calls = f64::from(COUNTED);
        let pushes = f64::from(COUNTED_PUSHES);
        self.record(Metric::PullStatements, count(pulled.sync) / calls);
        self.record(Metric::SameStatements, count(unchanged.sync) / calls);
        self.record(Metric::PushStatements, count(pushed.sync) / pushes);
        let others = count(pulled.others + unchanged.others + pushed.others);
        self.record(Metric::GateStatements, others / (2.0 * calls + pushes));

        Ok(())
    }

    fn pusher(&self) -> usize {
        let number = usize::try_from(self.number).unwrap_or_default();
        WITH_FEW + 1 + number % PUSHERS
    }

    fn memory(&mut self, server: &Server) -> Outcome<()> {
        let resident = server.process.resident()?;
        if let Some(first) = self.figures.series(self.index, Metric::After).first() {
            let grown = resident - first;
            self.record(Metric::Grown, grown);
        }
        self.record(Metric::After, resident);
        self.record(Metric::Peak, server.process.peak()?);
        Ok(())
    }
}

fn share(samples: &[f64], share: f64) -> Outcome<f64> {
    percentile(samples, share).ok_or_else(|| "nothing was asked".into())
}

/// Measures two calls in turns and alternates their order, as the second call
/// of a turn finds other caches.
fn alternately(
    times: u32,
    mut one: impl FnMut() -> Outcome<f64>,
    mut other: impl FnMut() -> Outcome<f64>,
) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let mut ones = Vec::new();
    let mut others = Vec::new();
    for turn in 0..times {
        if turn % 2 == 0 {
            ones.push(one()?);
            others.push(other()?);
        } else {
            others.push(other()?);
            ones.push(one()?);
        }
    }

    Ok((ones, others))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn each_of_two_calls_is_first_in_every_other_turn() {
        let order = RefCell::new(String::new());
        let call = |name: char, measured: f64| {
            order.borrow_mut().push(name);
            Ok(measured)
        };

        let measured = alternately(3, || call('a', 1.0), || call('b', 2.0)).unwrap();

        assert_eq!(measured, (vec![1.0; 3], vec![2.0; 3]));
        assert_eq!(*order.borrow(), "abbaab");
    }
}
