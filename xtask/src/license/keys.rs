//! Keys that sign licences.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use pia_policy::{SigningKey, VerifyingKey};

use super::Outcome;
use super::flags::Flags;

const DEVELOPMENT_KEY: &str = include_str!("../../dev-license-key");

/// Generates a signing key, and returns what to print.
pub(super) fn generate(args: impl Iterator<Item = String>) -> Outcome<String> {
    let flags = Flags::parse(args, &["out"])?;
    flags.none_bare()?;
    let key = SigningKey::generate().map_err(|err| err.to_string())?;
    let public = describe_key(&key.verifying_key());
    let comment_lines: Vec<_> = public.lines().collect();
    let file = format!(
        "# A key that licences are signed with. Whoever has it can issue licences.\n# {}\n{}",
        comment_lines.join("\n# "),
        key.to_text().expose()
    );
    let Some(path) = flags.one("out")? else { return Ok(file) };

    write_secret(path, &file)?;

    Ok(format!("The key is in {path}. Keep it secret, and keep a copy.\n{public}"))
}

/// Returns the key of a file, or the development key.
pub(super) fn signing_key(path: Option<&str>) -> Outcome<SigningKey> {
    let text = match path {
        Some(path) => fs::read_to_string(path).map_err(|err| format!("{path}: {err}"))?,
        None => DEVELOPMENT_KEY.to_owned(),
    };
    let source = path.unwrap_or("the development key");
    SigningKey::parse(&text).map_err(|err| format!("{source}: {err}").into())
}

/// Formats a public key for display.
pub(super) fn describe_key(key: &VerifyingKey) -> String {
    let development = if key.is_development_key() { " (the development key)" } else { "" };
    format!(
        "key id:      {}{development}\npublic key:  PIA_LICENSE_PUBLIC_KEY={}\n",
        key.id(),
        key.to_base64()
    )
}

/// Writes a new file that only its owner can read; never replaces a file.
fn write_secret(path: &str, content: &str) -> Outcome<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|err| format!("{path}: {err}"))?;
    file.write_all(content.as_bytes())?;
    Ok(file.sync_all()?)
}
