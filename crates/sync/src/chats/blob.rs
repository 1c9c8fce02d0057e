//! Encrypted parts, which only devices can read: checked for their form, and
//! stored as they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// So much is decoded at once, to be thrown away.
const STEP: usize = 64 * 1024;

/// Returns the number of bytes a text in base64 stands for; nothing if it is
/// none. Clients give up a whole list over one that they cannot decode.
pub(super) fn length(text: &str) -> Option<usize> {
    let text = text.as_bytes();
    let padding = text.iter().rev().take_while(|it| **it == b'=').count();
    let steps = text.chunks(STEP);
    let last = steps.len().checked_sub(1)?;
    let mut length = 0;
    for (index, step) in steps.enumerate() {
        // Padding ends the whole, not a step of it.
        if index < last && step.contains(&b'=') {
            return None;
        }
        length += STANDARD.decode(step).ok()?.len();
    }
    (padding <= 2).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_base64_is_told_by_its_length() {
        for bytes in [1, 2, 3, 60, STEP, STEP * 3 / 4, STEP * 3 / 4 + 1, STEP * 2] {
            assert_eq!(length(&STANDARD.encode(vec![0xfb; bytes])), Some(bytes), "{bytes}");
        }
    }

    #[test]
    fn what_is_not_strictly_base64_is_none() {
        let inside = format!("{}QQ=={}", "A".repeat(STEP - 4), "AAAA");
        for text in
            ["", "A", "AA", "AA=", "AB==", "A===", "AAAA=", "____", "AA AA", "=", "\n", &*inside]
        {
            assert_eq!(length(text), None, "{text:.20}");
        }
    }
}
