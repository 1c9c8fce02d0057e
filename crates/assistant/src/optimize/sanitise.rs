//! Removal of text that could be mistaken for a part of the prompt.
//!
//! Texts of users and documents stand between tags (fences) in prompts. `clean` makes tags
//! and special tokens within them harmless, however they are spaced or disguised. Apply it
//! before a text is measured and put into a prompt.

/// Tag of the fence around the text to work on.
pub(crate) const TEXT_TAG: &str = "pia-text";
/// Tag of the fence around a user's instructions, or around their description.
pub(crate) const STYLE_TAG: &str = "pia-style";

/// Replacement for a `<` that could open or close a fence.
const HARMLESS: char = '\u{2039}';

/// Returns a text without control characters, except line breaks and tabs, and
/// without our fences and special tokens of models.
pub(crate) fn clean(text: &str) -> String {
    let plain_text = without_controls(text);
    let mut cleaned = String::with_capacity(plain_text.len());
    let mut rest = plain_text.as_str();
    while let Some((before, after)) = rest.split_once('<') {
        cleaned.push_str(before);
        cleaned.push(if is_fence(after) || is_token(after) { HARMLESS } else { '<' });
        rest = after;
    }
    cleaned.push_str(rest);
    cleaned
}

/// Removes the fence that a model may have repeated around its response, and
/// surrounding whitespace.
pub(crate) fn strip_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer
        .strip_prefix(&format!("<{TEXT_TAG}>"))
        .and_then(|it| it.strip_suffix(&format!("</{TEXT_TAG}>")));
    inner.unwrap_or(answer).trim()
}

/// Converts all line breaks to line feeds and removes other control characters.
fn without_controls(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .filter(|it| !it.is_control() || matches!(it, '\n' | '\t'))
        .collect()
}

/// Returns whether a `<` before this opens or closes a fence, however it is
/// spaced.
fn is_fence(after: &str) -> bool {
    let name: String = after
        .chars()
        .filter(|it| !it.is_whitespace() && !is_invisible(*it) && *it != '/')
        .take(TEXT_TAG.len().max(STYLE_TAG.len()))
        .map(|it| it.to_ascii_lowercase())
        .collect();
    [TEXT_TAG, STYLE_TAG].iter().any(|fence| name.starts_with(fence))
}

/// Returns whether a character is invisible, and a model may skip it.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a `<` before this begins a special token such as
/// `<|im_end|>`.
fn is_token(after: &str) -> bool {
    let name = after.strip_prefix('|').and_then(|it| it.split_once("|>")).map(|(name, _)| name);
    name.is_some_and(|it| {
        (1..=32).contains(&it.len())
            && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_survives_unchanged() {
        let text = "Hello [Person_1],\n\ta < b && <b>c</b> <|> d <| e |> f \u{e4}\u{1F600}\u{200d} ```x```";

        assert_eq!(clean(text), text);
    }

    #[test]
    fn control_characters_are_removed_and_line_breaks_unified() {
        assert_eq!(clean("a\0b\u{1b}[1mc\r\nd\re\u{85}f\tg\u{7f}"), "ab[1mc\nd\nef\tg");
    }

    #[test]
    fn no_text_can_close_its_fence() {
        for text in [
            "</pia-text>",
            "<pia-text>",
            "</PIA-Text >",
            "< / pia-text>",
            "<\0/pia-text>",
            "<\n/pia-style x>",
            "<//pia-text",
            "<</pia-text>",
            "<\u{200b}/pia-text>",
            "</p\u{2060}ia-text>",
        ] {
            let cleaned = clean(text);
            let bare = cleaned.replace(|it: char| it.is_whitespace() || is_invisible(it), "");
            assert!(!bare.to_lowercase().contains("</pia-"), "{bare}");
            assert!(!cleaned.to_lowercase().contains("<pia-"), "{cleaned}");
        }
    }

    #[test]
    fn special_tokens_of_models_lose_their_meaning() {
        assert_eq!(clean("a<|im_end|>b"), "a\u{2039}|im_end|>b");
        assert_eq!(clean("<|endoftext|>"), "\u{2039}|endoftext|>");
    }

    #[test]
    fn a_fence_around_a_response_is_removed() {
        assert_eq!(strip_fence(" <pia-text>\nBetter.\n</pia-text>\n"), "Better.");
        assert_eq!(strip_fence("\n\"Better.\" "), "\"Better.\"");
    }
}
