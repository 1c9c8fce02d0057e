//! Measured figures of each round, and the statistics derived from them.

use std::collections::BTreeMap;

use crate::metric::Metric;
use crate::stats::median;

/// Index of the contender that a figure belongs to.
pub(crate) type ContenderIndex = usize;

/// Every round's figures of every contender.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    series: BTreeMap<(ContenderIndex, Metric), Vec<f64>>,
}

impl Figures {
    /// Notes a round's figure. Each contender gets one a round.
    pub(crate) fn record(&mut self, of: ContenderIndex, metric: Metric, value: f64) {
        self.series.entry((of, metric)).or_default().push(value);
    }

    /// A contender's figures, a round each; none where it has no such figure.
    pub(crate) fn of(&self, place: ContenderIndex, metric: Metric) -> &[f64] {
        self.series.get(&(place, metric)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Round by round, how much more one contender takes than another.
    pub(crate) fn added(
        &self,
        of: ContenderIndex,
        over: ContenderIndex,
        metric: Metric,
    ) -> Vec<f64> {
        self.paired(of, over, metric, |one, other| one - other)
    }

    /// The median over the rounds of one contender's share of another's figure.
    pub(crate) fn ratio(
        &self,
        of: ContenderIndex,
        to: ContenderIndex,
        metric: Metric,
    ) -> Option<f64> {
        let ratios = self.paired(of, to, metric, |one, other| one / other);
        median(&ratios).filter(|it| it.is_finite())
    }

    fn paired(
        &self,
        one: ContenderIndex,
        other: ContenderIndex,
        metric: Metric,
        combine: fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        let pairs = self.of(one, metric).iter().zip(self.of(other, metric));
        pairs.map(|(one, other)| combine(*one, *other)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_are_compared_round_by_round() {
        let mut figures = Figures::default();
        for (proxy, server) in [(1.0, 2.0), (10.0, 11.0), (4.0, 6.0)] {
            figures.record(1, Metric::P50Fast, proxy);
            figures.record(2, Metric::P50Fast, server);
        }

        assert_eq!(figures.added(2, 1, Metric::P50Fast), [1.0, 1.0, 2.0]);
        assert_eq!(figures.ratio(2, 1, Metric::P50Fast), Some(1.5));
    }

    #[test]
    fn what_was_not_measured_has_no_ratio() {
        let mut figures = Figures::default();
        figures.record(2, Metric::Health, 3.0);

        assert_eq!(figures.ratio(2, 1, Metric::Health), None);
        assert_eq!(figures.of(1, Metric::Health), [] as [f64; 0]);
    }
}
