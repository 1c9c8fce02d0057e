//! Cutting of texts into chunks.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use text_splitter::{ChunkConfig, MarkdownSplitter, TextSplitter};

use crate::ports::text_extractor::ExtractedText;

/// Maximum length of the headings above a chunk, in bytes.
const MAX_PATH_BYTES: usize = 500;
/// Separator of headings.
const SEPARATOR: &str = " › ";

/// Sizes of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkingSettings {
    /// Maximum length of a chunk, in characters.
    pub max_chars: usize,
    /// Characters that a chunk repeats of the one before it; less than
    /// `max_chars`.
    pub overlap_chars: usize,
}

impl Default for ChunkingSettings {
    fn default() -> Self {
        Self { max_chars: 1_200, overlap_chars: 120 }
    }
}

/// Part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChunk {
    /// Headings above it, the outermost first, joined by ` › `.
    pub path: String,
    /// Text.
    pub text: String,
}

/// Cuts a text into chunks that end where sections, paragraphs or sentences do.
pub fn split(text: &ExtractedText, settings: ChunkingSettings) -> Vec<TextChunk> {
    let config = ChunkConfig::new(settings.max_chars.max(1));
    let config = config.with_overlap(settings.overlap_chars);
    let config = config.unwrap_or_else(|_larger| ChunkConfig::new(settings.max_chars.max(1)));
    if text.is_markdown {
        let headings = headings(&text.text);
        let splitter = MarkdownSplitter::new(config);
        let chunks = splitter.chunk_indices(&text.text);
        chunks.map(|(at, chunk)| chunk_at(&headings, at, chunk)).collect()
    } else {
        let splitter = TextSplitter::new(config);
        splitter.chunks(&text.text).map(|it| chunk_at(&[], 0, it)).collect()
    }
}

/// Heading of a text.
struct Heading {
    at: usize,
    level: HeadingLevel,
    title: String,
}

fn chunk_at(headings: &[Heading], at: usize, chunk: &str) -> TextChunk {
    TextChunk { path: path(headings, at), text: chunk.to_owned() }
}

/// Returns the headings of a Markdown text.
fn headings(text: &str) -> Vec<Heading> {
    let (mut headings, mut current) = (Vec::new(), None);
    for (event, Range { start, .. }) in Parser::new(text).into_offset_iter() {
        match (event, &mut current) {
            (Event::Start(Tag::Heading { level, .. }), _) => {
                current = Some(Heading { at: start, level, title: String::new() });
            }
            (Event::Text(words) | Event::Code(words), Some(heading)) => {
                heading.title.push_str(&words);
            }
            (Event::End(TagEnd::Heading(_)), _) => headings.extend(current.take()),
            _ => {}
        }
    }
    headings
}

/// Returns the headings above a position. A chunk that begins with a heading is
/// below that heading.
fn path(headings: &[Heading], at: usize) -> String {
    let end = headings.partition_point(|it| it.at <= at);
    let mut above: Vec<&Heading> = Vec::new();
    for heading in headings.get(..end).unwrap_or_default() {
        above.retain(|it| it.level < heading.level);
        above.push(heading);
    }
    let titles: Vec<&str> = above.iter().map(|it| it.title.trim()).collect();
    let mut path = titles.join(SEPARATOR);
    path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &str, is_markdown: bool, max_chars: usize) -> Vec<TextChunk> {
        let text = ExtractedText { text: text.to_owned(), is_markdown };
        split(&text, ChunkingSettings { max_chars, overlap_chars: 0 })
    }

    #[test]
    fn chunks_of_markdown_know_their_headings() {
        let text = "# Travel\n\nBook early.\n\n## Rail\n\nSecond class `only`.\n\n## Air\n\nAsk first.\n\n# Pay\n\nMonthly.\n";
        let found = chunks(text, true, 30);
        let paths: Vec<_> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["Travel", "Travel › Rail", "Travel › Air", "Pay"]);
        assert!(found[1].text.contains("Second class"));
    }

    #[test]
    fn a_hash_in_code_is_no_heading() {
        let text = "# Shell\n\n```sh\n# comment\nls\n```\n";
        assert!(chunks(text, true, 1000).iter().all(|it| it.path == "Shell"));
    }

    #[test]
    fn nothing_is_lost_and_no_chunk_is_too_long() {
        let text = "One sentence. Another one! ".repeat(200);
        let found = chunks(&text, false, 100);
        assert!(found.iter().all(|it| it.text.chars().count() <= 100));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all: Vec<_> = found.iter().flat_map(|it| words(&it.text)).collect();
        assert_eq!(all, words(&text));
        assert!(chunks(" \n ", false, 100).is_empty());
    }
}
