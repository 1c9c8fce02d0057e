//! Progress of a command that takes long.

use std::io::{IsTerminal, Write, stderr};

/// Maximum length of a line, so that a terminal does not break it.
const MAX_CHARS: usize = 78;
/// Sequence that clears the line of a terminal.
const CLEAR: &str = "\r\x1b[2K";

/// Line that shows the progress of a command, if errors go to a terminal.
pub(super) struct ProgressLine {
    total: usize,
    is_visible: bool,
}

impl ProgressLine {
    pub(super) fn new(total: usize) -> Self {
        Self { total, is_visible: stderr().is_terminal() }
    }

    /// Shows the number and the name of the current item.
    pub(super) fn show(&self, number: usize, name: &str) {
        self.write(&format(number, self.total, name));
    }

    /// Writes a text over the line. A terminal that is gone is no reason to stop.
    fn write(&self, text: &str) {
        if self.is_visible {
            let mut terminal = stderr().lock();
            drop(write!(terminal, "{CLEAR}{text}").and_then(|()| terminal.flush()));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.write("");
    }
}

/// Returns a line without what a terminal would interpret.
fn format(number: usize, total: usize, name: &str) -> String {
    let line = format!("{number}/{total} {name}");
    line.chars().filter(|it| !it.is_control()).take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_plain() {
        assert_eq!(format(3, 12, "rules/rail.md"), "3/12 rules/rail.md");
        assert_eq!(format(1, 1, "\x1b[31mred\n"), "1/1 [31mred");
        assert_eq!(format(1, 1, &"ä".repeat(200)).chars().count(), MAX_CHARS);
    }
}
