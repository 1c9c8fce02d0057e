//! Relevance of a passage to a question.

use unicode_segmentation::UnicodeSegmentation;

use crate::ports::chunk_store::StoredPassage;
use crate::terms::{document_terms, query_terms};

/// Minimum length of a word that says what a question is about, in characters.
const MIN_WORD_CHARS: usize = 4;
/// Minimum overlap of neighbouring chunks that is recognised, in bytes: a few
/// letters are the same by chance.
const MIN_OVERLAP_BYTES: usize = 8;
/// Maximum overlap of neighbouring chunks that is recognised, in bytes.
const MAX_OVERLAP_BYTES: usize = 2_000;

/// Returns the cosine similarity of two vectors of length 1.
pub(super) fn similarity(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the share of a question's longer words, and numbers, that a passage
/// has, from 0 to 1.
pub(super) fn term_coverage(question: &str, passage: &StoredPassage) -> f32 {
    let is_significant = |it: &&str| {
        it.chars().count() >= MIN_WORD_CHARS || it.chars().any(|letter| letter.is_ascii_digit())
    };
    let words: Vec<&str> = question.unicode_words().filter(is_significant).collect();
    let terms = query_terms(&words.join(" "));
    let total: f32 = terms.iter().map(|it| it.weight).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let text = format!("{} {} {}", passage.title, passage.path, passage.text);
    let present = document_terms(&text);
    let is_present = |term| present.iter().any(|it| it.term == term);
    terms.iter().filter(|it| is_present(it.term)).map(|it| it.weight).sum::<f32>() / total
}

/// Joins a chunk with the end of the one before it and the beginning of the one
/// after it, as far as both fit.
pub(super) fn join_around(chunk: &str, (before, after): (&str, &str), max_chars: usize) -> String {
    // Two line ends may be added.
    let rest = max_chars.saturating_sub(chunk.chars().count() + 2);
    let (before_chars, after_chars) = (before.chars().count(), after.chars().count());
    let before_chars = before_chars.min((rest / 2).max(rest.saturating_sub(after_chars)));
    let skipped = before.chars().count() - before_chars;
    let start = before.char_indices().nth(skipped).map_or(before.len(), |it| it.0);
    let end = after.char_indices().nth(rest - before_chars).map_or(after.len(), |it| it.0);
    let (before, after) = (before.get(start..), after.get(..end));
    join_overlapping([before.unwrap_or_default(), chunk, after.unwrap_or_default()])
}

/// Joins chunks that follow each other; what one repeats of those before it is
/// left out.
pub(super) fn join_overlapping<'a>(chunks: impl IntoIterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for chunk in chunks.into_iter().filter(|it| !it.is_empty()) {
        let longest = chunk.len().min(joined.len()).min(MAX_OVERLAP_BYTES);
        let overlap = (MIN_OVERLAP_BYTES..=longest)
            .rev()
            .find(|it| chunk.get(..*it).is_some_and(|start| joined.ends_with(start)));
        if overlap.is_none() && !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(chunk.get(overlap.unwrap_or_default()..).unwrap_or_default());
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neighbours_repeat_appears_once() {
        let chunks = ["one two three", "two three four", "three four five"];
        assert_eq!(join_overlapping(chunks), "one two three four five");
        assert_eq!(join_overlapping(["one", "two"]), "one\ntwo");
        assert_eq!(join_overlapping(["", "two", ""]), "two");
        assert_eq!(join_overlapping(["xäääää", "äääääy"]), "xäääääy");
    }

    #[test]
    fn neighbours_get_what_a_chunk_leaves() {
        let (before, after) = ("äbcdefghij", "klmnopqrsü");

        assert_eq!(join_around("HIT", (before, after), 100), format!("{before}\nHIT\n{after}"));
        assert_eq!(join_around("HIT", (before, after), 11), "hij\nHIT\nklm");
        // One leaves its part to the other.
        assert_eq!(join_around("HIT", (before, "k"), 11), "fghij\nHIT\nk");
        assert_eq!(join_around("HIT", ("j", after), 11), "j\nHIT\nklmno");
        assert_eq!(join_around("HIT", (before, after), 2), "HIT");
    }

    #[test]
    fn letters_that_are_the_same_by_chance_are_no_overlap() {
        assert_eq!(join_overlapping(["two cats", "see a dog"]), "two cats\nsee a dog");
        assert_eq!(join_overlapping(["| a |", "| b |"]), "| a |\n| b |");
    }

    #[test]
    fn similarity_is_the_product_of_vectors() {
        assert!((similarity(&[0.6, 0.8], &[0.6, 0.8]) - 1.0).abs() < 1e-6);
        assert!(similarity(&[1.0, 0.0], &[0.0, 1.0]).abs() < 1e-6);
    }
}
