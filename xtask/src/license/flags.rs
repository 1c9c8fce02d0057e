//! Arguments of the form `--name value` or `--name=value`.
//!
//! For the license tasks. Every flag has a value; names are checked while parsing,
//! repetitions when a value is read.

use std::str::FromStr;

use super::{Outcome, USAGE};

/// Flags of a command, with their values.
#[derive(Debug)]
pub(super) struct Flags {
    named: Vec<(String, String)>,
    bare: Vec<String>,
}

impl Flags {
    /// Parses `args`; a name that is not among `known` is refused.
    pub(super) fn parse(mut args: impl Iterator<Item = String>, known: &[&str]) -> Outcome<Self> {
        let mut flags = Self { named: Vec::new(), bare: Vec::new() };
        while let Some(arg) = args.next() {
            let Some(flag) = arg.strip_prefix("--") else {
                flags.bare.push(arg);
                continue;
            };

            let (name, inline_value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };

            if !known.contains(&name) {
                return Err(format!("there is no option --{name}\n{USAGE}").into());
            }

            let value = inline_value
                .or_else(|| args.next())
                .ok_or_else(|| format!("--{name} needs a value"))?;
            flags.named.push((name.to_owned(), value));
        }

        Ok(flags)
    }

    /// Returns the value of an option that may appear once.
    pub(super) fn one(&self, name: &str) -> Outcome<Option<&str>> {
        let mut values = self.many(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(format!("--{name} was given more than once").into());
        }
        Ok(first)
    }

    /// Returns the argument as a number.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Outcome<Option<T>> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_not_a_number) => Err(format!("--{name} is not a number: {text:?}").into()),
        }
    }

    /// Returns the values of an option that may be repeated.
    pub(super) fn many(&self, name: &str) -> impl Iterator<Item = &str> {
        self.named.iter().filter(move |it| it.0 == name).map(|it| it.1.as_str())
    }

    /// Refuses arguments that belong to no option.
    pub(super) fn none_bare(&self) -> Outcome<()> {
        match self.bare.first() {
            Some(bare) => Err(format!("{bare:?} belongs to no option\n{USAGE}").into()),
            None => Ok(()),
        }
    }

    /// Returns the one argument that belongs to no option.
    pub(super) fn one_bare(&self) -> Outcome<&str> {
        match self.bare.as_slice() {
            [bare] => Ok(bare),
            _ => Err(format!("name one file\n{USAGE}").into()),
        }
    }
}
