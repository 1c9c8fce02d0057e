//! Terms of a text, for full-text search.
//!
//! A term is the hash of a word's stem. Words are stemmed as English and as
//! German, since one base may have both. Long words also yield their beginnings
//! and ends, so that a part of a German compound finds it; Chinese, Japanese and
//! Korean characters yield pairs, since those languages have no spaces.
//!
//! Documents (`document_terms`, in `point` of `ingestion.rs`) and questions
//! (`query_terms`) must be analysed alike. A change of what a term is invalidates
//! all stored points. The vector store multiplies weights by the inverse document
//! frequency, which depends on other texts.

use std::collections::BTreeMap;

use qdrant_rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Saturation of a term's frequency, as BM25 names it.
const K1: f32 = 1.2;
/// Influence of a text's length, as BM25 names it.
const B: f32 = 0.75;
/// Average number of words of a chunk.
const AVERAGE_WORDS: f32 = 150.0;
/// Minimum length of a word whose parts are terms, in characters.
const MIN_COMPOUND_CHARS: usize = 9;
/// Minimum length of such a part, in characters.
const MIN_PART_CHARS: usize = 4;
/// Maximum length of a word whose parts are terms, in characters.
const MAX_COMPOUND_CHARS: usize = 40;
/// Weight of a part, relative to its word.
const PART_WEIGHT: f32 = 0.3;

/// Term with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermWeight {
    /// Hash of the term.
    pub term: u32,
    /// Weight in its text; see `document_terms` and `query_terms`.
    pub weight: f32,
}

/// Returns the terms of a text that is indexed, with the part of their BM25
/// score that does not depend on other texts.
pub fn document_terms(text: &str) -> Vec<TermWeight> {
    let mut frequencies = BTreeMap::new();
    let mut words = 0_u16;
    for_each_word(text, |stems, weight| {
        for stem in stems {
            *frequencies.entry(*stem).or_insert(0.0) += weight;
        }
        words = words.saturating_add(u16::from(weight >= 1.0));
    });
    let length = 1.0 - B + B * f32::from(words) / AVERAGE_WORDS;
    let weight = |frequency: f32| frequency * (K1 + 1.0) / (frequency + K1 * length);
    frequencies.into_iter().map(|(term, it)| TermWeight { term, weight: weight(it) }).collect()
}

/// Returns the terms of a question. The stems of a word share its weight, so that
/// a word with two stems does not count twice.
pub fn query_terms(text: &str) -> Vec<TermWeight> {
    let mut weights = BTreeMap::new();
    for_each_word(text, |stems, weight| {
        let share = if stems.len() > 1 { weight / 2.0 } else { weight };
        for stem in stems {
            let stem_weight: &mut f32 = weights.entry(*stem).or_insert(0.0);
            *stem_weight = stem_weight.max(share);
        }
    });
    weights.into_iter().map(|(term, weight)| TermWeight { term, weight }).collect()
}

/// Calls `add` for each word, part of a word and pair of characters, with its
/// different stems, of which there are two at most.
fn for_each_word(text: &str, mut add: impl FnMut(&[u32], f32)) {
    // Documents may have letters in several forms, PDF above all.
    let text = text.nfkc().collect::<String>();
    let stemmers = [Stemmer::create(Algorithm::German), Stemmer::create(Algorithm::English)];
    let mut previous = None;
    for word in text.unicode_words() {
        if word.chars().all(is_cjk) {
            for letter in word.chars() {
                add(&[hash(letter.encode_utf8(&mut [0; 4]))], 1.0);
                if let Some(previous) = previous.replace(letter) {
                    add(&[hash(&String::from_iter([previous, letter]))], 1.0);
                }
            }
            continue;
        }

        previous = None;
        let word = word.to_lowercase();
        let mut stems = stemmers.each_ref().map(|it| hash(&it.stem(&word))).to_vec();
        // Many words have the same stem in both languages.
        stems.dedup();
        add(&stems, 1.0);

        for part in parts(&word) {
            add(&[hash(&stemmers[0].stem(part))], PART_WEIGHT);
        }
    }
}

/// Returns whether a character is an ideograph, kana or Hangul.
pub(crate) fn is_cjk(letter: char) -> bool {
    matches!(u32::from(letter), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af | 0x20000..=0x3ffff)
}

/// Returns the beginnings and ends of a long word.
fn parts(word: &str) -> Vec<&str> {
    let ends: Vec<usize> = word.char_indices().map(|it| it.0).chain([word.len()]).collect();
    let chars = ends.len() - 1;
    if !(MIN_COMPOUND_CHARS..=MAX_COMPOUND_CHARS).contains(&chars) {
        return Vec::new();
    }
    let cuts = ends.get(MIN_PART_CHARS..=chars - MIN_PART_CHARS).unwrap_or_default();
    cuts.iter().flat_map(|cut| [word.get(..*cut), word.get(*cut..)]).flatten().collect()
}

/// Returns the FNV-1a hash of a term, which is stored and must never change.
pub(crate) fn hash(term: &str) -> u32 {
    term.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sum of the weights of the terms that a question shares with a
    /// text.
    fn overlap(question: &str, text: &str) -> f32 {
        let document = document_terms(text);
        let weight = |term| document.iter().find(|it| it.term == term).map_or(0.0, |it| it.weight);
        query_terms(question).iter().map(|it| it.weight * weight(it.term)).sum()
    }

    #[test]
    fn inflected_words_are_found() {
        assert!(overlap("invoices", "an Invoice was paid") > 0.5);
        assert!(overlap("Anträge", "der Antrag wurde gestellt") > 0.5);
        assert!(overlap("Invoices", "a bill was paid") < 0.01);
    }

    #[test]
    fn parts_of_a_compound_are_found_with_less_weight() {
        let text = "Der Urlaubsantrag ist einzureichen.";
        assert!(overlap("Antrag", text) > 0.2);
        assert!(overlap("Urlaub", text) > 0.2);
        assert!(overlap("Urlaubsantrag", text) > 2.0 * overlap("Antrag", text));
        assert!(overlap("Urlaubsantrag", "Ein Antrag auf Urlaub") > 0.2);
    }

    #[test]
    fn pairs_of_ideographs_are_terms() {
        assert!(overlap("京都", "東京都に住む") > overlap("京都", "都に京"));
        assert!(overlap("한국어", "나는 한국어를 배운다") > 2.0);
        assert!(overlap("サーバ", "新しいサーバーを買う") > 2.0);
        assert!(overlap("한국어", "나는 영화를 본다") < 0.01);
    }

    #[test]
    fn a_word_with_two_stems_counts_once() {
        // Their stems are the same in both languages, or differ.
        let one_stem = "hand";
        let two_stems = "anträge";
        assert_eq!(query_terms(one_stem).len(), 1);
        assert_eq!(query_terms(two_stems).len(), 2);

        assert!((overlap(one_stem, one_stem) - overlap(two_stems, two_stems)).abs() < 1e-6);
    }

    #[test]
    fn a_long_text_gives_each_term_less_weight() {
        let long_text = format!("invoice {}", "filler ".repeat(400));
        assert!(overlap("invoice", &long_text) < overlap("invoice", "invoice"));
        assert!(document_terms("").is_empty() && document_terms("… – !").is_empty());
    }

    #[test]
    fn hashes_are_those_of_fnv_1a() {
        assert_eq!(hash(""), 0x811c_9dc5);
        assert_eq!(hash("a"), 0xe40c_292c);
    }
}
