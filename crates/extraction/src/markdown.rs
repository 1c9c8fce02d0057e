//! Markdown that is being written.
//!
//! Every method fails with `TooComplex` instead of exceeding `MAX_TEXT_BYTES`, so no
//! parser needs a limit of its own. Plain text is escaped only where it would become
//! a heading or code: chunks are cut at headings.

use std::borrow::Cow;

use pia_knowledge::ExtractError;

use crate::extraction::MAX_TEXT_BYTES;

/// Markdown, up to the maximum length.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    text: String,
}

impl Markdown {
    /// Appends a block, after a blank line; a blank one is left out.
    pub(crate) fn block(&mut self, block: &str) -> Result<(), ExtractError> {
        let trimmed = block.trim_matches('\n').trim_end();
        if trimmed.trim().is_empty() {
            return Ok(());
        }
        if !self.text.is_empty() {
            self.append("\n\n")?;
        }
        self.append(trimmed)
    }

    /// Appends a heading; a blank one is left out.
    pub(crate) fn heading(&mut self, level: usize, title: &str) -> Result<(), ExtractError> {
        let title = one_line(title);
        if title.is_empty() {
            return Ok(());
        }
        self.block(&format!("{} {title}", "#".repeat(level.clamp(1, 6))))
    }

    /// Appends a paragraph of plain text.
    pub(crate) fn paragraph(&mut self, text: &str) -> Result<(), ExtractError> {
        self.plain(text.trim())
    }

    /// Appends plain text of several paragraphs, line by line.
    pub(crate) fn plain(&mut self, text: &str) -> Result<(), ExtractError> {
        let lines: Vec<_> = text.lines().filter_map(escape_line).collect();
        self.block(&lines.join("\n"))
    }

    /// Appends an item of a list, right below the item before it.
    pub(crate) fn item(&mut self, level: usize, text: &str) -> Result<(), ExtractError> {
        let indent = "  ".repeat(level.min(5));
        let item = format!("{indent}- {}", one_line(text));
        let last_line = self.text.rsplit('\n').next().unwrap_or_default();
        if !last_line.trim_start().starts_with("- ") {
            return self.block(&item);
        }
        self.append("\n")?;
        self.append(&item)
    }

    /// Appends a text unchanged.
    pub(crate) fn append(&mut self, text: &str) -> Result<(), ExtractError> {
        if self.text.len() + text.len() > MAX_TEXT_BYTES {
            return Err(ExtractError::TooComplex);
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Returns the Markdown.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Returns a text in which white space is single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns a line of plain text, escaped if it would begin a heading or code in
/// Markdown; `None` if it is a rule, which would make the line above it a heading.
pub(crate) fn escape_line(line: &str) -> Option<Cow<'_, str>> {
    let trimmed = line.trim_end();
    let is_rule = !trimmed.is_empty() && trimmed.trim_start_matches(['-', '=', ' ']).is_empty();
    if is_rule {
        return None;
    }

    let text = trimmed.trim_start();
    if text.starts_with(['#', '`', '~']) {
        return Some(Cow::Owned(format!("\\{text}")));
    }
    Some(Cow::Borrowed(trimmed))
}
