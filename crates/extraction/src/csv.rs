//! Tables of values between commas, semicolons or tabs.
//!
//! Spreadsheets write other delimiters in other countries, and some name the delimiter
//! in a first line `sep=;`. Otherwise the most frequent one is taken.

use csv::{ReaderBuilder, StringRecord};
use pia_knowledge::ExtractError;

use crate::markdown::Markdown;
use crate::table::{Row, Table};

/// Bytes at the beginning that show the delimiter.
const SAMPLE_BYTES: usize = 16 * 1024;

/// Converts a table into Markdown. One with NUL is no text.
pub(crate) fn to_markdown(text: &str) -> Result<String, ExtractError> {
    if text.contains('\0') {
        return Err(ExtractError::Damaged);
    }

    let (delimiter, text) = split_delimiter(text);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());

    let mut out = Markdown::default();
    let mut table = Table::default();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|_reason| ExtractError::Damaged)? {
        let mut row = Row::default();
        for cell in &record {
            row.push(cell)?;
        }
        table.row(row, &mut out)?;
    }

    table.finish(&mut out)?;

    Ok(out.finish())
}

/// Returns the delimiter, and the table without the line `sep=;` that names it.
fn split_delimiter(text: &str) -> (u8, &str) {
    let first = text.lines().next().unwrap_or_default();
    let named = first.strip_prefix("sep=").and_then(|it| it.bytes().next());
    if let Some(delimiter) = named.filter(u8::is_ascii) {
        return (delimiter, text.split_once('\n').map_or("", |(_, table)| table));
    }
    let sample = text.get(..text.floor_char_boundary(SAMPLE_BYTES)).unwrap_or(text);
    (most_frequent_delimiter(sample), text)
}

/// Returns the delimiter that occurs most often outside quotes.
fn most_frequent_delimiter(sample: &str) -> u8 {
    let mut counts = [(b',', 0_usize), (b';', 0), (b'\t', 0)];
    let mut is_quoted = false;
    for byte in sample.bytes() {
        is_quoted ^= byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(it, _)| *it == byte && !is_quoted) {
            *count += 1;
        }
    }
    // Reversed, since the last of several maxima is returned.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(delimiter, _)| *delimiter)
}
