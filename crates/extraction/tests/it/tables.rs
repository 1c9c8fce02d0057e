//! Tables of values, and workbooks.

use std::fmt::Write;

use pia_knowledge::{ContentType, ExtractError};

use crate::fixtures::{error, markdown, text_of};

#[test]
fn a_table_of_a_spreadsheet_in_its_own_encoding_is_read() {
    let expected = "| Stadt | Höchstbetrag | Bemerkung |\n\
        |---|---|---|\n\
        | München | 150,50 | mit \"Frühstück\" |\n\
        | Zürich | 210 | |";
    assert_eq!(text_of(ContentType::Csv, "policy.csv"), expected);
}

#[test]
fn a_delimiter_is_named_or_found() {
    for table in
        ["a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "sep=|\na|b\n1|2\n", "\u{feff}a,b\r\n1,2"]
    {
        let text = markdown(ContentType::Csv, table.as_bytes());
        assert_eq!(text, "| a | b |\n|---|---|\n| 1 | 2 |", "{table}");
    }
}

#[test]
fn what_is_no_table_but_bytes_is_damaged() {
    assert_eq!(error(ContentType::Csv, b"\x1f\x8b\x08\x00a,b\n1,2"), ExtractError::Damaged);
    let utf16 = "\u{feff}a,b\n1,2".encode_utf16().flat_map(u16::to_le_bytes);
    let text = markdown(ContentType::Csv, &utf16.collect::<Vec<_>>());
    assert_eq!(text, "| a | b |\n|---|---|\n| 1 | 2 |");
}

#[test]
fn each_part_of_a_long_table_has_the_header() {
    let mut table = "Nummer,Bezeichnung\n".to_owned();
    for number in 0..500 {
        writeln!(table, "{number},Ein Artikel mit der Nummer {number}").unwrap();
    }

    let text = markdown(ContentType::Csv, table.as_bytes());

    let parts: Vec<&str> = text.split("\n\n").collect();
    assert!(parts.len() > 10);
    for part in parts {
        assert!(part.starts_with("| Nummer | Bezeichnung |\n|---|---|\n|"));
        assert!(part.len() <= 1_100, "{}", part.len());
    }
    assert!(text.ends_with("| 499 | Ein Artikel mit der Nummer 499 |"));
}

#[test]
fn a_workbook_has_its_visible_sheets_with_titles_and_dates() {
    let expected = "## Höchstbeträge\n\n\
        Beträge 2025\n\n\
        | Stadt | Betrag | Gültig ab | Anteil |\n\
        |---|---|---|---|\n\
        | München | 150.5 | 2025-01-31 | 0.1 |\n\
        | Zürich | 210 | 2025-02-01 08:30:00 | |\n\n\
        ## Zweites\n\n\
        | Währung |\n|---|\n| € \\| CHF |";
    assert_eq!(text_of(ContentType::Xlsx, "policy.xlsx"), expected);
}
