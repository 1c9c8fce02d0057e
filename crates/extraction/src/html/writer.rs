//! Blocks that are being written: the text of a page, or of one cell.
//!
//! Text is collected in `current` until a block ends (`flush`); its kind, chosen by
//! `begin`, decides how it is written. Items of a list follow without a blank line.

use std::borrow::Cow;

use crate::markdown::{escape_line, one_line};

/// Maximum level of a list that is indented.
const MAX_INDENT: usize = 5;

/// Kind of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Paragraph.
    #[default]
    Paragraph,
    /// Heading of a level from 1 to 6.
    Heading(usize),
    /// Item of a list at a level, from 0, with its mark: `-` or `3.`.
    Item(usize, String),
    /// Text whose spaces and lines matter.
    Code,
}

/// Writer of blocks.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// Markdown of the blocks that have ended.
    text: String,
    /// Raw text of the block that is open.
    current: String,
    kind: Kind,
    /// True if the last block that was written is an item of a list.
    after_item: bool,
}

impl Writer {
    /// Appends text to the block; breaks of lines are kept.
    pub(super) fn push(&mut self, text: &str) {
        self.current.push_str(text);
    }

    /// Appends text of a page, whose breaks of lines are spaces unless the block
    /// is code.
    pub(super) fn push_text(&mut self, text: &str) {
        if self.kind == Kind::Code {
            self.current.push_str(text);
        } else {
            self.current.extend(text.chars().map(|it| if it == '\n' { ' ' } else { it }));
        }
    }

    /// Ends the block. An empty one is left out, and its kind is that of the next.
    pub(super) fn flush(&mut self) {
        let current = std::mem::take(&mut self.current);
        if current.trim().is_empty() {
            return;
        }

        let kind = std::mem::take(&mut self.kind);
        let is_item = matches!(kind, Kind::Item(..));

        let block = match kind {
            Kind::Paragraph => paragraph(&current),
            Kind::Heading(level) => format!("{} {}", "#".repeat(level), one_line(&current)),
            Kind::Item(level, mark) => {
                format!("{}{mark} {}", "  ".repeat(level.min(MAX_INDENT)), one_line(&current))
            }
            Kind::Code => format!("```\n{}\n```", current.trim_matches('\n').trim_end()),
        };
        self.block(&block, is_item);
    }

    /// Ends the block and begins one of a kind.
    pub(super) fn begin(&mut self, kind: Kind) {
        self.flush();
        self.kind = kind;
    }

    /// Appends Markdown.
    pub(super) fn raw(&mut self, markdown: &str) {
        self.flush();
        if !markdown.trim().is_empty() {
            self.block(markdown, false);
        }
    }

    /// Returns whether a block is a heading.
    pub(super) fn has_heading(&self) -> bool {
        self.text.starts_with('#') || self.text.contains("\n#")
    }

    /// Returns the Markdown.
    pub(super) fn finish(mut self) -> String {
        self.flush();
        self.text
    }

    fn block(&mut self, block: &str, is_item: bool) {
        if !self.text.is_empty() {
            self.text.push_str(if is_item && self.after_item { "\n" } else { "\n\n" });
        }
        self.text.push_str(block);
        self.after_item = is_item;
    }
}

/// Returns a paragraph whose lines were broken on purpose.
fn paragraph(text: &str) -> String {
    text.lines()
        .map(one_line)
        .filter(|it| !it.is_empty())
        .filter_map(|it| escape_line(&it).map(Cow::into_owned))
        .collect::<Vec<_>>()
        .join("\n")
}
