//! Conversion of texts into values of settings.
//!
//! All layers contain texts. A type that a section reads implements `Setting`: the
//! general ones here, `Duration` in `span.rs`, sizes in `byte_size.rs`, and those of
//! one section beside that section.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use pia_kernel::Secret;

use super::error::Reason;

/// Maximum length of a value.
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// Type of a setting.
///
/// Texts are converted only here, where their type is known: a key that
/// consists of digits stays a text.
pub(super) trait Setting: Sized {
    /// True if values must never be displayed.
    const IS_SECRET: bool;

    /// Returns all values by name, of a type that has few; empty otherwise.
    fn choices() -> Vec<(&'static str, Self)> {
        Vec::new()
    }

    /// Parses a value. The error must not quote the text.
    fn parse(text: &str) -> Result<Self, Reason>;

    /// Formats a value: equal texts for equal values, however an operator
    /// spelled them. Used for comparisons and for the bounds of ranges; a
    /// secret is returned in plain.
    fn format(&self) -> String;
}

/// Parses the name of one of a type's choices, in any case.
pub(super) fn choice<T: Setting>(text: &str) -> Result<T, Reason> {
    let text = text.trim();
    let choice = T::choices().into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    let Some((_, value)) = choice else {
        return Err(Reason::form(format!("expected one of {}", choice_names::<T>().join(", "))));
    };
    Ok(value)
}

/// Returns the names of a type's choices; empty if it has none.
pub(super) fn choice_names<T: Setting>() -> Vec<&'static str> {
    T::choices().into_iter().map(|(name, _)| name).collect()
}

/// Returns an error if a text is too long, or has characters that end a line of
/// a header or a log.
fn printable(text: &str) -> Result<&str, Reason> {
    if text.len() > MAX_VALUE_BYTES {
        return Err(Reason::form("expected at most 16 KiB"));
    }
    if text.contains(char::is_control) {
        return Err(Reason::form("expected no line breaks or other control characters"));
    }
    Ok(text)
}

macro_rules! impl_integer_setting {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            const IS_SECRET: bool = false;

            fn parse(text: &str) -> Result<Self, Reason> {
                let text = text.trim();
                let is_digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
                let number = if is_digits { text.parse().ok() } else { None };
                number.ok_or(Reason::form("expected a whole number"))
            }

            fn format(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
impl_integer_setting!(u32, usize);

impl Setting for bool {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        vec![("true", true), ("false", false)]
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        match printable(text.trim())? {
            "" => Err(Reason::form("expected a text")),
            text => Ok(text.to_owned()),
        }
    }

    fn format(&self) -> String {
        self.clone()
    }
}

/// Parsed without trimming: a trailing blank may be part of a password.
impl Setting for Secret<String> {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        if text.trim().is_empty() {
            return Err(Reason::form("expected a text"));
        }
        Ok(Self::new(printable(text)?.to_owned()))
    }

    fn format(&self) -> String {
        self.expose().clone()
    }
}

impl Setting for PathBuf {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        String::parse(text).map(Self::from)
    }

    fn format(&self) -> String {
        self.display().to_string()
    }
}

impl Setting for SocketAddr {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        text.trim().parse().map_err(|_err: std::net::AddrParseError| {
            Reason::form("expected an address and a port such as 127.0.0.1:8080 or [::]:8080")
        })
    }

    fn format(&self) -> String {
        self.to_string()
    }
}

impl Setting for IpNet {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        text.parse::<Self>()
            .ok()
            .or_else(|| text.parse::<IpAddr>().ok().map(Self::from))
            .ok_or(Reason::form("expected an address or a network such as 10.0.0.0/8"))
    }

    fn format(&self) -> String {
        self.to_string()
    }
}
