//! Conversion of a page, tag by tag.
//!
//! `start`, `end` and `text` take the tokens in order, then `finish` returns the result.
//! Until a `main` element begins, all of the page is converted; the element discards
//! what was written before, and its end closes the output.

use html5gum::StartTag;
use pia_knowledge::ExtractError;

use super::frame::Frame;
use super::open_elements::{Nesting, OpenElements};
use super::tags::{attribute, heading_level, is_block, is_hidden, is_void};
use super::writer::{Kind, Writer};
use crate::markdown::one_line;

/// Converter of a page.
#[derive(Debug, Default)]
pub(super) struct Converter {
    open: OpenElements,
    writer: Writer,
    frames: Vec<Frame>,
    /// Lists that are open: the number of the next item, if they are numbered.
    lists: Vec<Option<usize>>,
    part: Part,
    title: String,
    is_title: bool,
}

impl Converter {
    /// Takes a start tag.
    pub(super) fn start(&mut self, tag: &StartTag<()>) -> Result<(), ExtractError> {
        let name = String::from_utf8_lossy(&tag.name);
        for _ in 0..self.open.closed_before(&name, is_block(&name)) {
            self.close()?;
        }

        if is_void(&name) {
            self.void(&name, tag);
            return Ok(());
        }

        let hidden = is_hidden(&name, tag);
        if hidden && tag.self_closing && matches!(&*name, "svg" | "math") {
            return Ok(());
        }

        match self.open.push(&name, hidden) {
            Nesting::Known if self.open.is_hidden() => {}
            Nesting::Known => self.open(&name),
            Nesting::TooDeep if is_block(&name) => self.writer.flush(),
            Nesting::TooDeep => {}
        }

        Ok(())
    }

    /// Takes an end tag.
    pub(super) fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        for _ in 0..self.open.closed_by(name) {
            self.close()?;
        }
        Ok(())
    }

    /// Takes text.
    pub(super) fn text(&mut self, text: &str) {
        if self.is_title {
            self.title.push_str(text);
        } else if !self.open.is_hidden() && self.part != Part::Rest {
            self.writer.push_text(text);
        }
    }

    /// Returns the Markdown, below the title unless the page has a main heading.
    pub(super) fn finish(mut self) -> Result<String, ExtractError> {
        while !self.open.is_empty() {
            self.close()?;
        }

        let text = self.writer.finish();
        let title = one_line(&self.title);
        let has_heading = format!("\n{text}").contains("\n# ");
        if title.is_empty() || text.is_empty() || has_heading {
            return Ok(text);
        }
        Ok(format!("# {title}\n\n{text}"))
    }

    fn void(&mut self, name: &str, tag: &StartTag<()>) {
        if self.open.is_hidden() || self.part == Part::Rest {
            return;
        }
        match name {
            "br" => self.writer.push("\n"),
            "hr" => self.writer.flush(),
            "img" => self.writer.push_text(&attribute(tag, "alt").unwrap_or_default()),
            _ => {}
        }
    }

    /// Begins the content of a visible element.
    fn open(&mut self, name: &str) {
        if self.part == Part::Rest {
            return;
        }

        if is_block(name) {
            self.writer.flush();
        }

        if let Some(level) = heading_level(name) {
            self.writer.begin(Kind::Heading(level));
        }

        match name {
            "title" => self.is_title = self.title.is_empty(),
            "main" if self.part == Part::All => {
                // Text above the main text is dropped.
                self.writer = Writer::default();
                self.frames.clear();
                self.part = Part::Main;
            }
            "pre" => self.writer.begin(Kind::Code),
            "ul" => self.lists.push(None),
            "ol" => self.lists.push(Some(1)),
            "li" => self.begin_item(),
            "table" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.set_layout();
                }
                self.frames.push(Frame::default());
            }
            "tr" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.begin_row();
                }
            }
            "td" | "th" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.begin_cell(&mut self.writer);
                }
            }
            _ => {}
        }
    }

    /// Begins an item of a list, with its mark.
    fn begin_item(&mut self) {
        let level = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}.", *number - 1)
            }
            _ => "-".to_owned(),
        };
        self.writer.begin(Kind::Item(level, mark));
    }

    /// Closes the innermost element, if there is one.
    fn close(&mut self) -> Result<(), ExtractError> {
        let Some(element) = self.open.pop() else { return Ok(()) };
        if element.is_hidden || self.open.is_hidden() || self.part == Part::Rest {
            return Ok(());
        }

        let name = element.name.as_str();
        if is_block(name) {
            self.writer.begin(Kind::Paragraph);
        }

        match name {
            "title" => self.is_title = false,
            "main" => self.part = Part::Rest,
            "ul" | "ol" => drop(self.lists.pop()),
            "td" | "th" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.end_cell(&mut self.writer);
                }
            }
            "table" => {
                if let Some(frame) = self.frames.pop() {
                    frame.write(&mut self.writer)?;
                }
            }
            _ => {}
        }

        Ok(())
    }
}

/// Part of a page that the tokens are in.
#[derive(Debug, Default, PartialEq, Eq)]
enum Part {
    /// All of it, until there is a main text.
    #[default]
    All,
    /// Content of the first `main` element.
    Main,
    /// Text after the main text.
    Rest,
}
