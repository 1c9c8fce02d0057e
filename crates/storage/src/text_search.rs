//! Search for parts of texts, without regard to case.
//!
//! Patterns are for `LIKE … ESCAPE '\'` on texts in lower case.

use diesel::sql_types::{Nullable, Text};
use diesel::{QueryResult, SqliteConnection};

#[diesel::declare_sql_function]
extern "SQL" {
    /// Text in lower case.
    fn lower(text: Nullable<Text>) -> Nullable<Text>;
}

/// Replaces the function of a connection to SQLite, whose own changes ASCII alone.
pub(crate) fn register_lower(conn: &mut SqliteConnection) -> QueryResult<()> {
    lower_utils::register_impl(conn, |text: Option<String>| text.map(|it| it.to_lowercase()))
}

/// Returns the pattern of texts that contain this one.
pub fn like_containing(text: &str) -> String {
    format!("%{}%", escaped_part(text))
}

/// Returns the pattern of texts that begin with this one.
pub fn like_starting_with(text: &str) -> String {
    format!("{}%", escaped_part(text))
}

/// Returns the pattern of texts that end with this one.
pub fn like_ending_with(text: &str) -> String {
    format!("%{}", escaped_part(text))
}

/// Returns the pattern of this text alone.
pub fn like_exactly(text: &str) -> String {
    escaped(text)
}

/// Escapes a part of a text. The Greek sigma has two forms in lower case, which depend on its place
/// in the whole text and, for capital letters, on the database: each matches any letter.
fn escaped_part(text: &str) -> String {
    escaped(text).replace(['σ', 'ς'], "_")
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
    use diesel::{Connection as _, RunQueryDsl as _};

    use super::*;

    #[test]
    fn sqlite_has_letters_with_accents_in_lower_case() {
        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        register_lower(&mut conn).unwrap();

        let text = diesel::select(lower(Some("ÖSTLICH"))).get_result(&mut conn);
        let nothing = diesel::select(lower(None::<&str>)).get_result(&mut conn);

        assert_eq!(text, Ok(Some("östlich".to_owned())));
        assert_eq!(nothing, Ok(None::<String>));
    }

    #[test]
    fn wildcards_of_a_text_are_searched_for_as_they_are() {
        assert_eq!(like_containing(r"50%_\A"), r"%50\%\_\\a%");
        assert_eq!(like_starting_with("A"), "a%");
        assert_eq!(like_ending_with("A"), "%a");
        assert_eq!(like_exactly("a%"), r"a\%");
    }

    #[test]
    fn both_forms_of_sigma_match_in_parts_of_texts() {
        for text in ["ΟΔΟΣ", "οδος", "οδοσ"] {
            assert_eq!(like_containing(text), "%οδο_%");
        }
        assert_eq!(like_starting_with("Σ"), "_%");
        assert_eq!(like_ending_with("Σ"), "%_");
        assert_eq!(like_exactly("οδος"), "οδος");
    }
}
