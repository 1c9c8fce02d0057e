//! Relevance of a passage to a question, and joining of neighbouring chunks.
//!
//! `similarity` compares vectors and `term_coverage` words: `retrieval.rs` drops a
//! candidate only if both are low. `join_overlapping` undoes the overlap that
//! `chunking.rs` adds.

use unicode_segmentation::UnicodeSegmentation;

use super::stop_words::STOP_WORDS;
use crate::ports::chunk_store::StoredPassage;
use crate::terms::{document_terms, is_cjk, query_terms};

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

/// Returns the share of a question's significant words that a passage has, from 0
/// to 1.
pub(super) fn term_coverage(question: &str, passage: &StoredPassage) -> f32 {
    let words: Vec<&str> = question.unicode_words().filter(|it| is_significant(it)).collect();
    let terms = query_terms(&words.join(" "));
    let total_weight: f32 = terms.iter().map(|it| it.weight).sum();
    if total_weight <= 0.0 {
        return 0.0;
    }
    let text = format!("{} {} {}", passage.title, passage.path, passage.text);
    let passage_terms = document_terms(&text);
    let is_present = |term| passage_terms.iter().any(|it| it.term == term);
    terms.iter().filter(|it| is_present(it.term)).map(|it| it.weight).sum::<f32>() / total_weight
}

/// Returns whether a word may say what a question is about: longer ones, numbers,
/// abbreviations, and Chinese, Japanese and Korean ones of any length.
fn is_significant(word: &str) -> bool {
    if STOP_WORDS.contains(&word.to_lowercase().as_str()) {
        return false;
    }
    let length = word.chars().count();
    let is_abbreviation = length > 1 && word.chars().all(char::is_uppercase);
    let is_special = |it: char| it.is_ascii_digit() || is_cjk(it);
    length >= MIN_WORD_CHARS || is_abbreviation || word.chars().any(is_special)
}

/// Joins a chunk with the end of the one before it and the beginning of the one
/// after it, as far as both fit.
pub(super) fn join_around(before: &str, chunk: &str, after: &str, max_chars: usize) -> String {
    // Two line ends may be added.
    let available = max_chars.saturating_sub(chunk.chars().count() + 2);
    let before_chars = before.chars().count();
    let after_chars = after.chars().count();
    let max_before = (available / 2).max(available.saturating_sub(after_chars));
    let included_before = before_chars.min(max_before);
    let skipped = before_chars - included_before;
    let start = before.char_indices().nth(skipped).map_or(before.len(), |it| it.0);
    let max_after = available - included_before;
    let end = after.char_indices().nth(max_after).map_or(after.len(), |it| it.0);

    let end_of_before = before.get(start..).unwrap_or_default();
    let start_of_after = after.get(..end).unwrap_or_default();
    join_overlapping([end_of_before, chunk, start_of_after], usize::MAX)
}

/// Joins chunks that follow each other, until they are longer than this, in
/// bytes; what one repeats of those before it is left out.
pub(super) fn join_overlapping<'a>(
    chunks: impl IntoIterator<Item = &'a str>,
    max_bytes: usize,
) -> String {
    let mut joined = String::new();
    for chunk in chunks.into_iter().filter(|it| !it.is_empty()) {
        if joined.len() > max_bytes {
            break;
        }

        let max_overlap = chunk.len().min(joined.len()).min(MAX_OVERLAP_BYTES);
        let overlap = (MIN_OVERLAP_BYTES..=max_overlap)
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
    use pia_kernel::{DocumentId, KnowledgeBaseId};

    use super::*;
    use crate::ports::chunk_store::ChunkId;

    fn coverage(question: &str, text: &str) -> f32 {
        let passage = StoredPassage {
            chunk: ChunkId::generate(),
            base: KnowledgeBaseId::generate(),
            document: DocumentId::generate(),
            title: String::new(),
            source_uri: None,
            ordinal: 0,
            path: String::new(),
            text: text.to_owned(),
            before: None,
            after: None,
            dense: Vec::new(),
        };
        term_coverage(question, &passage)
    }

    #[test]
    fn words_without_a_subject_make_no_passage_relevant() {
        let text = "What about this? They have what you would like, und wir haben auch welche.";
        for question in [
            "What about this?",
            "WHAT IS THIS?",
            "Which would you like?",
            "Was haben wir auch?",
            "?!",
        ] {
            assert!(coverage(question, text) < f32::EPSILON, "{question}");
        }
        let text = "What do you know about travel?";
        assert!(coverage("What do you know about submarines?", text) < 0.6);
    }

    #[test]
    fn short_words_that_have_a_subject_count() {
        for (question, text) in [
            ("Who has VPN?", "The VPN needs a token."),
            ("Is it in Q3?", "Q3 was better."),
            ("休暇は何日ですか", "休暇は何日でも取れます。"),
            ("휴가 규정", "휴가 규정은 다음과 같다."),
        ] {
            assert!(coverage(question, text) >= 0.6, "{question}: {}", coverage(question, text));
        }
        assert!(coverage("Who has VPN?", "Who has lunch?") < f32::EPSILON);
        assert!(coverage("出張の費用", "天気がいい。") < 0.6);
    }

    #[test]
    fn what_neighbours_repeat_appears_once() {
        let chunks = ["one two three", "two three four", "three four five"];
        assert_eq!(join_overlapping(chunks, 99), "one two three four five");
        assert_eq!(join_overlapping(["one", "two"], 99), "one\ntwo");
        assert_eq!(join_overlapping(["", "two", ""], 99), "two");
        assert_eq!(join_overlapping(["one", "two", "three"], 3), "one\ntwo");
        assert_eq!(join_overlapping(["xäääää", "äääääy"], 99), "xäääääy");
    }

    #[test]
    fn neighbours_get_what_a_chunk_leaves() {
        let before = "äbcdefghij";
        let after = "klmnopqrsü";

        assert_eq!(join_around(before, "HIT", after, 100), format!("{before}\nHIT\n{after}"));
        assert_eq!(join_around(before, "HIT", after, 11), "hij\nHIT\nklm");
        // A short neighbour leaves its share to the other.
        assert_eq!(join_around(before, "HIT", "k", 11), "fghij\nHIT\nk");
        assert_eq!(join_around("j", "HIT", after, 11), "j\nHIT\nklmno");
        assert_eq!(join_around(before, "HIT", after, 2), "HIT");
    }

    #[test]
    fn letters_that_are_the_same_by_chance_are_no_overlap() {
        assert_eq!(join_overlapping(["two cats", "see a dog"], 99), "two cats\nsee a dog");
        assert_eq!(join_overlapping(["| a |", "| b |"], 99), "| a |\n| b |");
    }

    #[test]
    fn similarity_is_the_product_of_vectors() {
        assert!((similarity(&[0.6, 0.8], &[0.6, 0.8]) - 1.0).abs() < 1e-6);
        assert!(similarity(&[1.0, 0.0], &[0.0, 1.0]).abs() < 1e-6);
    }
}
