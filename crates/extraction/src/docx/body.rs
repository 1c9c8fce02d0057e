//! Body of a document.
//!
//! A stack machine over pieces of XML: `w:p` begins a `Paragraph`, properties describe
//! it, `w:t` encloses its text, and its end writes it to the output or to a cell.

use pia_knowledge::ExtractError;

use super::paragraph::Paragraph;
use super::styles::Styles;
use crate::markdown::Markdown;
use crate::table::{self, Row};
use crate::xml::{Piece, Tag, Xml};

/// Body that is being read. Paragraphs are nested if text is in boxes; a table in
/// a table becomes text of its cell.
pub(super) struct Body<'a> {
    styles: &'a Styles,
    out: Markdown,
    /// Paragraphs that are open, the innermost last.
    paragraphs: Vec<Paragraph>,
    /// Number of tables that are open; only the outermost becomes a table.
    table_depth: usize,
    rows: Vec<Row>,
    row: Row,
    cell: String,
    is_text: bool,
}

impl<'a> Body<'a> {
    /// Begins a body.
    pub(super) fn new(styles: &'a Styles) -> Self {
        Self {
            styles,
            out: Markdown::default(),
            paragraphs: Vec::new(),
            table_depth: 0,
            rows: Vec::new(),
            row: Row::default(),
            cell: String::new(),
            is_text: false,
        }
    }

    /// Reads a part.
    pub(super) fn read(&mut self, text: &str) -> Result<(), ExtractError> {
        let mut xml = Xml::new(text);
        while let Some(piece) = xml.next()? {
            match piece {
                // An alternative of the same content, and deleted or moved text.
                Piece::Start(tag) if matches!(tag.name(), "Fallback" | "del" | "moveFrom") => {
                    xml.skip()?;
                }
                // Tab stops, whose elements have the name of tabs in a text.
                Piece::Start(tag) if tag.name() == "tabs" => xml.skip()?,
                Piece::Start(tag) => self.start(&tag),
                Piece::End(name) => self.end(&name)?,
                Piece::Text(text) if self.is_text => {
                    if let Some(paragraph) = self.paragraphs.last_mut() {
                        paragraph.text.push_str(&text);
                    }
                }
                Piece::Text(_) => {}
            }
        }

        Ok(())
    }

    /// Returns the Markdown.
    pub(super) fn finish(self) -> String {
        self.out.finish()
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "p" => self.paragraphs.push(Paragraph::default()),
            "t" => self.is_text = true,
            "tbl" => self.table_depth += 1,
            _ => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.describe(tag);
                }
            }
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "t" => self.is_text = false,
            "p" => self.end_paragraph()?,
            "tc" if self.table_depth == 1 => self.row.push(&std::mem::take(&mut self.cell))?,
            "tr" if self.table_depth == 1 => self.rows.push(std::mem::take(&mut self.row)),
            "tbl" => {
                self.table_depth = self.table_depth.saturating_sub(1);
                if self.table_depth == 0 {
                    table::write(std::mem::take(&mut self.rows), &mut self.out)?;
                }
            }
            _ => {}
        }

        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        let Some(paragraph) = self.paragraphs.pop() else { return Ok(()) };
        if self.table_depth == 0 {
            return paragraph.write(self.styles, &mut self.out);
        }
        self.cell.push_str(&paragraph.text);
        self.cell.push('\n');
        Ok(())
    }
}
