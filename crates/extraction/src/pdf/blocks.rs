//! Headings and paragraphs, recognised by sizes and distances of lines.
//!
//! PDF has no paragraphs. The size with most letters is that of the body; a block
//! whose first line is larger by a ratio of `HEADINGS` is a heading. A new paragraph
//! begins where the gap clearly exceeds the median of the page, or the size changes.

use std::collections::BTreeMap;

use pia_knowledge::ExtractError;

use super::line::Line;
use crate::markdown::{Markdown, escape_line};

/// Ratio between sizes of fonts from which on they differ.
const OTHER_SIZE: f64 = 1.1;
/// Ratio to the usual distance of lines from which on a paragraph begins.
const PARAGRAPH_GAP: f64 = 1.3;
/// Maximum length of a heading, in bytes.
const MAX_HEADING_BYTES: usize = 200;
/// Ratios to the size of most of the text from which on a text is a heading, and
/// its level.
const HEADINGS: [(f64, usize); 3] = [(1.7, 1), (1.35, 2), (1.15, 3)];
/// Words before which a hyphen is written rather than a mark of a broken word.
const AFTER_HYPHEN: [&str; 5] = ["und ", "oder ", "bzw", "and ", "or "];

/// Writes the lines of pages as Markdown.
pub(super) fn to_markdown(pages: &[Vec<Line>]) -> Result<String, ExtractError> {
    let body = body_size(pages);
    let mut out = Markdown::default();
    for page in pages {
        let gap = usual_gap(page);
        for block in page.chunk_by(|above, line| continues(above, line, gap)) {
            write(block, body, &mut out)?;
        }
    }
    Ok(out.finish())
}

/// Returns the size of most of the text.
fn body_size(pages: &[Vec<Line>]) -> f64 {
    let mut letters: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
    for line in pages.iter().flatten() {
        // The keys are sizes that are rounded to quarters, as text: they sort.
        let key = (line.size * 4.0).round().max(0.0).to_bits();
        let (count, size) = letters.entry(key).or_insert((0, line.size));
        *count += line.alphanumerics();
        *size = size.min(line.size);
    }
    letters.into_values().max_by_key(|(count, _)| *count).map_or(0.0, |(_, size)| size)
}

/// Returns the median distance of lines, in sizes of their fonts.
fn usual_gap(page: &[Line]) -> f64 {
    let mut gaps: Vec<f64> =
        page.iter().map(|it| it.gap_above / it.size).filter(|it| (0.5..3.0).contains(it)).collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.2)
}

/// Returns whether a line is in the paragraph of the line above it.
fn continues(above: &Line, line: &Line, usual_gap: f64) -> bool {
    let ratio = (above.size / line.size).max(line.size / above.size);
    let is_near =
        line.gap_above > -0.5 * line.size && line.gap_above < usual_gap * PARAGRAPH_GAP * line.size;
    ratio < OTHER_SIZE && is_near
}

/// Writes a paragraph or a heading.
fn write(block: &[Line], body: f64, out: &mut Markdown) -> Result<(), ExtractError> {
    let text = join(block);
    let ratio = block.first().map_or(1.0, |it| it.size / body);
    let heading = HEADINGS.iter().find(|(min_ratio, _)| ratio >= *min_ratio);
    match heading.map(|(_, level)| *level) {
        Some(level) if is_heading_text(&text) => out.heading(level, &text),
        _ => out.block(&text),
    }
}
/// Returns whether a text can be a heading. A line of a table of contents, in which
/// dots lead to the page, cannot.
fn is_heading_text(text: &str) -> bool {
    let is_led = [". . .", "...."].iter().any(|it| text.contains(it));
    text.len() <= MAX_HEADING_BYTES && text.chars().any(char::is_alphabetic) && !is_led
}

/// Joins lines, and the words that are broken at their ends.
fn join(block: &[Line]) -> String {
    let mut text = String::new();
    for line in block {
        let trimmed = line.text.trim();
        if is_broken(&text, trimmed) {
            text.pop();
            text.push_str(trimmed);
            continue;
        }

        let Some(escaped) = escape_line(trimmed) else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&escaped);
    }

    // Soft hyphens mark where a word may be broken.
    text.replace('\u{ad}', "")
}

/// Returns whether a word is broken at the end of a text.
fn is_broken(text: &str, next: &str) -> bool {
    let mut last = text.chars().rev();
    match last.next() {
        Some('\u{ad}') => true,
        Some('-' | '\u{2010}') => {
            last.next().is_some_and(char::is_lowercase)
                && next.starts_with(char::is_lowercase)
                && !AFTER_HYPHEN.iter().any(|it| next.starts_with(it))
        }
        _ => false,
    }
}
