//! Percentiles and medians of samples.
//!
//! Samples are few enough to be sorted on each call. None of the functions fails:
//! without samples they return `None`.

/// Returns the percentile `share` (0 to 1) by nearest rank, so that it is
/// always one of the samples; `None` without samples.
pub(crate) fn percentile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = count(sorted.len()) * share.clamp(0.0, 1.0);
    let position = (1..=sorted.len()).find(|at| count(*at) >= rank)?;
    sorted.get(position.saturating_sub(1)).copied()
}

/// Returns the middle sample, or the mean of the two in the middle.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2).copied()?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted.get((sorted.len() / 2).checked_sub(1)?).copied()?;
    Some(f64::midpoint(lower, upper))
}

/// Returns the lowest and the highest sample.
pub(crate) fn range(samples: &[f64]) -> Option<(f64, f64)> {
    let lowest = samples.iter().copied().min_by(f64::total_cmp)?;
    let highest = samples.iter().copied().max_by(f64::total_cmp)?;
    Some((lowest, highest))
}

/// Converts a count to a floating-point number.
pub(crate) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_sample_of_the_nearest_rank() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();

        assert_eq!(percentile(&samples, 0.5), Some(50.0));
        assert_eq!(percentile(&samples, 0.99), Some(99.0));
        assert_eq!(percentile(&samples, 1.0), Some(100.0));
        assert_eq!(percentile(&samples, 0.0), Some(1.0));
    }

    #[test]
    fn a_high_percentile_of_few_samples_is_the_highest() {
        assert_eq!(percentile(&[3.0, 1.0, 2.0], 0.99), Some(3.0));
        assert_eq!(percentile(&[7.0], 0.5), Some(7.0));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn a_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_range_goes_from_the_lowest_to_the_highest() {
        assert_eq!(range(&[2.0, -1.0, 8.0]), Some((-1.0, 8.0)));
        assert_eq!(range(&[]), None);
    }
}
