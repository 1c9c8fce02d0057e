//! Markdown tables, readable in a terminal.

/// Table with a heading for each column.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    columns: usize,
}

impl Table {
    pub(crate) fn new<const COLUMNS: usize>(headings: [&str; COLUMNS]) -> Self {
        Self::with_headings(headings.map(str::to_owned).to_vec())
    }

    pub(crate) fn with_headings(headings: Vec<String>) -> Self {
        Self { columns: headings.len(), rows: vec![headings] }
    }

    /// Adds a row; missing cells are empty, and excess cells are dropped.
    pub(crate) fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns, String::new());
        self.rows.push(cells);
    }

    /// Formats the table as Markdown, with aligned columns.
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.columns).map(|column| self.width(column)).collect();
        let mut lines = self.rows.iter().map(|row| line(row, &widths));
        let dashes = widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>();
        let rule = format!("|{}|", dashes.join("|"));
        let heading = lines.next().into_iter();
        heading.chain([rule]).chain(lines).map(|line| line + "\n").collect()
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| escaped(cell).chars().count()).max().unwrap_or_default()
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| {
        let cell = escaped(cell);
        let missing = width.saturating_sub(cell.chars().count());
        format!(" {cell}{} |", " ".repeat(missing))
    });
    std::iter::once("|".to_owned()).chain(padded).collect()
}

/// Escapes characters that would end a cell early.
fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["Figure", "ms"]);
        table.row(vec!["p50".to_owned(), "0.125 µs".to_owned()]);

        let text = table.render();

        assert_eq!(text, "| Figure | ms       |\n|--------|----------|\n| p50    | 0.125 µs |\n");
    }

    #[test]
    fn a_row_has_as_many_cells_as_there_are_headings() {
        let mut table = Table::new(["a", "b"]);
        table.row(vec!["1".to_owned()]);
        table.row(["2", "3", "4"].map(str::to_owned).to_vec());

        let text = table.render();

        assert_eq!(text, "| a | b |\n|---|---|\n| 1 |   |\n| 2 | 3 |\n");
    }

    #[test]
    fn a_cell_cannot_break_the_table() {
        let mut table = Table::new(["a"]);
        table.row(vec!["x|y\nz".to_owned()]);

        let text = table.render();

        assert_eq!(text, "| a      |\n|--------|\n| x\\|y z |\n");
    }
}
