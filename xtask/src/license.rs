//! `cargo xtask license`: generates keys, issues licences and inspects them.

mod flags;
mod inspect;
mod issue;
mod keys;

#[cfg(test)]
mod tests;

use std::error::Error;
use std::io::Write as _;

const USAGE: &str = "\
usage:
  cargo xtask license keygen [--out FILE]
  cargo xtask license issue --licensee NAME [--key FILE] [--edition EDITION]
      [--feature FEATURE]... [--max-users N] [--max-admins N]
      [--expires YYYY-MM-DD | --expires TIME | --days N] [--out FILE]
  cargo xtask license inspect FILE [--public-key KEY]

Without --key, licences are signed with the development key, which only builds
without a key of their own accept. Without --out, what was made is printed.
docs/LICENSING.md says more.";

/// Result of a task, or a message that explains the failure.
type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs one of the tasks.
pub(crate) fn run(mut args: impl Iterator<Item = String>) -> Outcome<()> {
    let output = match args.next().as_deref() {
        Some("keygen") => keys::generate(args),
        Some("issue") => issue::issue(args),
        Some("inspect") => inspect::inspect(args),
        Some("help" | "--help" | "-h") => Ok(format!("{USAGE}\n")),
        Some(other) => Err(format!("there is no task {other:?}\n{USAGE}").into()),
        None => Err(USAGE.into()),
    }?;
    std::io::stdout().write_all(output.as_bytes())?;
    Ok(())
}
