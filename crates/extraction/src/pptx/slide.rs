//! Slides of a presentation.
//!
//! `read` collects the blocks of a slide, `read_diagram` adds those of a diagram, and
//! `write` writes them. The type of a placeholder decides what a paragraph becomes:
//! title, item of a list, paragraph, or nothing for numbers and dates.

use pia_knowledge::ExtractError;

use crate::markdown::{Markdown, one_line};
use crate::table::{self, Row};
use crate::xml::{Piece, Tag, Xml};

/// Slide, or the notes of one.
#[derive(Debug, Default)]
pub(super) struct Slide {
    title: String,
    blocks: Vec<Block>,
    purpose: Purpose,
    level: usize,
    paragraph: String,
    is_text: bool,
    is_cell: bool,
    rows: Vec<Row>,
    row: Row,
    cell: String,
}

impl Slide {
    /// Reads a slide.
    pub(super) fn read(text: &str) -> Result<Self, ExtractError> {
        let mut slide = Self::default();
        slide.read_part(text)?;
        Ok(slide)
    }

    /// Reads the texts of a diagram on the slide, which are a list.
    pub(super) fn read_diagram(&mut self, text: &str) -> Result<(), ExtractError> {
        self.purpose = Purpose::Body;
        self.read_part(text)
    }

    fn read_part(&mut self, text: &str) -> Result<(), ExtractError> {
        let mut xml = Xml::new(text);
        while let Some(piece) = xml.next()? {
            match piece {
                Piece::Start(tag) if tag.name() == "Fallback" => xml.skip()?,
                Piece::Start(tag) => self.start(&tag),
                Piece::End(name) => self.end(&name)?,
                Piece::Text(text) if self.is_text => self.paragraph.push_str(&text),
                Piece::Text(_) => {}
            }
        }
        Ok(())
    }

    /// Writes the slide, the title first.
    pub(super) fn write(self, number: usize, out: &mut Markdown) -> Result<(), ExtractError> {
        let title = one_line(&self.title);
        let separator = if title.is_empty() { "" } else { ": " };
        out.heading(2, &format!("Slide {number}{separator}{title}"))?;
        for block in self.blocks {
            match block {
                Block::Paragraph(text) => out.paragraph(&text)?,
                Block::Item(level, text) => out.item(level, &text)?,
                Block::Table(rows) => table::write(rows, out)?,
            }
        }
        Ok(())
    }

    /// Returns the text of notes, without the picture of the slide.
    pub(super) fn notes(&self) -> String {
        let items = self.blocks.iter().filter_map(|it| match it {
            Block::Item(_, text) => Some(text.as_str()),
            Block::Paragraph(_) | Block::Table(_) => None,
        });
        let text = items.collect::<Vec<&str>>().join("\n");
        if text.is_empty() { text } else { format!("Notes: {text}") }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "sp" => self.purpose = Purpose::Box,
            "ph" => self.purpose = purpose(tag.attribute("type").as_deref()),
            "p" => {
                self.level = 0;
                self.paragraph.clear();
            }
            "pPr" => {
                let level = tag.attribute("lvl").and_then(|it| it.parse().ok());
                self.level = level.unwrap_or(0);
            }
            "t" => self.is_text = true,
            "br" => self.paragraph.push('\n'),
            "tc" => {
                self.is_cell = true;
                self.cell.clear();
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "t" => self.is_text = false,
            "p" => self.end_paragraph(),
            "tc" => {
                self.is_cell = false;
                self.row.push(&self.cell)?;
            }
            "tr" => self.rows.push(std::mem::take(&mut self.row)),
            "tbl" => self.blocks.push(Block::Table(std::mem::take(&mut self.rows))),
            _ => {}
        }

        Ok(())
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.paragraph);
        if text.trim().is_empty() {
            return;
        }
        if self.is_cell {
            self.cell.push_str(&text);
            self.cell.push('\n');
            return;
        }

        match self.purpose {
            Purpose::Box => self.blocks.push(Block::Paragraph(text)),
            Purpose::Body => self.blocks.push(Block::Item(self.level, text)),
            Purpose::Margin => {}
            Purpose::Title => {
                self.title.push_str(&text);
                self.title.push(' ');
            }
        }
    }
}

/// Block of a slide.
#[derive(Debug)]
enum Block {
    /// Paragraph in a box.
    Paragraph(String),
    /// Item of a list at a level, from 0.
    Item(usize, String),
    /// Table.
    Table(Vec<Row>),
}

/// Purpose of a shape.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Purpose {
    /// Text in a box.
    #[default]
    Box,
    /// Title of the slide.
    Title,
    /// Main text, whose paragraphs are a list.
    Body,
    /// Number, date or footer.
    Margin,
}

/// Returns the purpose of a placeholder of a type; without a type it is a body.
fn purpose(kind: Option<&str>) -> Purpose {
    match kind {
        Some("title" | "ctrTitle") => Purpose::Title,
        Some("sldNum" | "dt" | "ftr" | "hdr" | "sldImg") => Purpose::Margin,
        Some("subTitle") => Purpose::Box,
        _ => Purpose::Body,
    }
}
