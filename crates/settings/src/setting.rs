//! Conversion of a setting's text into a value.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use pia_kernel::Secret;

use super::fault::Reason;

/// Longer than any single value that is meant.
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// A type that a setting can have.
///
/// Texts become numbers and the like only here, where it is known what each is
/// for: a key of digits stays a key.
pub(super) trait Setting: Sized {
    /// True if its values are shown to nobody.
    const IS_SECRET: bool;

    /// The value that `text` stands for. What it answers instead quotes
    /// nothing of the text.
    fn parse(text: &str) -> Result<Self, Reason>;

    /// Formats a value: equal text for equal values, however an operator
    /// spelled them. For comparisons and the ends of ranges; of a secret it is
    /// the secret.
    fn format(&self) -> String;
}

/// One of a few names, in any case.
pub(super) fn choice<T: Copy>(text: &str, names: &[(&str, T)]) -> Result<T, Reason> {
    let text = text.trim();
    let named = names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    named.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        Reason::form(format!("expected one of {}", names.join(", ")))
    })
}

/// Fails for what no value may be: too long, or with characters that end a
/// line of a header or a log.
fn printable(text: &str) -> Result<&str, Reason> {
    if text.len() > MAX_VALUE_BYTES {
        return Err(Reason::form("expected at most 16 KiB"));
    }
    if text.contains(char::is_control) {
        return Err(Reason::form("expected no line breaks or other control characters"));
    }
    Ok(text)
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            const IS_SECRET: bool = false;

            fn parse(text: &str) -> Result<Self, Reason> {
                let text = text.trim();
                let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
                let number = digits.then(|| text.parse().ok()).flatten();
                number.ok_or(Reason::form("expected a whole number"))
            }

            fn format(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
whole_numbers!(u32, usize);

impl Setting for bool {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text, &[("true", true), ("false", false)])
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

/// Taken as it stands: a blank at its end may be part of a password.
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
        let parsed = text.trim().parse();
        parsed.map_err(|_quotes_nothing: std::net::AddrParseError| {
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
        let one = || text.parse::<IpAddr>().ok().map(Self::from);
        let parsed = text.parse::<Self>().ok().or_else(one);
        parsed.ok_or(Reason::form("expected an address or a network such as 10.0.0.0/8"))
    }

    fn format(&self) -> String {
        self.to_string()
    }
}
