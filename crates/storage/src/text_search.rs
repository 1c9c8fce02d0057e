//! Search for parts of texts, without regard to case.
//!
//! Patterns are for `LIKE … ESCAPE '\'` on texts in lower case.

use diesel::sql_types::{Nullable, Text};

#[diesel::declare_sql_function]
extern "SQL" {
    /// Text in lower case.
    fn lower(text: Nullable<Text>) -> Nullable<Text>;
}

/// Returns the pattern of texts that contain this one.
pub fn like_containing(text: &str) -> String {
    format!("%{}%", escaped(text))
}

/// Returns the pattern of texts that begin with this one.
pub fn like_starting_with(text: &str) -> String {
    format!("{}%", escaped(text))
}

/// Returns the pattern of texts that end with this one.
pub fn like_ending_with(text: &str) -> String {
    format!("%{}", escaped(text))
}

/// Returns the pattern of this text alone.
pub fn like_exactly(text: &str) -> String {
    escaped(text)
}

fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    // PostgreSQL stores no NUL, so nothing contains one.
    for letter in text.to_lowercase().chars().filter(|it| *it != '\0') {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_of_a_text_are_searched_for_as_they_are() {
        assert_eq!(like_containing(r"50%_\A"), r"%50\%\_\\a%");
        assert_eq!(like_starting_with("A"), "a%");
        assert_eq!(like_ending_with("A"), "%a");
        assert_eq!(like_exactly("a%"), r"a\%");
    }
}
