//! Parser of connection strings into their settings, in either form.
//!
//! `parse_settings` recognises the form: libpq's `host=db user=pia`, or .NET's
//! `Host=db;Username=pia`. URLs are split by `postgres_target.rs` and `sqlite_target.rs`,
//! which call `query` for the part after the question mark. Errors quote no part of a
//! string, since a misparsed one may be a password.

use std::iter::Peekable;
use std::str::Chars;

use percent_encoding::percent_decode_str;

use crate::error::TargetError;

/// Setting of a connection string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Number of the setting, counted from one, by which errors name it.
    pub(crate) number: usize,
    /// Name in lower case, without spaces, underscores and hyphens: .NET's `SSL Mode` and libpq's
    /// `sslmode` are one.
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Setting {
    pub(crate) fn new(number: usize, name: &str, value: impl Into<String>) -> Self {
        Self { number, name: folded(name), value: value.into() }
    }
}

/// Returns a name or keyword without the characters that the forms spell differently.
pub(crate) fn folded(text: &str) -> String {
    text.chars().filter(|it| !" _-".contains(*it)).flat_map(char::to_lowercase).collect()
}

/// Parses the settings of a string that is not a URL.
pub(crate) fn parse_settings(text: &str) -> Result<Vec<Setting>, TargetError> {
    if is_libpq_form(text) { libpq(text) } else { dotnet(text) }
}

/// Parses the settings after a URL's question mark.
pub(crate) fn query(text: &str) -> Result<Vec<Setting>, TargetError> {
    let pairs = text.split('&').filter(|it| !it.is_empty()).enumerate();
    pairs
        .map(|(at, pair)| {
            let (name, value) = pair.split_once('=').ok_or(TargetError::Form)?;
            Ok(Setting::new(at + 1, &decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// Percent-decodes a part of a URL.
pub(crate) fn decoded(text: &str) -> Result<String, TargetError> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(TargetError::Form),
    }
}

/// Returns whether the first setting ends at white space before another
/// `name=`, as libpq writes it, rather than at a semicolon or with the text.
fn is_libpq_form(text: &str) -> bool {
    let Some((_, after_name)) = text.split_once('=') else {
        return false;
    };

    let value = after_name.trim_start();
    if value.starts_with('\'') {
        let mut chars = value.chars().peekable();
        chars.next();

        while let Some(it) = chars.next() {
            match it {
                '\\' => drop(chars.next()),
                '\'' => break,
                _ => {}
            }
        }

        return chars.find(|it| !it.is_whitespace()).is_some_and(|it| it != ';');
    }

    let first = value.split(';').next().unwrap_or_default();
    let mut words = first.split_whitespace().skip(1).peekable();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        let assigned = word.contains('=') || words.peek().is_some_and(|it| it.starts_with('='));
        let plain = |it: char| it.is_ascii_alphanumeric() || it == '_';
        if assigned && !name.is_empty() && name.chars().all(plain) {
            return true;
        }
    }

    false
}

/// Parses `key=value` pairs between white space; a value with white space in it
/// is enclosed in `'`, and `\` escapes the next character.
fn libpq(text: &str) -> Result<Vec<Setting>, TargetError> {
    let mut pairs = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        skip_white(&mut chars);
        if chars.peek().is_none() {
            return Ok(pairs);
        }

        let mut name = String::new();
        while let Some(it) = chars.next_if(|it| *it != '=' && !it.is_whitespace()) {
            name.push(it);
        }

        skip_white(&mut chars);
        if chars.next() != Some('=') {
            return Err(TargetError::Form);
        }

        skip_white(&mut chars);
        pairs.push(Setting::new(pairs.len() + 1, &name, libpq_value(&mut chars)?));
    }
}

fn libpq_value(chars: &mut Peekable<Chars<'_>>) -> Result<String, TargetError> {
    let quoted = chars.next_if_eq(&'\'').is_some();
    let mut value = String::new();
    while let Some(it) = chars.next_if(|it| quoted || !it.is_whitespace()) {
        match it {
            '\\' => value.extend(chars.next()),
            '\'' if quoted => return Ok(value),
            _ => value.push(it),
        }
    }
    if quoted { Err(TargetError::Form) } else { Ok(value) }
}

/// Parses `Key=value` pairs between semicolons; a value with a semicolon in it is
/// enclosed in `'` or `"`, in which the quote is doubled.
fn dotnet(text: &str) -> Result<Vec<Setting>, TargetError> {
    let mut pairs = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|it| it.is_whitespace() || *it == ';').is_some() {}
        if chars.peek().is_none() {
            return Ok(pairs);
        }

        let mut name = String::new();
        while let Some(it) = chars.next_if(|it| *it != '=' && *it != ';') {
            name.push(it);
        }

        if chars.next() != Some('=') {
            return Err(TargetError::Form);
        }

        skip_white(&mut chars);
        pairs.push(Setting::new(pairs.len() + 1, name.trim(), dotnet_value(&mut chars)?));
    }
}

fn dotnet_value(chars: &mut Peekable<Chars<'_>>) -> Result<String, TargetError> {
    let mut value = String::new();
    let Some(quote) = chars.next_if(|it| ['\'', '"'].contains(it)) else {
        while let Some(it) = chars.next_if(|it| *it != ';') {
            value.push(it);
        }
        value.truncate(value.trim_end().len());
        return Ok(value);
    };

    loop {
        let next_char = chars.next().ok_or(TargetError::Form)?;
        if next_char != quote || chars.next_if_eq(&quote).is_some() {
            value.push(next_char);
            continue;
        }
        skip_white(chars);
        let ended = chars.peek().is_none_or(|it| *it == ';');
        return if ended { Ok(value) } else { Err(TargetError::Form) };
    }
}

fn skip_white(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|it| it.is_whitespace()).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse_settings(text).unwrap().into_iter().map(|it| (it.name, it.value)).collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn pairs_separated_by_spaces_may_quote_and_escape() {
        let text = r"host = db  password='a b;\'c\\' application_name=x\ y";

        assert_eq!(
            pairs(text),
            [pair("host", "db"), pair("password", r"a b;'c\"), pair("applicationname", "x y")]
        );
    }

    #[test]
    fn pairs_separated_by_semicolons_may_contain_spaces_and_quotes() {
        let text = r#"Host=db; User Id = me ;Password="a;""b' c";Application Name=My Server;"#;

        assert_eq!(
            pairs(text),
            [
                pair("host", "db"),
                pair("userid", "me"),
                pair("password", "a;\"b' c"),
                pair("applicationname", "My Server"),
            ]
        );
    }

    #[test]
    fn the_form_is_detected_by_the_end_of_the_first_pair() {
        assert_eq!(pairs("host='a;b' port=1").len(), 2);
        assert_eq!(pairs("Host='a';Port=1").len(), 2);
        assert_eq!(pairs("host=db password=a;b=c").len(), 2);
        assert_eq!(pairs("Data Source=/my data/x.db"), [pair("datasource", "/my data/x.db")]);
        assert_eq!(pairs("Application Name=a b;Host=c d").len(), 2);
    }

    #[test]
    fn an_unterminated_or_missing_value_is_rejected() {
        for text in ["host", "host='db port=1", "Host=\"db;Port=1", "Host=\"db\"x;Port=1", "a=b;c"]
        {
            assert_eq!(parse_settings(text), Err(TargetError::Form), "{text}");
        }
        assert_eq!(query("sslmode"), Err(TargetError::Form));
        assert_eq!(query("a=%ff"), Err(TargetError::Form));
    }
}
