//! Structure of a JSON text: its bytes outside of strings.
//!
//! Callers count brackets and commas with it to bound nesting and size before a
//! parser allocates: `web/src/body.rs`, and the documents of chats and policies.

/// Returns the bytes of a JSON text outside of its strings, without their
/// quotes.
pub fn structural_bytes(json: &[u8]) -> impl Iterator<Item = u8> {
    let mut in_string = false;
    let mut is_escaped = false;
    json.iter().copied().filter(move |byte| match byte {
        _ if is_escaped => {
            is_escaped = false;
            false
        }
        b'\\' if in_string => {
            is_escaped = true;
            false
        }
        b'"' => {
            in_string = !in_string;
            false
        }
        _ => !in_string,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_strings_are_left_out() {
        for (json, structure) in [
            (r#"{"a":[1,"]"]}"#, "{:[1,]}"),
            (r#"["\"[",{}]"#, "[,{}]"),
            (r#"["\\",[]]"#, "[,[]]"),
            (r#"["[\"#, "["),
            (r#"\"["#, r"\"),
            ("", ""),
        ] {
            assert!(structural_bytes(json.as_bytes()).eq(structure.bytes()), "{json}");
        }
    }
}
