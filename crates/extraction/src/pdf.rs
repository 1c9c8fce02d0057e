//! PDF, whose pages are drawn without pixels to learn what they display.
//!
//! `hayro_interpret` draws each page on a `Recorder` (`pdf/recorder.rs`), which turns
//! glyphs (`glyph.rs`) into lines (`line.rs`); `blocks.rs` joins lines into paragraphs
//! and headings. Text is in the order in which it is drawn.

mod blocks;
mod drawn;
mod glyph;
mod line;
mod recorder;

use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};
use pia_knowledge::ExtractError;

use self::line::Line;
use self::recorder::Recorder;

/// Letters and digits that a page with pictures has at least, unless it was
/// scanned.
const MIN_LETTERS_PER_PAGE: usize = 16;
/// Visible part of a page without a size: all of it.
const ANYTHING: Rect = Rect::new(-1e6, -1e6, 1e6, 1e6);
/// Converts a document into Markdown. Text that is larger than most is a heading.
pub(crate) fn to_markdown(bytes: &[u8]) -> Result<String, ExtractError> {
    let pdf = Pdf::new(bytes.to_vec()).map_err(reason)?;
    let pages = pdf.pages();
    if pages.is_empty() {
        return Err(ExtractError::Damaged);
    }

    let mut recorder = Recorder::default();
    let cache = InterpreterCache::new();

    for page in pages.iter() {
        let settings = InterpreterSettings::default();
        let crop_box = page.intersected_crop_box();
        let visible = Rect::new(crop_box.x0, crop_box.y0, crop_box.x1, crop_box.y1);
        recorder.begin_page(if visible.area() > 0.0 { visible } else { ANYTHING });
        let mut context = Context::new(Affine::IDENTITY, ANYTHING, &cache, page.xref(), settings);
        interpret_page(page, &mut context, &mut recorder);
        recorder.end_page();
        if recorder.is_full() {
            return Err(ExtractError::TooComplex);
        }
    }

    // Fonts without a mapping to characters would yield nonsense.
    if recorder.unknown > recorder.known || is_scanned(&recorder, pages.len()) {
        return Err(ExtractError::NoText);
    }

    blocks::to_markdown(&recorder.pages)
}

/// Returns the reason why a document cannot be read.
fn reason(error: LoadPdfError) -> ExtractError {
    match error {
        LoadPdfError::Decryption(
            DecryptionError::PasswordProtected | DecryptionError::UnsupportedAlgorithm,
        ) => ExtractError::Encrypted,
        LoadPdfError::Decryption(_) | LoadPdfError::Invalid => ExtractError::Damaged,
    }
}

/// Returns whether the pages are pictures, with some letters at most.
fn is_scanned(recorder: &Recorder, pages: usize) -> bool {
    let alphanumerics: usize = recorder.pages.iter().flatten().map(Line::alphanumerics).sum();
    alphanumerics == 0 || (recorder.has_images && alphanumerics < MIN_LETTERS_PER_PAGE * pages)
}
