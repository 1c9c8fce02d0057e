//! Tables of a page, which may hold data or only arrange texts.
//!
//! While a cell is read, its writer takes the place of the page's: `begin_cell` and
//! `end_cell` exchange the two. A table whose cells are long, or have headings or
//! tables, is layout, and is written as the texts of its cells.

use pia_knowledge::ExtractError;

use super::writer::Writer;
use crate::markdown::Markdown;
use crate::table::{self, Row};
/// Maximum length of a cell, in bytes. A longer text is laid out by the table, not
/// part of it.
const MAX_CELL_BYTES: usize = 500;

/// Table that is being read.
#[derive(Debug, Default)]
pub(super) struct Frame {
    rows: Vec<Vec<String>>,
    /// True if the table only arranges texts.
    is_layout: bool,
    /// Writer of the text around the table while a cell is open.
    around: Option<Writer>,
}

impl Frame {
    /// Begins a row.
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell, for which the writer is replaced.
    pub(super) fn begin_cell(&mut self, writer: &mut Writer) {
        if self.around.is_none() {
            self.around = Some(std::mem::take(writer));
        }
    }

    /// Ends a cell, and gives the writer back.
    pub(super) fn end_cell(&mut self, writer: &mut Writer) {
        let Some(around) = self.around.take() else { return };
        let cell_writer = std::mem::replace(writer, around);
        self.is_layout |= cell_writer.has_heading();
        let cell = cell_writer.finish();
        self.is_layout |= cell.len() > MAX_CELL_BYTES || cell.contains("\n\n");
        match self.rows.last_mut() {
            Some(row) => row.push(cell),
            None => self.rows.push(vec![cell]),
        }
    }

    /// Marks the table as one that only arranges texts, since a cell has a table.
    pub(super) fn set_layout(&mut self) {
        self.is_layout = true;
    }

    /// Writes the table; one that only arranges texts is written as these texts.
    pub(super) fn write(self, writer: &mut Writer) -> Result<(), ExtractError> {
        // One column, or one row, is no table either.
        let is_list = self.rows.iter().all(|it| it.len() < 2);
        if self.is_layout || is_list || self.rows.len() < 2 {
            self.rows.iter().flatten().for_each(|it| writer.raw(it));
            return Ok(());
        }

        let mut rows = Vec::with_capacity(self.rows.len());
        for cells in self.rows {
            let mut row = Row::default();
            for cell in cells {
                row.push(&cell)?;
            }
            rows.push(row);
        }

        let mut out = Markdown::default();
        table::write(rows, &mut out)?;
        writer.raw(&out.finish());

        Ok(())
    }
}
