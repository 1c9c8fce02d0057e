//! Form of a question in which equal ones are counted together.
//!
//! Example: `Call +49 170 1234567?` and `call +49 170 7654321` both become
//! `call [number]`.

use unicode_normalization::UnicodeNormalization;

/// Maximum length of a question, in characters. A longer text is one that a
/// member works on, and no question.
const MAX_QUESTION_CHARS: usize = 300;
/// Minimum number of digits of a number that may say who somebody is.
const MIN_MASKED_DIGITS: usize = 5;

/// Returns a question in lower case and in one line, with email addresses, web
/// addresses and long numbers masked; `None` if it is blank or too long.
pub(super) fn fold_question(text: &str) -> Option<String> {
    if text.len() > MAX_QUESTION_CHARS * 4 {
        return None;
    }

    let is_printable = |it: &char| !it.is_control() || it.is_whitespace();
    let text = text.nfkc().filter(is_printable).collect::<String>().to_lowercase();
    let mut words = text.split_whitespace().peekable();
    let mut folded = Vec::new();
    while let Some(word) = words.next() {
        if word.contains('@') {
            folded.push("[email]");
        } else if word.contains("://") || word.starts_with("www.") {
            folded.push("[link]");
        } else if digits(word) > 0 {
            // Numbers are often written in groups.
            let mut group = vec![word];
            let mut count = digits(word);
            while let Some(next) = words.next_if(|it| digits(it) > 0 && !it.contains('@')) {
                group.push(next);
                count += digits(next);
            }
            folded.extend(if count < MIN_MASKED_DIGITS { group } else { vec!["[number]"] });
        } else {
            folded.push(word);
        }
    }

    let line = folded.join(" ");
    let question = line.trim_end_matches(['?', '!', '.', ' ']);
    let is_short = question.chars().count() <= MAX_QUESTION_CHARS;

    (is_short && !question.is_empty()).then(|| question.to_owned())
}

fn digits(word: &str) -> usize {
    word.chars().filter(|it| it.is_numeric()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_differ_in_case_blanks_or_marks_are_one() {
        for text in ["Who pays?", " who  PAYS ?!", "Who\npays.", "Ｗho p\u{0}ays?"] {
            assert_eq!(fold_question(text).as_deref(), Some("who pays"), "{text}");
        }
    }

    #[test]
    fn addresses_and_long_numbers_are_masked() {
        for (text, expected) in [
            ("Call <Ada@Example.org>, please", "call [email] please"),
            ("Open https://x.example/?t=1 or www.x.example", "open [link] or [link]"),
            ("Pay DE89 3704 0044 0532 0130 00 now", "pay [number] now"),
            ("Who has (030) 123-45?", "who has [number]"),
            ("Born 24.12.1990", "born [number]"),
            ("Is 7 of 12 in 2026 mine?", "is 7 of 12 in 2026 mine"),
            ("12345 ada@example.org", "[number] [email]"),
        ] {
            assert_eq!(fold_question(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn blank_and_long_texts_are_no_questions() {
        assert_eq!(fold_question(" \n?"), None);
        assert!(fold_question(&"ä".repeat(300)).is_some());
        assert_eq!(fold_question(&"ä".repeat(301)), None);
    }
}
