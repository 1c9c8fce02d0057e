//! Round: every load on a server.

use std::time::Instant;

use super::Plan;
use super::contender::{Contender, WITH_FEW, WITH_MANY, device, fresh};
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
    /// From 1.
    pub(super) number: u32,
    pub(super) place: usize,
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
        self.figures.record(self.place, metric, value);
    }

    /// Rows are read without the server right before and after, so that a
    /// machine that is slow for a while is slow for both.
    fn reads(&mut self, of: &Contender<'_>, device: &Device, known: &Pulled) -> Outcome<()> {
        let (since, lasts) = (&of.changes.hundredth, self.plan.load);
        let pull = device.page_of(since, known.catalogue, &known.at);
        let shares = of.raw.share_metrics();
        for ((connections, [raw, pulls]), share) in
            [(1, [Metric::RawOne, Metric::PullsOne]), (4, [Metric::RawFour, Metric::PullsFour])]
                .into_iter()
                .zip(shares)
        {
            let before = of.raw.reads(connections, lasts / 2)?;
            let pulled = self.per_second(of.server, &pull, connections)?;
            let after = of.raw.reads(connections, lasts / 2)?;
            let read = f64::midpoint(before, after);
            self.record(raw, read);
            self.record(pulls, pulled);
            self.record(share, pulled / read);
        }
        let same = device.same_of(since, known);
        let unchanged = self.per_second(of.server, &same, 4)?;
        self.record(Metric::Unchanged, unchanged);
        Ok(())
    }

    fn per_second(&self, server: &Server, call: &Call, connections: usize) -> Outcome<f64> {
        let came = closed_loop(server.address, call, connections, self.plan.load)?;
        Ok(count(came.answered) / came.took.as_secs_f64())
    }

    /// Walks through what changed, page by page, and takes all in one answer.
    fn pages(&mut self, of: &Contender<'_>, many: &mut Device, known: &Pulled) -> Outcome<()> {
        let changes = &of.changes;
        for (since, rows, times, metrics) in [
            (
                changes.tenth.as_str(),
                MANY / 10,
                self.plan.walks * 4,
                [Metric::TenthP50, Metric::TenthP99, Metric::TenthRow],
            ),
            (BEGINNING, MANY, self.plan.walks, [Metric::AllP50, Metric::AllP99, Metric::AllRow]),
        ] {
            let mut took = Vec::new();
            for _ in 0..times {
                took.extend(many.walk(since, known.catalogue, rows)?);
            }
            self.spread(metrics, &took, f64::from(times) * count(rows))?;
        }
        let whole = |_| many.whole(BEGINNING, known.catalogue, MANY);
        let took: Vec<f64> = (0..self.plan.walks).map(whole).collect::<Outcome<_>>()?;
        let metrics = [Metric::WholeP50, Metric::WholeP99, Metric::WholeRow];
        self.spread(metrics, &took, f64::from(self.plan.walks) * count(MANY))
    }

    /// Asks for as many changes of much and of little, and for none.
    fn in_turns(&mut self, of: &Contender<'_>, many: &mut Device, known: &Pulled) -> Outcome<()> {
        let (since, last) = (&of.changes.hundredth, &of.changes.last);
        let mut few = device(of.server, WITH_FEW)?;
        let little = few.pull(BEGINNING, 0)?;
        let (at_many, at_few) = (many.pull(last, known.catalogue)?, few.pull(&little.at, 0)?);
        let of_many = many.same_of(last, &at_many);
        let of_few = few.same_of(&little.at, &at_few);
        let (pages, small) = alternately(
            self.plan.pulls,
            || Ok(many.walk(since, known.catalogue, MANY / 100)?.iter().sum()),
            || Ok(few.walk(BEGINNING, little.catalogue, FEW)?.iter().sum()),
        )?;
        let (unchanged, small_unchanged) =
            alternately(self.plan.pulls, || many.ask(&of_many), || few.ask(&of_few))?;
        let rows = f64::from(self.plan.pulls) * count(MANY / 100);
        let metrics = [Metric::HundredthP50, Metric::HundredthP99, Metric::HundredthRow];
        self.spread(metrics, &pages, rows)?;
        let (page, small) = (share(&pages, 0.5)?, share(&small, 0.5)?);
        let (same, small_same) = (share(&unchanged, 0.5)?, share(&small_unchanged, 0.5)?);
        self.record(Metric::SmallP50, small);
        self.record(Metric::PullGrowth, page / small);
        self.record(Metric::SameP50, same);
        self.record(Metric::SameP99, share(&unchanged, 0.99)?);
        self.record(Metric::SmallSameP50, small_same);
        self.record(Metric::SameGrowth, same / small_same);
        Ok(())
    }

    fn spread(&mut self, metrics: [Metric; 3], took: &[f64], rows: f64) -> Outcome<()> {
        let [p50, p99, row] = metrics;
        self.record(p50, share(took, 0.5)?);
        self.record(p99, share(took, 0.99)?);
        self.record(row, took.iter().sum::<f64>() * 1e3 / rows);
        Ok(())
    }

    /// Each round by somebody who has nothing yet.
    fn pushes(&mut self, of: &mut Contender<'_>) -> Outcome<()> {
        let times = self.plan.pushes;
        let mut pusher = device(of.server, self.pusher())?;
        let pushes: Vec<Call> = (0..times).map(|_| fresh(&pusher, &mut of.dice)).collect();
        let before = of.raw.inserts(&mut of.dice, times)?;
        let begun = Instant::now();
        for push in &pushes {
            pusher.push(push)?;
        }
        let pushed = count(times * BATCH) / begun.elapsed().as_secs_f64();
        let after = of.raw.inserts(&mut of.dice, times)?;
        let raw = f64::midpoint(before, after);
        self.record(Metric::RawInserts, raw);
        self.record(Metric::Pushed, pushed);
        self.record(Metric::PushShare, pushed / raw);
        Ok(())
    }

    fn statements(
        &mut self,
        of: &mut Contender<'_>,
        many: &mut Device,
        known: &Pulled,
    ) -> Outcome<()> {
        let Contender { server, log: Some(log), changes, dice, .. } = of else { return Ok(()) };
        let mut pusher = device(server, self.pusher())?;
        let pushes: Vec<Call> = (0..COUNTED_PUSHES).map(|_| fresh(&pusher, dice)).collect();
        let at_last = many.pull(&changes.last, known.catalogue)?;
        let same = many.same_of(&changes.last, &at_last);
        let pulled = log.count(|| {
            let mut pull = || many.pull(&changes.hundredth, known.catalogue).map(drop);
            (0..COUNTED).try_for_each(|_| pull())
        })?;
        let requested = log.count(|| (0..COUNTED).try_for_each(|_| many.ask(&same).map(drop)))?;
        let pushed = log.count(|| pushes.iter().try_for_each(|it| pusher.push(it).map(drop)))?;
        let (calls, pushes) = (f64::from(COUNTED), f64::from(COUNTED_PUSHES));
        self.record(Metric::PullStatements, count(pulled.own) / calls);
        self.record(Metric::SameStatements, count(requested.own) / calls);
        self.record(Metric::PushStatements, count(pushed.own) / pushes);
        let others = count(pulled.others + requested.others + pushed.others);
        self.record(Metric::GateStatements, others / (2.0 * calls + pushes));
        Ok(())
    }

    fn pusher(&self) -> usize {
        let number = usize::try_from(self.number).unwrap_or_default();
        WITH_FEW + 1 + number % PUSHERS
    }

    fn memory(&mut self, server: &Server) -> Outcome<()> {
        let resident = server.process.resident()?;
        if let Some(first) = self.figures.of(self.place, Metric::After).first() {
            let grown = resident - first;
            self.record(Metric::Grown, grown);
        }
        self.record(Metric::After, resident);
        self.record(Metric::Peak, server.process.peak()?);
        Ok(())
    }
}

fn share(took: &[f64], share: f64) -> Outcome<f64> {
    percentile(took, share).ok_or_else(|| "nothing was asked".into())
}

/// Measures two calls in turns, each as often the first as the second of a
/// turn: the later one finds other caches.
fn alternately(
    times: u32,
    mut one: impl FnMut() -> Outcome<f64>,
    mut other: impl FnMut() -> Outcome<f64>,
) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
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
    fn each_of_two_comes_first_as_often() {
        let order = RefCell::new(String::new());
        let called = |name: char, took: f64| {
            order.borrow_mut().push(name);
            Ok(took)
        };

        let took = alternately(3, || called('a', 1.0), || called('b', 2.0)).unwrap();

        assert_eq!(took, (vec![1.0; 3], vec![2.0; 3]));
        assert_eq!(*order.borrow(), "abbaab");
    }
}
