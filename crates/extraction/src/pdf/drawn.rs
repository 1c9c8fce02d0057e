//! Glyphs that a page has already, to drop those that are drawn twice.
//!
//! Bold print and shadows are often made by drawing a glyph again, slightly moved.
//! A spatial hash finds such a glyph: cells are at least as wide as the maximum
//! distance, so that only the cell and its neighbours are searched.

use std::collections::HashMap;

use hayro_interpret::kurbo::Point;

use super::glyph::PlacedGlyph;

/// Distance within which a repeated glyph is bold print or a shadow, not a new
/// glyph, in sizes of the font.
const MAX_SHADOW: f64 = 0.1;
/// Maximum of that distance, in widths of the glyph.
const MAX_SHADOW_OF_WIDTH: f64 = 0.3;
/// Steps to a cell of a grid and to its neighbours.
const STEPS: [f64; 3] = [-1.0, 0.0, 1.0];

/// Glyphs of a page, by their character and their cell in a grid.
#[derive(Debug, Default)]
pub(super) struct DrawnGlyphs(HashMap<(char, u64, u64), Point>);

impl DrawnGlyphs {
    /// Inserts a glyph. Returns false if it is empty or was drawn before at
    /// about this place.
    pub(super) fn insert(&mut self, text: &str, glyph: &PlacedGlyph) -> bool {
        let Some(character) = text.chars().next() else { return false };

        let width = (glyph.end - glyph.start).hypot();
        let max_distance = (MAX_SHADOW * glyph.size).min(MAX_SHADOW_OF_WIDTH * width);
        // Sizes that differ by the error of rounding have the same grid.
        let cell = max_distance.log2().ceil().exp2();
        let key = |dx: f64, dy: f64| {
            // The sum turns a negative zero into zero.
            let index = |place: f64, step: f64| ((place / cell).round() + step + 0.0).to_bits();
            (character, index(glyph.start.x, dx), index(glyph.start.y, dy))
        };

        let is_near = |it: &Point| (*it - glyph.start).hypot() < max_distance;
        let is_drawn = |dx: f64, dy: f64| self.0.get(&key(dx, dy)).is_some_and(is_near);
        if STEPS.iter().any(|dx| STEPS.iter().any(|dy| is_drawn(*dx, *dy))) {
            return false;
        }

        self.0.insert(key(0.0, 0.0), glyph.start);

        true
    }
}
