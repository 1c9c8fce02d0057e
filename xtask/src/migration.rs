//! `cargo xtask migration`

use std::fs;

use pia_kernel::{Clock, SystemClock};

use crate::outcome::Outcome;
use crate::places;

/// Creates an empty migration of the same name for each database.
pub(crate) fn run(args: &[String]) -> Outcome {
    let [new, name] = args else { return Err("usage: cargo xtask migration new NAME".into()) };

    let is_allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    if new != "new" || name.is_empty() || !name.chars().all(is_allowed) {
        return Err("usage: cargo xtask migration new NAME, \
                    where NAME is of lower-case letters, digits and underscores"
            .into());
    }

    let folder = folder_name(&SystemClock.now().to_string(), name)?;

    for database in ["sqlite", "postgres"] {
        let migration = places::root().join("migrations").join(database).join(&folder);
        fs::create_dir_all(&migration)?;
        fs::write(migration.join("up.sql"), "")?;
        println!("made {}", migration.join("up.sql").display());
    }

    Ok(())
}

/// Returns the folder name `2026-01-02-030405_name` for a time in RFC 3339.
fn folder_name(now: &str, name: &str) -> Outcome<String> {
    let (date, time) = now.split_once('T').ok_or("a time without a date")?;
    let digits: String = time.chars().filter(char::is_ascii_digit).take(6).collect();
    Ok(format!("{date}-{digits}_{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_is_named_after_its_creation_time() {
        let folder = folder_name("2026-01-02T03:04:05.678Z", "credits").unwrap();

        assert_eq!(folder, "2026-01-02-030405_credits");
    }
}
