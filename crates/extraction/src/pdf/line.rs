//! Lines of a page, built from glyphs in the order in which they are drawn.
//!
//! The recorder calls `push` on the last line; a glyph that comes back is not on that
//! line and begins the next one (`new`). Distances are along or across the direction
//! of writing, in sizes of the font. A line that is drawn from its end to its
//! beginning is prepended glyph by glyph.

use hayro_interpret::kurbo::Point;

use super::glyph::Placed;

/// Distance from the baseline up to which a glyph is on it, in sizes of the font.
const MAX_RISE: f64 = 0.5;
/// Distance to the left up to which a glyph continues a line.
const MAX_STEP_BACK: f64 = 0.5;
/// Overlap up to which a glyph is to the left of another one.
const MAX_OVERLAP: f64 = 0.2;
/// Gap from which on a space is inserted between words.
const MIN_SPACE: f64 = 0.15;
/// Gap from which on a tab is inserted between columns.
const MIN_TAB: f64 = 1.0;
/// Cosine of the angle from which on directions of writing are the same.
const SAME_DIRECTION: f64 = 0.95;

/// Line of text.
#[derive(Debug)]
pub(super) struct Line {
    /// Text, with spaces between words and tabs between columns.
    pub(super) text: String,
    /// Size of the font of most glyphs, found by Boyer–Moore majority vote.
    pub(super) size: f64,
    /// Distance from the baseline of the line before; negative if this line is
    /// higher up.
    pub(super) gap: f64,
    /// Votes for the size: of glyphs that have it, less those that do not.
    votes: usize,
    /// Start of the first glyph, a point on the baseline.
    base: Point,
    /// Glyph that was added last.
    last: Placed,
    glyphs: usize,
    /// Number of glyphs that were drawn to the left of the one before.
    leftward: usize,
}

impl Line {
    /// Begins a line below another one.
    pub(super) fn new(text: String, glyph: Placed, above: Option<&Self>) -> Self {
        let gap = above.map_or(0.0, |it| -it.across(&glyph));
        let size = glyph.size;
        let base = glyph.start;
        Self { text, size, gap, votes: 1, base, last: glyph, glyphs: 1, leftward: 0 }
    }

    /// Appends a glyph, or returns it if it is not on this line.
    pub(super) fn push(&mut self, text: String, glyph: Placed) -> Option<(String, Placed)> {
        let size = self.last.size.max(glyph.size);
        let is_turned = self.last.direction.dot(glyph.direction) < SAME_DIRECTION;
        if is_turned || self.across(&glyph).abs() > MAX_RISE * size {
            return Some((text, glyph));
        }

        let along = (glyph.start - self.last.end).dot(self.last.direction) / size;
        if along < -MAX_STEP_BACK {
            let before = (self.last.start - glyph.end).dot(self.last.direction) / size;
            // All of the line is drawn from its end to its beginning.
            let is_leftward = self.leftward + 1 == self.glyphs;
            if !is_leftward || !(-MAX_OVERLAP..MIN_TAB).contains(&before) {
                return Some((text, glyph));
            }
            self.leftward += 1;
            self.prepend(&text, before > MIN_SPACE);
        } else {
            self.append(&text, along);
        }

        self.glyphs += 1;
        self.vote(glyph.size);
        self.last = glyph;

        None
    }

    /// Appends a glyph after a gap.
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

    /// Prepends a glyph.
    fn prepend(&mut self, text: &str, has_gap: bool) {
        if has_gap && !self.text.starts_with(' ') && !text.ends_with(' ') {
            self.text.insert(0, ' ');
        }
        self.text.insert_str(0, text);
    }

    /// Returns the number of letters and digits.
    pub(super) fn letters(&self) -> usize {
        self.text.chars().filter(|it| it.is_alphanumeric()).count()
    }

    /// Returns the distance of a glyph above the baseline.
    fn across(&self, glyph: &Placed) -> f64 {
        self.last.direction.cross(glyph.start - self.base)
    }

    /// Counts the size of a glyph; those within one per cent are the same.
    fn vote(&mut self, size: f64) {
        if (size - self.size).abs() < self.size * 0.01 {
            self.votes += 1;
        } else if self.votes > 1 {
            self.votes -= 1;
        } else {
            self.size = size;
            self.votes = 1;
        }
    }
}
