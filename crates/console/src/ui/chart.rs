//! Bar charts, drawn as SVG, with a table of their numbers.
//!
//! `shapes` divides the width into equal slots, one a bar, and scales the heights to
//! the highest bar. The origin is the upper left corner, as in SVG.

/// Width of a chart, in units of its SVG.
const WIDTH: f64 = 720.0;
/// Height of a chart.
const HEIGHT: f64 = 160.0;

/// Maximum width of a bar.
const MAX_BAR_WIDTH: f64 = 48.0;

/// Value of the lowest bit of the upper half of a `u64`.
const TWO_TO_THE_32: f64 = 4_294_967_296.0;

/// Bar chart of a series.
pub(crate) struct Chart {
    /// Title, and the text of the picture for screen readers.
    pub(crate) title: String,
    /// Label of the disclosure of the numbers.
    pub(crate) numbers_label: String,
    /// Heading of the column of labels.
    pub(crate) label_heading: String,
    /// Bars in order.
    pub(crate) bars: Vec<ChartBar>,
}

/// Bar of a chart.
pub(crate) struct ChartBar {
    /// Label: a day.
    pub(crate) label: String,
    /// Formatted value.
    pub(crate) text: String,
    pub(crate) value: f64,
}

impl ChartBar {
    /// Creates a bar of a whole number.
    pub(crate) fn new(label: String, text: String, value: impl TryInto<u64>) -> Self {
        let number = value.try_into().unwrap_or(0);
        // Only `u32` converts to `f64` without a cast, so each half is converted.
        let half = |bits: u64| f64::from(u32::try_from(bits).unwrap_or(u32::MAX));
        let value = half(number >> 32) * TWO_TO_THE_32 + half(number & 0xffff_ffff);
        Self { label, text, value }
    }
}

/// Rectangle of a bar.
pub(crate) struct BarShape<'a> {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) bar: &'a ChartBar,
}

impl Chart {
    /// Returns the highest bar, whose value is the top of the scale; `None` if no
    /// bar has a height.
    pub(crate) fn highest(&self) -> Option<&ChartBar> {
        let bars = self.bars.iter().filter(|bar| bar.value > 0.0);
        bars.max_by(|bar, other_bar| bar.value.total_cmp(&other_bar.value))
    }

    /// Returns the rectangles of the bars, scaled to the highest.
    pub(crate) fn shapes(&self) -> Vec<BarShape<'_>> {
        let highest = self.highest().map_or(0.0, |it| it.value);
        let count = u32::try_from(self.bars.len()).map_or(1.0, f64::from).max(1.0);
        let slot = WIDTH / count;
        let mut x = 0.0;
        let mut shapes = Vec::new();
        for bar in &self.bars {
            let share = if highest > 0.0 { bar.value / highest } else { 0.0 };
            let height = (share * HEIGHT).round();
            let width = (slot * 0.8).min(MAX_BAR_WIDTH);
            shapes.push(BarShape {
                x: x + (slot - width) / 2.0,
                y: HEIGHT - height,
                width,
                height,
                bar,
            });
            x += slot;
        }

        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[u64]) -> Chart {
        let bars = values.iter().map(|it| ChartBar::new(String::new(), it.to_string(), *it));
        Chart {
            title: String::new(),
            numbers_label: String::new(),
            label_heading: String::new(),
            bars: bars.collect(),
        }
    }

    fn heights(values: &[u64]) -> String {
        let chart = chart(values);
        let heights: Vec<_> = chart.shapes().iter().map(|it| it.height.to_string()).collect();
        heights.join(" ")
    }

    #[test]
    fn bars_are_scaled_to_the_highest_and_none_divides_by_zero() {
        assert_eq!(heights(&[1, 4, 0]), "40 160 0");
        assert_eq!(heights(&[3 << 40, 1 << 42]), "120 160");
        assert_eq!(heights(&[0]), "0");
        assert!(heights(&[]).is_empty());
    }

    #[test]
    fn the_highest_bar_is_the_top_of_the_scale() {
        let top = |values: &[u64]| chart(values).highest().map(|it| it.text.clone());

        assert_eq!(top(&[1, 4, 2]).as_deref(), Some("4"));
        assert_eq!(top(&[0, 0]), None);
        assert_eq!(top(&[]), None);
    }
}
