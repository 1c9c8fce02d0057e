//! Tables in Markdown.
//!
//! Add rows with `row`, mark blank rows with `gap`, and end with `finish`. A first row
//! of one cell is a title above the table; the next is the header.

use pia_knowledge::ExtractError;

use crate::extraction::MAX_TEXT_BYTES;
use crate::markdown::{Markdown, one_line};

/// Maximum number of columns; more are `TooComplex`.
const MAX_COLUMNS: usize = 1_000;
/// Length after which the header is repeated, in bytes. It is below the length
/// of a chunk, so that no chunk has rows without names of their columns.
const BLOCK_BYTES: usize = 1_000;

/// Row of a table.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Cells, each in one line and escaped.
    cells: Vec<String>,
    /// Length of all cells as they were pushed, in bytes.
    len: usize,
}

impl Row {
    /// Appends a cell.
    pub(crate) fn push(&mut self, cell: &str) -> Result<(), ExtractError> {
        self.len += cell.len();
        if self.cells.len() >= MAX_COLUMNS || self.len > MAX_TEXT_BYTES {
            return Err(ExtractError::TooComplex);
        }
        self.cells.push(one_line(cell).replace('|', "\\|"));
        Ok(())
    }

    /// Appends a cell at a column, after empty ones.
    pub(crate) fn push_at(&mut self, column: usize, cell: &str) -> Result<(), ExtractError> {
        while self.cells.len() < column {
            self.push("")?;
        }
        self.push(cell)
    }

    /// Returns whether no cell has content.
    pub(crate) fn is_blank(&self) -> bool {
        self.filled() == 0
    }

    /// Returns the number of cells with content.
    fn filled(&self) -> usize {
        self.cells.iter().filter(|it| !it.is_empty()).count()
    }

    fn line(&self, columns: usize) -> String {
        let mut line = String::with_capacity(self.len + columns * 3 + 2);
        line.push('|');
        for column in 0..columns {
            let cell = self.cells.get(column).map_or("", String::as_str);
            line.push(' ');
            line.push_str(cell);
            line.push_str(if cell.is_empty() { "|" } else { " |" });
        }
        line
    }
}

/// Writer of one table, whose first row is its header. It is written as several
/// tables with the same header, of which each fits into a chunk.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Header; `None` before the first row.
    header: Option<Row>,
    /// Columns of the widest row so far.
    columns: usize,
    /// Length of the current part; 0 before its first row is written.
    block_bytes: usize,
}

impl Table {
    /// Appends a row; a blank one is left out.
    pub(crate) fn row(&mut self, row: Row, out: &mut Markdown) -> Result<(), ExtractError> {
        if row.is_blank() {
            return Ok(());
        }

        if self.block_bytes == 0 && row.filled() > 1 {
            self.title(out)?;
        }

        if self.header.is_none() {
            self.columns = row.cells.len();
            self.header = Some(row);
            return Ok(());
        }

        let is_wider = row.cells.len() > self.columns;
        self.columns = self.columns.max(row.cells.len());
        let line = row.line(self.columns);
        if is_wider || self.block_bytes == 0 || self.block_bytes + line.len() > BLOCK_BYTES {
            self.start_block(out)?;
        }

        self.block_bytes += line.len() + 1;
        out.append("\n")?;

        out.append(&line)
    }

    /// Ends the table at blank rows, unless rows were written below its header. A
    /// single cell above the blank rows is a title.
    pub(crate) fn gap(&mut self, out: &mut Markdown) -> Result<(), ExtractError> {
        if self.block_bytes > 0 {
            return Ok(());
        }
        self.title(out)?;
        std::mem::take(self).finish(out)
    }

    /// Ends the table; a header without rows is written too.
    pub(crate) fn finish(mut self, out: &mut Markdown) -> Result<(), ExtractError> {
        if self.block_bytes > 0 {
            return Ok(());
        }
        self.title(out)?;
        self.start_block(out)
    }

    /// Writes a header of one cell as the title that it is.
    fn title(&mut self, out: &mut Markdown) -> Result<(), ExtractError> {
        match self.header.take_if(|it| it.filled() == 1) {
            Some(title) => out.paragraph(&title.cells.concat()),
            None => Ok(()),
        }
    }

    fn start_block(&mut self, out: &mut Markdown) -> Result<(), ExtractError> {
        let Some(header) = &self.header else { return Ok(()) };
        let line = header.line(self.columns);
        // A header that is as long as a block is repeated more rarely.
        self.block_bytes = (line.len() + 1).min(BLOCK_BYTES / 2);
        out.block(&line)?;
        out.append("\n|")?;
        out.append(&"---|".repeat(self.columns))
    }
}

/// Writes rows as a table.
pub(crate) fn write(rows: Vec<Row>, out: &mut Markdown) -> Result<(), ExtractError> {
    let mut table = Table::default();
    for row in rows {
        table.row(row, out)?;
    }
    table.finish(out)
}
