//! Path of the SQLite file.
//!
//! Accepted are URLs, pairs and plain paths. A database in memory is refused, since each
//! connection of a pool would have its own.

use std::path::PathBuf;

use crate::connection_string::{self, Setting, decoded, folded};
use crate::error::TargetError;

/// Schemes of a URL of a file; the longer ones first.
const SCHEMES: [&str; 4] = ["sqlite://", "sqlite:", "file://", "file:"];

/// Keywords of .NET's connection strings that describe the default, or are
/// ignored.
const IGNORED: [&str; 6] =
    ["cache", "commandtimeout", "defaulttimeout", "foreignkeys", "pooling", "recursivetriggers"];

/// Database in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqliteTarget {
    /// Path of the file; relative to the working directory.
    pub(crate) path: PathBuf,
}

impl SqliteTarget {
    /// Parses a URL, pairs or a plain path.
    pub(crate) fn parse(text: &str) -> Result<Self, TargetError> {
        if let Some(rest) = SCHEMES.iter().find_map(|it| strip(text, it)) {
            let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
            return Self::at(decoded(path)?, connection_string::query(query)?);
        }
        if text.contains("://") && !text.contains(';') {
            return Err(TargetError::OtherProvider("sqlite"));
        }
        if text.contains('=') {
            return Self::at(String::new(), connection_string::parse_settings(text)?);
        }
        Self::at(text.to_owned(), Vec::new())
    }

    fn at(mut path: String, pairs: Vec<Setting>) -> Result<Self, TargetError> {
        for Setting { number, name, value } in pairs {
            match name.as_str() {
                "datasource" | "filename" | "file" | "path" | "dbname" | "database" => path = value,
                "mode" => match folded(&value).as_str() {
                    "readwritecreate" | "readwrite" | "rwc" | "rw" => {}
                    "memory" => return Err(TargetError::Memory),
                    _ => return Err(TargetError::Value("mode")),
                },
                "host" | "server" => return Err(TargetError::OtherProvider("sqlite")),
                name if IGNORED.contains(&name) => {}
                _ => return Err(TargetError::Unknown(number)),
            }
        }

        match path.trim() {
            "" => Err(TargetError::Missing("Data Source")),
            ":memory:" => Err(TargetError::Memory),
            path if path.contains('\0') => Err(TargetError::Value("Data Source")),
            path => Ok(Self { path: PathBuf::from(path) }),
        }
    }
}

fn strip<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_names_the_same_file() {
        for text in [
            "sqlite:///var/my data/pia.db",
            "sqlite:/var/my%20data/pia.db?mode=rwc",
            "file:///var/my%20data/pia.db",
            "Data Source=/var/my data/pia.db",
            "Data Source=/var/my data/pia.db;Cache=Shared;Mode=ReadWriteCreate;Foreign Keys=True",
            "Filename='/var/my data/pia.db';Pooling=False;",
            "dbname='/var/my data/pia.db' mode=rw",
            "/var/my data/pia.db",
        ] {
            let target = SqliteTarget::parse(text);

            assert_eq!(target.map(|it| it.path), Ok("/var/my data/pia.db".into()), "{text}");
        }
    }

    #[test]
    fn invalid_strings_are_distinguished() {
        use TargetError::{Memory, Missing, OtherProvider, Unknown, Value};

        for (text, error) in [
            ("sqlite://", Missing("Data Source")),
            ("Mode=ReadWriteCreate", Missing("Data Source")),
            ("sqlite::memory:", Memory),
            ("Data Source=:memory:", Memory),
            ("Data Source=x;Mode=Memory", Memory),
            ("Data Source=x;Mode=ReadOnly", Value("mode")),
            ("Data Source=x;Password=secret", Unknown(2)),
            ("postgres://db/pia", OtherProvider("sqlite")),
            ("Host=db;Username=pia", OtherProvider("sqlite")),
        ] {
            assert_eq!(SqliteTarget::parse(text), Err(error), "{text}");
        }
    }
}
