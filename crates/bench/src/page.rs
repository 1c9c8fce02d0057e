//! Markdown file with the results.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::failure::Outcome;

const NEW_PAGE: &str = "# Benchmarks\n\n";

/// Replaces the previous results in the file and keeps the text around them.
pub(crate) fn write(file: &Path, bench: &str, results: &str) -> Outcome<()> {
    let before = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(err) if err.kind() == ErrorKind::NotFound => NEW_PAGE.to_owned(),
        Err(err) => return Err(format!("{}: {err}", file.display()).into()),
    };
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(file, with_results(&before, bench, results))
        .map_err(|err| format!("{}: {err}", file.display()).into())
}

fn with_results(page: &str, bench: &str, results: &str) -> String {
    let begin = format!("<!-- bench {bench}: begin; this part is written by the benchmark -->\n");
    let end = format!("<!-- bench {bench}: end -->\n");
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        rest.split_once(&end).map(|(_, after)| (before.to_owned(), after))
    });
    let (before, after) = parts.unwrap_or_else(|| (format!("{}\n\n", page.trim_end()), ""));
    format!("{before}{begin}\n{}\n\n{end}{after}", results.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_previous_results_are_replaced() {
        let first = with_results("# Benchmarks\n\nRead with care.\n", "gateway", "old");
        let page = format!("{first}\nWhat bounds it.\n");

        let again = with_results(&page, "gateway", "new");

        assert!(again.starts_with("# Benchmarks\n\nRead with care.\n\n<!-- bench"), "{again}");
        assert!(again.contains("\nnew\n") && !again.contains("old"), "{again}");
        assert!(again.ends_with("\nWhat bounds it.\n"), "{again}");
        assert_eq!(with_results(&again, "gateway", "new"), again);
    }

    #[test]
    fn a_missing_file_is_created_with_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("docs/benchmarks.md");

        write(&file, "gateway", "results").unwrap();

        let text = fs::read_to_string(file).unwrap();
        assert!(text.starts_with("# Benchmarks\n\n") && text.contains("\nresults\n"), "{text}");
    }
}
