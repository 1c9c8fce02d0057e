//! Lines of a page.
//!
//! A glyph is compared with the line in the direction of writing of the line's
//! last glyph. *Along* is the distance in that direction from the end of the last
//! glyph to the start of the next one, and *across* the distance above the
//! baseline. The limits of both are in sizes of the font.

use hayro_interpret::kurbo::Point;

use super::glyph::PlacedGlyph;

/// Distance across, up or down, up to which a glyph is on the baseline.
const MAX_RISE: f64 = 0.5;
/// Distance backwards along the line up to which a glyph continues it.
const MAX_STEP_BACK: f64 = 0.5;
/// Overlap up to which a glyph is before another one.
const MAX_OVERLAP: f64 = 0.2;
/// Gap along the line beyond which a word begins.
const MIN_SPACE: f64 = 0.15;
/// Gap along the line beyond which a column begins.
const MIN_TAB: f64 = 1.0;
/// Cosine of the angle from which on directions of writing are the same.
const SAME_DIRECTION: f64 = 0.95;
/// Relative difference below which sizes are the same.
const SIZE_TOLERANCE: f64 = 0.01;

/// Line of text.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    /// Size of the font that most glyphs have, by a Boyer-Moore majority vote.
    pub(super) size: f64,
    /// Distance from the baseline of the line above; negative if this line is
    /// higher up.
    pub(super) gap_above: f64,
    /// Lead of `size` in the vote.
    votes: usize,
    /// Start of the first glyph, a point on the baseline.
    base: Point,
    last: PlacedGlyph,
    /// Number of glyphs.
    glyphs: usize,
    /// Number of glyphs that were drawn to the left of the one before.
    leftward: usize,
}

impl Line {
    /// Begins a line below another one.
    pub(super) fn new(text: String, glyph: PlacedGlyph, above: Option<&Self>) -> Self {
        let gap_above = above.map_or(0.0, |it| -it.across(&glyph));
        let size = glyph.size;
        let base = glyph.start;
        Self { text, size, gap_above, votes: 1, base, last: glyph, glyphs: 1, leftward: 0 }
    }

    /// Adds a glyph to this line, or returns it as an error if it is on another
    /// one.
    pub(super) fn push(
        &mut self,
        text: String,
        glyph: PlacedGlyph,
    ) -> Result<(), (String, PlacedGlyph)> {
        let size = self.last.size.max(glyph.size);
        let is_turned = self.last.direction.dot(glyph.direction) < SAME_DIRECTION;
        if is_turned || self.across(&glyph).abs() > MAX_RISE * size {
            return Err((text, glyph));
        }

        let along = (glyph.start - self.last.end).dot(self.last.direction) / size;
        if along < -MAX_STEP_BACK {
            let Some(gap) = self.gap_before(&glyph, size) else { return Err((text, glyph)) };
            self.leftward += 1;
            self.prepend(&text, gap > MIN_SPACE);
        } else {
            self.append(&text, along);
        }

        self.glyphs += 1;
        self.vote(glyph.size);
        self.last = glyph;

        Ok(())
    }

    /// Returns the gap between a glyph and the beginning of the line, if all of it
    /// is drawn from its end to its beginning and the glyph comes next.
    fn gap_before(&self, glyph: &PlacedGlyph, size: f64) -> Option<f64> {
        let is_leftward = self.leftward + 1 == self.glyphs;
        let gap = (self.last.start - glyph.end).dot(self.last.direction) / size;
        (is_leftward && (-MAX_OVERLAP..MIN_TAB).contains(&gap)).then_some(gap)
    }

    /// Appends a glyph after a gap, which may become a space or a tab.
    fn append(&mut self, text: &str, gap: f64) {
        let is_spaced = self.text.ends_with([' ', '\t']) || text.starts_with(' ');
        if gap > MIN_TAB {
            self.text.truncate(self.text.trim_end().len());
            self.text.push('\t');
        } else if gap > MIN_SPACE && !is_spaced {
            self.text.push(' ');
        }
        if !(text.trim().is_empty() && self.text.ends_with([' ', '\t'])) {
            self.text.push_str(text);
        }
    }

    /// Prepends a glyph, with a space if there is a gap after it.
    fn prepend(&mut self, text: &str, has_gap: bool) {
        if has_gap && !self.text.starts_with(' ') && !text.ends_with(' ') {
            self.text.insert(0, ' ');
        }
        self.text.insert_str(0, text);
    }

    /// Returns the number of letters and digits.
    pub(super) fn alphanumerics(&self) -> usize {
        self.text.chars().filter(|it| it.is_alphanumeric()).count()
    }

    /// Returns the distance of a glyph above the baseline.
    fn across(&self, glyph: &PlacedGlyph) -> f64 {
        self.last.direction.cross(glyph.start - self.base)
    }

    /// Counts a glyph's vote for its size. A size without a lead is replaced.
    fn vote(&mut self, size: f64) {
        if (size - self.size).abs() < self.size * SIZE_TOLERANCE {
            self.votes += 1;
        } else if self.votes > 1 {
            self.votes -= 1;
        } else {
            self.size = size;
            self.votes = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use hayro_interpret::kurbo::Vec2;

    use super::*;

    /// Returns a glyph with a width of 5.
    fn glyph(x: f64, y: f64, size: f64) -> PlacedGlyph {
        let start = Point::new(x, y);
        let end = Point::new(x + 5.0, y);
        PlacedGlyph { start, end, direction: Vec2::new(1.0, 0.0), size }
    }

    /// Returns a line of glyphs with a size of 10 on one baseline.
    fn line_of(glyphs: &[(&str, f64)]) -> Line {
        let (text, x) = glyphs[0];
        let mut line = Line::new(text.to_owned(), glyph(x, 0.0, 10.0), None);
        for (text, x) in &glyphs[1..] {
            line.push((*text).to_owned(), glyph(*x, 0.0, 10.0)).unwrap();
        }
        line
    }

    #[test]
    fn appended_glyphs_begin_words_and_columns_after_gaps() {
        assert_eq!(line_of(&[("a", 0.0), ("b", 5.0)]).text, "ab");
        assert_eq!(line_of(&[("a", 0.0), ("b", 7.0)]).text, "a b");
        assert_eq!(line_of(&[("a", 0.0), (" ", 5.0), ("b", 12.0)]).text, "a b");
        assert_eq!(line_of(&[("a", 0.0), (" ", 5.0), ("b", 25.0)]).text, "a\tb");
    }

    #[test]
    fn glyphs_are_prepended_if_all_of_the_line_is_drawn_backwards() {
        assert_eq!(line_of(&[("c", 20.0), ("b", 15.0), ("a", 8.0)]).text, "a bc");

        let mut forward_line = line_of(&[("b", 20.0), ("c", 25.0)]);

        assert!(forward_line.push("a".to_owned(), glyph(15.0, 0.0, 10.0)).is_err());
        assert_eq!(forward_line.text, "bc");
    }

    #[test]
    fn a_glyph_off_the_baseline_is_returned() {
        let mut line = line_of(&[("a", 0.0)]);

        let (text, _) = line.push("b".to_owned(), glyph(5.0, 6.0, 10.0)).unwrap_err();

        assert_eq!(text, "b");
        assert_eq!(line.text, "a");
    }

    #[test]
    fn the_size_is_that_of_most_glyphs() {
        let mut line = Line::new("a".to_owned(), glyph(0.0, 0.0, 10.0), None);

        for (x, size) in [(5.0, 20.0), (10.0, 20.0), (15.0, 10.0), (20.0, 20.0)] {
            line.push("a".to_owned(), glyph(x, 0.0, size)).unwrap();
        }

        assert!((line.size - 20.0).abs() < f64::EPSILON, "{}", line.size);
    }
}
