//! Lines of a page.

use hayro_interpret::kurbo::Point;

use super::glyph::Placed;

/// Distance from the baseline up to which a glyph is on it, in sizes of the font.
const MAX_RISE: f64 = 0.5;
/// Distance to the left up to which a glyph continues a line.
const MAX_STEP_BACK: f64 = 0.5;
/// Gap between words.
const MIN_SPACE: f64 = 0.15;
/// Gap between columns.
const MIN_TAB: f64 = 1.0;
/// Cosine of the angle from which on directions of writing are the same.
const SAME_DIRECTION: f64 = 0.95;
/// Distance within which a glyph that is drawn again is bold rather than new.
const MAX_SHADOW: f64 = 0.1;

/// Line of text.
#[derive(Debug)]
pub(super) struct Line {
    /// Text.
    pub(super) text: String,
    /// Size of most of it.
    pub(super) size: f64,
    /// Distance from the baseline above; negative if this line is higher up.
    pub(super) gap: f64,
    /// Votes for the size: of glyphs that have it, less those that do not.
    votes: usize,
    /// Point on the baseline.
    base: Point,
    last: Placed,
    last_text: String,
}

impl Line {
    /// Begins a line below another one.
    pub(super) fn new(text: String, glyph: Placed, above: Option<&Self>) -> Self {
        let gap = above.map_or(0.0, |it| -it.across(&glyph));
        let (last_text, size, base) = (text.clone(), glyph.size, glyph.start);
        Self { text, size, gap, votes: 1, base, last: glyph, last_text }
    }

    /// Appends a glyph, or returns it if it is not on this line.
    pub(super) fn push(&mut self, text: String, glyph: Placed) -> Option<(String, Placed)> {
        let size = self.last.size.max(glyph.size);
        let is_turned = self.last.direction.dot(glyph.direction) < SAME_DIRECTION;
        if is_turned || self.across(&glyph).abs() > MAX_RISE * size {
            return Some((text, glyph));
        }
        if text == self.last_text && (glyph.start - self.last.start).hypot() < MAX_SHADOW * size {
            return None;
        }
        let along = (glyph.start - self.last.end).dot(self.last.direction);
        if along < -MAX_STEP_BACK * size {
            return Some((text, glyph));
        }
        let is_spaced = self.text.ends_with([' ', '\t']) || text.starts_with(' ');
        if along > MIN_TAB * size {
            self.text.truncate(self.text.trim_end().len());
            self.text.push('\t');
        } else if along > MIN_SPACE * size && !is_spaced {
            self.text.push(' ');
        }
        if !(text.trim().is_empty() && self.text.ends_with([' ', '\t'])) {
            self.text.push_str(&text);
        }
        self.vote(glyph.size);
        (self.last, self.last_text) = (glyph, text);
        None
    }

    /// Returns the number of letters and digits.
    pub(super) fn letters(&self) -> usize {
        self.text.chars().filter(|it| it.is_alphanumeric()).count()
    }

    /// Returns the distance of a glyph above the baseline.
    fn across(&self, glyph: &Placed) -> f64 {
        self.last.direction.cross(glyph.start - self.base)
    }

    /// Counts the size of a glyph.
    fn vote(&mut self, size: f64) {
        if (size - self.size).abs() < self.size * 0.01 {
            self.votes += 1;
        } else if self.votes > 1 {
            self.votes -= 1;
        } else {
            (self.size, self.votes) = (size, 1);
        }
    }
}
