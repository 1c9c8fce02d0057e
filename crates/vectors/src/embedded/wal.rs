//! Log of the engine.
//!
//! The engine numbers its changes by this log, but never reads it back and never
//! shortens it.

use std::fs;
use std::io;
use std::path::Path;

/// Folder of the log.
const FOLDER: &str = "wal";
/// Prefix of a file that is full; the number of its first change follows.
const FULL: &str = "closed-";

/// Removes the full files of a log but the last one, which the numbers go on
/// from. The shard must be closed.
pub(super) fn trim(folder: &Path) -> io::Result<()> {
    let log = folder.join(FOLDER);
    if !log.exists() {
        return Ok(());
    }

    let mut full = Vec::new();
    for entry in fs::read_dir(log)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|it| it.strip_prefix(FULL)?.parse::<u64>().ok());
        full.extend(number.map(|it| (it, entry.path())));
    }

    full.sort_unstable();
    full.pop();

    // From the first: what is left after a crash has no gap.
    full.iter().try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_removed_but_the_last() {
        let shard = tempfile::tempdir().unwrap();
        trim(shard.path()).unwrap();
        let folder = shard.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        for name in ["closed-0", "closed-7", "closed-19", "first-index", "open-4"] {
            fs::write(folder.join(name), "").unwrap();
        }
        trim(shard.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["closed-19", "first-index", "open-4"]);
    }
}
