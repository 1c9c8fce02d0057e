//! Measured figures of each round, and the statistics derived from them.
//!
//! Differences and ratios are formed within a round before their median is taken, as
//! contenders of one round ran under the same conditions. For the gateway; other
//! benchmarks use `measured.rs`.

use std::collections::BTreeMap;

use crate::metric::Metric;
use crate::stats::median;

/// Index of the contender that a figure belongs to.
pub(crate) type ContenderIndex = usize;

/// Figures of every contender in every round.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    series: BTreeMap<(ContenderIndex, Metric), Vec<f64>>,
}

impl Figures {
    /// Records a figure of a round. Each contender has one a round.
    pub(crate) fn record(&mut self, contender: ContenderIndex, metric: Metric, value: f64) {
        self.series.entry((contender, metric)).or_default().push(value);
    }

    /// Returns a contender's figures, one a round; empty if the metric does not
    /// apply.
    pub(crate) fn series(&self, contender: ContenderIndex, metric: Metric) -> &[f64] {
        self.series.get(&(contender, metric)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the difference of a contender's figure to a baseline's, for each
    /// round.
    pub(crate) fn added(
        &self,
        contender: ContenderIndex,
        baseline: ContenderIndex,
        metric: Metric,
    ) -> Vec<f64> {
        self.paired(contender, baseline, metric, |value, base| value - base)
    }

    /// Returns the ratio of a contender's figure to a baseline's, as the median
    /// over the rounds.
    pub(crate) fn ratio(
        &self,
        contender: ContenderIndex,
        baseline: ContenderIndex,
        metric: Metric,
    ) -> Option<f64> {
        let ratios = self.paired(contender, baseline, metric, |value, base| value / base);
        median(&ratios).filter(|it| it.is_finite())
    }

    fn paired(
        &self,
        contender: ContenderIndex,
        baseline: ContenderIndex,
        metric: Metric,
        combine: fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        self.series(contender, metric)
            .iter()
            .zip(self.series(baseline, metric))
            .map(|(value, base)| combine(*value, *base))
            .collect()
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
    fn a_figure_without_a_baseline_has_no_ratio() {
        let mut figures = Figures::default();
        figures.record(2, Metric::Health, 3.0);

        assert_eq!(figures.ratio(2, 1, Metric::Health), None);
        assert_eq!(figures.series(1, Metric::Health), [] as [f64; 0]);
    }
}
