//! Device on which pages are drawn, and which records their text.
//!
//! Call `begin_page`, let the interpreter draw, and call `end_page`. Only glyphs whose
//! middle is on the visible part count. `pdf.rs` decides from `known`, `unknown` and
//! `has_images` whether the file has a usable text.

use hayro_interpret::font::GlyphRun;
use hayro_interpret::kurbo::{BezPath, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask,
};

use super::drawn::DrawnGlyphs;
use super::glyph::{PlacedGlyph, characters};
use super::line::Line;
use crate::extraction::MAX_TEXT_BYTES;

/// Device that records the lines that a page shows, in the order in which they
/// are drawn.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// Lines of each page.
    pub(super) pages: Vec<Vec<Line>>,
    /// True if a picture is drawn.
    pub(super) has_images: bool,
    /// Number of glyphs whose characters are known.
    pub(super) known: usize,
    /// Number of glyphs whose characters are unknown.
    pub(super) unknown: usize,
    /// Lines of the page that is being drawn.
    page: Vec<Line>,
    visible: Rect,
    drawn: DrawnGlyphs,
    /// Bytes of all texts and lines so far, to limit memory.
    len: usize,
}

impl Recorder {
    /// Begins a page that shows what is in a rectangle.
    pub(super) fn begin_page(&mut self, visible: Rect) {
        self.visible = visible;
        self.drawn = DrawnGlyphs::default();
    }

    /// Ends a page.
    pub(super) fn end_page(&mut self) {
        self.pages.push(std::mem::take(&mut self.page));
    }

    /// Returns whether the text is longer than allowed.
    pub(super) fn is_full(&self) -> bool {
        self.len > MAX_TEXT_BYTES
    }

    /// Appends a glyph to the last line or to a new one, which no space begins.
    fn push(&mut self, text: String, glyph: PlacedGlyph) {
        let unplaced = match self.page.last_mut() {
            Some(line) => line.push(text, glyph),
            None => Err((text, glyph)),
        };
        if let Err((text, glyph)) = unplaced
            && !text.trim().is_empty()
        {
            // A line costs more than its text.
            self.len += size_of::<Line>();
            let line = Line::new(text, glyph, self.page.last());
            self.page.push(line);
        }
    }
}

impl Device<'_> for Recorder {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, _mode: &DrawMode) {
        for glyph in run.glyphs() {
            let Some(placed) = PlacedGlyph::new(glyph, props.transform, run.writing_mode()) else {
                continue;
            };
            let Some(text) = characters(glyph) else {
                self.unknown += 1;
                continue;
            };

            self.known += 1;
            self.len += text.len();
            let is_visible = self.visible.contains(placed.start.midpoint(placed.end));
            if is_visible && !self.is_full() && self.drawn.insert(&text, &placed) {
                self.push(text, placed);
            }
        }
    }

    fn draw_image(&mut self, _image: Image<'_, '_>, _props: ImageDrawProps<'_>) {
        self.has_images = true;
    }

    fn draw_path(&mut self, _path: &BezPath, _props: DrawProps<'_>, _mode: &DrawMode) {}

    fn push_clip_path(&mut self, _path: &ClipPath) {}

    fn push_transparency_group(
        &mut self,
        _opacity: f32,
        _mask: Option<SoftMask<'_>>,
        _mode: BlendMode,
    ) {
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
