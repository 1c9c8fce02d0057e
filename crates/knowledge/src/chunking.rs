//! Cutting of texts into chunks.
//!
//! `split` is called by `ingestion.rs` for the text that an extractor returned. It
//! divides the text into pieces (`pieces`), which bound the time, cuts each with the
//! crate `text-splitter`, and adds the path of headings (`outline.rs`) to each chunk.
//! Below `# A` and `## B`, a chunk has the path `A › B`.

mod outline;

use std::ops::Range;

use text_splitter::{ChunkConfig, MarkdownSplitter, TextSplitter};

use crate::ports::text_extractor::ExtractedText;
use outline::Outline;

/// Number of chunks in a piece of a text, roughly.
const CHUNKS_PER_PIECE: usize = 16;
/// Minimum length of such a piece, in bytes.
const MIN_PIECE_BYTES: usize = 1024;

/// Sizes of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkingSettings {
    /// Maximum length of a chunk, in characters.
    pub max_chars: usize,
    /// Characters that a chunk repeats of the one before it, at most; no more
    /// than half of `max_chars` are.
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
    /// Headings that all of it is below, the outermost first, joined by ` › `.
    pub path: String,
    /// Text of the chunk, with what it repeats of the one before it.
    pub text: String,
}

/// Cuts a text into chunks that end where sections, paragraphs or sentences do.
///
/// Small sections are joined if they have the same top heading: they need each
/// other to say what they are about. Others would spoil the vector of both.
pub fn split(text: &ExtractedText, settings: ChunkingSettings) -> Vec<TextChunk> {
    let outline = if text.is_markdown { Outline::parse(&text.text) } else { Outline::default() };
    let max_chars = settings.max_chars.max(1);
    // Less than what each chunk adds, so that a text never grows many times.
    let overlap = settings.overlap_chars.min(max_chars / 2);
    let config = || {
        ChunkConfig::new(max_chars)
            .with_overlap(overlap)
            .unwrap_or_else(|_larger| ChunkConfig::new(max_chars))
    };

    let markdown_splitter = MarkdownSplitter::new(config());
    let plain_splitter = TextSplitter::new(config());
    let mut chunks = Vec::new();
    for Range { start, end } in pieces(&text.text, &outline, max_chars) {
        let piece = text.text.get(start..end).unwrap_or_default();
        if text.is_markdown {
            add_chunks(&mut chunks, markdown_splitter.chunk_indices(piece), start, &outline);
        } else {
            add_chunks(&mut chunks, plain_splitter.chunk_indices(piece), start, &outline);
        }
    }

    chunks
}

/// Adds the chunks of a piece of the text, each with its offset in the piece.
///
/// If a chunk repeats the end of an earlier section, that is left out, since it
/// is not below the headings of the rest. The end of a section whose heading is
/// in an earlier chunk is not joined with the next section.
fn add_chunks<'a>(
    chunks: &mut Vec<TextChunk>,
    piece_chunks: impl Iterator<Item = (usize, &'a str)>,
    piece_start: usize,
    outline: &Outline,
) {
    let mut added_until = piece_start;
    for (offset, chunk) in piece_chunks {
        let start = piece_start + offset;
        let end = start + chunk.len();
        let new_text = chunk.get(added_until.saturating_sub(start)..).unwrap_or(chunk).trim_start();
        let new_start = end - new_text.len();
        added_until = end;

        let section = outline.section(new_start, new_text);
        let is_one_section = new_text.is_empty() || outline.section(start, chunk) == section;
        let (start, text) = if is_one_section { (start, chunk) } else { (new_start, new_text) };
        let (text, next_text) = outline
            .end_of(section, start, end)
            .and_then(|section_end| text.split_at_checked(section_end - start))
            .unwrap_or((text, ""));
        let next_start = end - next_text.len();
        push_chunk(chunks, outline.path(section, next_start), text);
        push_chunk(chunks, outline.path(outline.section(next_start, next_text), end), next_text);
    }
}

/// Adds a chunk, unless it is blank.
fn push_chunk(chunks: &mut Vec<TextChunk>, path: String, text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        chunks.push(TextChunk { path, text: text.to_owned() });
    }
}

/// Divides a text where sections, paragraphs or lines end, so that the time of
/// cutting is proportional to its length: to find the end of each chunk, the
/// splitter reads up to the end of its input.
fn pieces(text: &str, outline: &Outline, max_chars: usize) -> Vec<Range<usize>> {
    let size = max_chars.saturating_mul(CHUNKS_PER_PIECE).max(MIN_PIECE_BYTES);
    let mut pieces = Vec::new();
    let mut start = 0_usize;
    for part_end in outline.part_starts(text).chain([text.len()]) {
        while part_end - start > size {
            let half = text.ceil_char_boundary(start + size / 2);
            let limit = text.floor_char_boundary(start + size);
            let end =
                outline.last_between(half, limit).unwrap_or_else(|| last_break(text, half..limit));

            pieces.push(start..end);
            start = end;
        }

        pieces.push(start..part_end);
        start = part_end;
    }

    pieces
}

/// Returns the position of the last end of a paragraph, line or word in a range
/// of a text, or the end of the range.
fn last_break(text: &str, range: Range<usize>) -> usize {
    let tail = text.get(range.clone()).unwrap_or_default();
    tail.rfind("\n\n")
        .or_else(|| tail.rfind('\n'))
        .or_else(|| tail.rfind(char::is_whitespace))
        .map_or(range.end, |it| range.start + it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_text(text: &str, is_markdown: bool, max_chars: usize) -> Vec<TextChunk> {
        let text = ExtractedText { text: text.to_owned(), is_markdown };
        split(&text, ChunkingSettings { max_chars, overlap_chars: 0 })
    }

    #[test]
    fn chunks_of_markdown_know_their_headings() {
        let text = "# Travel\n\nBook early.\n\n## Rail\n\nSecond class `only`.\n\n## Air\n\nAsk first.\n\n# Pay\n\nMonthly.\n";

        let chunks = split_text(text, true, 30);

        let paths: Vec<_> = chunks.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["Travel", "Travel › Rail", "Travel › Air", "Pay"]);
        assert!(chunks[1].text.contains("Second class"));
    }

    #[test]
    fn a_hash_in_code_is_no_heading() {
        let text = "# Shell\n\n```sh\n# comment\nls\n```\n";
        assert!(split_text(text, true, 1000).iter().all(|it| it.path == "Shell"));
    }

    #[test]
    fn nothing_is_lost_and_no_chunk_is_too_long() {
        let text = "One sentence. Another one! ".repeat(200);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();

        let chunks = split_text(&text, false, 100);

        assert!(chunks.iter().all(|it| it.text.chars().count() <= 100));
        let words_of_chunks: Vec<_> = chunks.iter().flat_map(|it| words(&it.text)).collect();
        assert_eq!(words_of_chunks, words(&text));
        assert!(split_text(" \n ", false, 100).is_empty());
    }

    #[test]
    fn joined_sections_are_below_the_headings_that_they_share() {
        let text =
            "# Travel\n\n## Rail\n\nSecond class.\n\n## Air\n\nAsk first.\n\n# Pay\n\nMonthly.\n";

        let chunks = split_text(text, true, 1000);

        assert_eq!(chunks.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["Travel", "Pay"]);
        assert!(chunks[0].text.contains("## Rail") && chunks[0].text.contains("## Air"));
    }

    #[test]
    fn a_title_without_a_text_stays_with_what_follows() {
        let chunks =
            split_text("# Handbook\n\n# Rail\n\nSecond class.\n\n# Air\n\nAsk.\n", true, 1000);

        assert!(chunks[0].text.starts_with("# Handbook") && chunks[0].text.ends_with("class."));
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks[1].path, "Air");
    }

    #[test]
    fn the_end_of_a_section_keeps_its_headings() {
        let rail = "Second class only, in every train. ".repeat(4);
        let text = format!("# Travel\n\n## Rail\n\n{rail}\n\n## Air\n\nAsk first.\n");

        let chunks = split_text(&text, true, 110);

        let paths = |word: &str| {
            let with_word = chunks.iter().filter(|it| it.text.contains(word));
            with_word.map(|it| it.path.as_str()).collect::<Vec<_>>()
        };
        assert!(paths("train").ends_with(&["Travel › Rail"]), "{chunks:?}");
        assert_eq!(paths("Ask"), ["Travel › Air"], "{chunks:?}");
    }

    #[test]
    fn a_chunk_repeats_nothing_of_an_earlier_section() {
        let section = |it: &str| format!("# {it}\n\n{}\n\n", format!("About {it}. ").repeat(8));
        let text = format!("{}{}", section("Rail"), section("Air"));
        let text = ExtractedText { text, is_markdown: true };

        let chunks = split(&text, ChunkingSettings { max_chars: 110, overlap_chars: 40 });

        assert!(chunks.iter().any(|it| it.path == "Air" && it.text.starts_with("# Air")));
        assert!(chunks.iter().all(|it| it.path != "Air" || !it.text.contains("Rail")));
    }

    #[test]
    fn a_chunk_repeats_the_end_of_the_one_before_it() {
        let text = "One sentence. Another one! ".repeat(20);
        let text = ExtractedText { text, is_markdown: false };

        let chunks = split(&text, ChunkingSettings { max_chars: 100, overlap_chars: 30 });

        let repeats = |a: &TextChunk, b: &TextChunk| {
            let mut words = b.text.match_indices(' ');
            words.any(|it| a.text.ends_with(b.text.get(..it.0).unwrap()))
        };
        assert!(chunks.len() > 5 && chunks.windows(2).all(|it| repeats(&it[0], &it[1])));
    }

    #[test]
    fn an_overlap_that_leaves_no_room_does_not_multiply_the_text() {
        let text = "word ".repeat(2_000);
        for overlap_chars in [99, 100, usize::MAX] {
            let text = ExtractedText { text: text.clone(), is_markdown: false };

            let chunks = split(&text, ChunkingSettings { max_chars: 100, overlap_chars });

            assert!(chunks.len() < 4 * text.text.len() / 100);
        }
    }

    #[test]
    fn sizes_of_zero_still_cut_a_text() {
        let text = ExtractedText { text: "ab".to_owned(), is_markdown: false };

        assert_eq!(split(&text, ChunkingSettings { max_chars: 0, overlap_chars: 0 }).len(), 2);
    }

    #[test]
    fn long_texts_are_cut_in_pieces_that_lose_nothing() {
        let lines = format!("{}\n\n", "ä word ".repeat(50)).repeat(200);
        let heads = format!("{}\n\n# Head\n\n", "ä word ".repeat(60)).repeat(100);
        let heads = format!("# Head\n\n{}", heads.replace("# Head", "## Head"));
        for text in [lines, heads, "ä".repeat(50_000), String::new()] {
            let outline = Outline::parse(&text);

            let pieces = pieces(&text, &outline, 100);

            let joined: String = pieces.iter().map(|it| text.get(it.clone()).unwrap()).collect();
            assert_eq!(joined, text);
            assert!(pieces.iter().all(|it| it.len() <= 100 * CHUNKS_PER_PIECE));
            let is_heading =
                |it: &Range<usize>| text.get(it.clone()).unwrap().starts_with("## Head");
            assert!(!text.contains('#') || pieces.iter().skip(1).all(is_heading));
        }
    }

    #[test]
    fn a_text_without_spaces_is_cut_whole() {
        let text = "x".repeat(50_000);

        let chunks = split_text(&text, false, 1_200);

        assert_eq!(chunks.iter().map(|it| it.text.len()).sum::<usize>(), text.len());
        assert!(chunks.iter().all(|it| it.text.len() <= 1_200));
    }
}
