//! Glyphs on a page: their place, and the characters that they stand for.

use hayro_interpret::font::{Glyph, PositionedGlyph};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::kurbo::{Affine, Point, Vec2};

/// Units in which fonts measure, per size of the font.
const UNITS_PER_EM: f64 = 1_000.0;
/// Advance of a glyph of which the font says none, in sizes of the font.
const DEFAULT_ADVANCE: f64 = 0.5;

/// Glyph that was placed on a page.
#[derive(Debug)]
pub(super) struct PlacedGlyph {
    /// Point where it begins, on the baseline.
    pub(super) start: Point,
    /// Point where the next one begins.
    pub(super) end: Point,
    /// Direction of writing, of length 1.
    pub(super) direction: Vec2,
    /// Size of the font on the page, after all transformations.
    pub(super) size: f64,
}

impl PlacedGlyph {
    /// Places a glyph; `None` if it has no size.
    pub(super) fn new(
        glyph: &PositionedGlyph<'_>,
        transform: Affine,
        mode: WritingMode,
    ) -> Option<Self> {
        let transform = transform * glyph.transform();
        let start = transform * Point::ZERO;
        let up = transform * Point::new(0.0, UNITS_PER_EM) - start;
        let right = transform * Point::new(UNITS_PER_EM, 0.0) - start;
        let size = up.hypot();
        if !(size.is_finite() && size > f64::EPSILON && right.hypot() > f64::EPSILON) {
            return None;
        }

        let (direction, advance) = match mode {
            WritingMode::Horizontal => (right.normalize(), advance(glyph)),
            WritingMode::Vertical => (-up.normalize(), 1.0),
        };

        Some(Self { start, end: start + direction * advance * size, direction, size })
    }
}

/// Returns the advance of a glyph, in sizes of the font.
fn advance(glyph: &Glyph<'_>) -> f64 {
    let width = match glyph {
        Glyph::Outline(it) => it.advance_width(),
        Glyph::Type3(it) => it.advance_width(),
    };
    width
        .map(|it| f64::from(it) / UNITS_PER_EM)
        .filter(|it| (0.0..=4.0).contains(it))
        .unwrap_or(DEFAULT_ADVANCE)
}

/// Returns the characters of a glyph; `None` if they are not known.
pub(super) fn characters(glyph: &Glyph<'_>) -> Option<String> {
    let characters = match glyph.as_unicode()? {
        BfString::Char(it) => it.to_string(),
        BfString::String(it) => it,
    };
    let mut text = String::with_capacity(characters.len());
    for character in characters.chars() {
        match character {
            // Ligatures, in which no search would find a word.
            '\u{fb00}' => text.push_str("ff"),
            '\u{fb01}' => text.push_str("fi"),
            '\u{fb02}' => text.push_str("fl"),
            '\u{fb03}' => text.push_str("ffi"),
            '\u{fb04}' => text.push_str("ffl"),
            // Private use: only the font knows the character.
            '\u{e000}'..='\u{f8ff}' | '\u{fffd}' => return None,
            it if it.is_whitespace() => text.push(' '),
            it if it.is_control() => {}
            it => text.push(it),
        }
    }

    Some(text)
}
