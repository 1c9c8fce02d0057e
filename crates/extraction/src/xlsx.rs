//! Workbooks of Excel, with the parser of the crate `calamine`.
//!
//! The archive is inflated once before, only to enforce the limits of `archive.rs`:
//! the parser inflates it on its own.

use std::io::Cursor;

use calamine::{
    DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Xlsx, XlsxError, open_workbook_from_rs,
};
use pia_knowledge::ExtractError;

use crate::archive::Archive;
use crate::markdown::Markdown;
use crate::table::{Row, Table};

/// Workbook that is being read.
type Workbook<'a> = Xlsx<Cursor<&'a [u8]>>;

/// Converts the visible sheets of a workbook into Markdown. Formulas are their
/// values.
pub(crate) fn to_markdown(bytes: &[u8]) -> Result<String, ExtractError> {
    Archive::open(bytes)?.check_all()?;
    let mut workbook: Workbook<'_> =
        open_workbook_from_rs(Cursor::new(bytes)).map_err(|error| reason(&error))?;
    let names: Vec<String> = workbook
        .sheets_metadata()
        .iter()
        .filter(|it| it.typ == SheetType::WorkSheet && it.visible == SheetVisible::Visible)
        .map(|it| it.name.clone())
        .collect();
    let mut out = Markdown::default();
    for name in names {
        out.heading(2, &name)?;
        write_sheet(&mut workbook, &name, &mut out)?;
    }

    Ok(out.finish())
}

/// Writes the rows of a sheet. They are read cell by cell: a sheet may say that
/// it is larger than memory.
fn write_sheet(
    workbook: &mut Workbook<'_>,
    name: &str,
    out: &mut Markdown,
) -> Result<(), ExtractError> {
    let mut cells = workbook.worksheet_cells_reader(name).map_err(|error| reason(&error))?;
    let mut table = Table::default();
    let mut row = Row::default();
    let mut row_number = 0;
    while let Some(cell) = cells.next_cell().map_err(|error| reason(&error))? {
        let (number, column) = cell.get_position();
        if number != row_number {
            table.row(std::mem::take(&mut row), out)?;
            if number > row_number + 1 {
                table.gap(out)?;
            }
            row_number = number;
        }

        if let Some(text) = text_of(cell.get_value()) {
            row.push_at(column as usize, &text)?;
        }
    }

    table.row(row, out)?;

    table.finish(out)
}

/// Returns the text of a cell; `None` if it is empty or an error.
fn text_of(value: &DataRef<'_>) -> Option<String> {
    match value {
        DataRef::Empty | DataRef::Error(_) => None,
        DataRef::Int(it) => Some(it.to_string()),
        DataRef::Float(it) => Some(number(*it)),
        DataRef::Bool(it) => Some(it.to_string()),
        DataRef::SharedString(it) => Some((*it).to_owned()),
        DataRef::String(it) | DataRef::DateTimeIso(it) | DataRef::DurationIso(it) => {
            Some(it.clone())
        }
        DataRef::DateTime(it) => Some(date(*it)),
    }
}

/// Returns a number without the error of its binary form.
fn number(value: f64) -> String {
    let rounded = if value.abs() < 1e6 { (value * 1e9).round() / 1e9 } else { value };
    rounded.to_string()
}

/// Returns a date, a time, or both.
fn date(value: ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = value.to_ymd_hms_milli();
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    let days = value.as_f64();
    if value.is_duration() {
        return number(days * 24.0) + " h";
    }
    if days < 1.0 {
        return time;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if time == "00:00:00" { date } else { format!("{date} {time}") }
}

/// Returns the reason why a workbook cannot be read.
fn reason(error: &XlsxError) -> ExtractError {
    match error {
        XlsxError::Password => ExtractError::Encrypted,
        _ => ExtractError::Damaged,
    }
}
