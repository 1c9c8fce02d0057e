//! Files that are made to exhaust who reads them.

use std::time::{Duration, Instant};

use pia_extraction::ChildLimits;
use pia_knowledge::{ContentType, ExtractError, TextExtractor};

use crate::children::extractor;
use crate::fixtures::{archive, docx, error, markdown, pdf_with_font};

/// Text of a file that cannot be expanded.
const DOCUMENT_TYPE: &str = r#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>"#;

const MIB: usize = 1024 * 1024;

/// Returns more bytes than an archive may inflate to.
fn blanks() -> Vec<u8> {
    vec![b' '; 101 * MIB]
}

#[test]
fn an_archive_that_inflates_to_too_much_is_too_complex() {
    let bytes = docx(&blanks());

    assert!(bytes.len() < MIB);
    assert_eq!(error(ContentType::Docx, &bytes), ExtractError::TooComplex);
    assert_eq!(error(ContentType::Xlsx, &bytes), ExtractError::TooComplex);
}

#[test]
fn an_archive_that_understates_its_sizes_inflates_no_further() {
    let document = blanks();
    let mut bytes = docx(&document);
    let size = u32::try_from(document.len()).unwrap().to_le_bytes();
    while let Some(position) = bytes.windows(4).position(|it| it == size) {
        bytes[position..position + 4].copy_from_slice(&1_000_u32.to_le_bytes());
    }

    let refusal = error(ContentType::Docx, &bytes);

    assert!(matches!(refusal, ExtractError::TooComplex | ExtractError::Damaged), "{refusal:?}");
}

/// Returns an archive whose entries are all the same bytes of it.
fn overlapping_archive(entries: u16) -> Vec<u8> {
    let zeros = vec![0; 4 * MIB];
    let mut bytes = archive([("0000".to_owned(), zeros.as_slice())]);
    let position = |mark: &[u8]| bytes.windows(4).position(|it| it == mark).unwrap();
    let start = position(b"PK\x01\x02");
    let end = position(b"PK\x05\x06");
    let mut tail = bytes.split_off(end);
    let mut record = bytes.split_off(start);
    for entry in 0..entries {
        drop(record.splice(46..50, format!("{entry:04}").into_bytes()));
        bytes.extend(&record);
    }
    let size = u32::try_from(record.len()).unwrap() * u32::from(entries);
    drop(tail.splice(8..12, [entries.to_le_bytes(), entries.to_le_bytes()].concat()));
    drop(tail.splice(12..16, size.to_le_bytes()));
    [bytes, tail].concat()
}

#[test]
fn an_archive_whose_entries_overlap_or_are_archives_inflates_no_further() {
    let overlapping = overlapping_archive(1_000);
    let nested = (0..10).fold(docx(b"<w:document/>"), |inner, _| docx(&inner));

    assert!(overlapping.len() < 100_000);
    let refusal = error(ContentType::Xlsx, &overlapping);
    assert!(matches!(refusal, ExtractError::TooComplex | ExtractError::Damaged), "{refusal:?}");
    assert_eq!(error(ContentType::Docx, &nested), ExtractError::Damaged);
}

#[test]
fn an_archive_of_too_many_entries_is_too_complex() {
    let empty: &[u8] = b"";
    let bytes = archive((0..10_001).map(|it| (it.to_string(), empty)));
    assert_eq!(error(ContentType::Docx, &bytes), ExtractError::TooComplex);
}

#[test]
fn entities_are_not_expanded() {
    let text = "<w:document><w:p><w:r><w:t>x&b;y&amp;&#228;</w:t></w:r></w:p></w:document>";
    let bytes = docx(format!("{DOCUMENT_TYPE}{text}").as_bytes());
    assert_eq!(error(ContentType::Docx, &bytes), ExtractError::Damaged);
    assert_eq!(markdown(ContentType::Docx, &docx(text.as_bytes())), "xy&ä");
}

#[test]
fn deeply_nested_elements_are_survived() {
    let start = Instant::now();

    for element in ["div", "table", "ul", "b", "td", "p hidden"] {
        let html = format!("<p>Anfang</p>{}Ende", format!("<{element}>").repeat(100_000));
        assert!(markdown(ContentType::Html, html.as_bytes()).contains("Anfang"));
    }
    for element in ["p", "tbl", "sdt"] {
        let start_tags = format!("<w:{element}>").repeat(100_000);
        let end_tags = format!("</w:{element}>").repeat(100_000);
        let document = format!(
            "<w:document><w:p><w:r><w:t>Text</w:t></w:r></w:p>{start_tags}{end_tags}</w:document>"
        );
        assert_eq!(markdown(ContentType::Docx, &docx(document.as_bytes())), "Text");
    }

    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_million_columns_are_too_complex() {
    let table = format!("a{}\nb", ",".repeat(1_000_000));
    assert_eq!(error(ContentType::Csv, table.as_bytes()), ExtractError::TooComplex);
}

#[test]
fn a_text_that_repeats_itself_without_end_is_too_complex() {
    let rows = "<row>".to_owned() + &r#"<c t="s"><v>0</v></c>"#.repeat(900) + "</row>";
    let sheet = format!("<worksheet><sheetData>{}</sheetData></worksheet>", rows.repeat(20));
    let text = "lang ".repeat(20_000);
    let strings = format!("<sst><si><t>{text}</t></si></sst>");
    let relationships = r#"<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#;
    let workbook = r#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>"#;
    let root = r#"<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    let parts = [
        ("_rels/.rels", root),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", relationships),
        ("xl/worksheets/sheet1.xml", &sheet),
        ("xl/sharedStrings.xml", &strings),
    ];
    let bytes = archive(parts.map(|(name, text)| (name.to_owned(), text.as_bytes())));

    assert!(bytes.len() < 100_000);
    assert_eq!(error(ContentType::Xlsx, &bytes), ExtractError::TooComplex);
}

#[test]
fn a_pdf_whose_objects_go_round_in_circles_ends() {
    let pdf = "%PDF-1.4\n\
        1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
        2 0 obj <</Type/Pages/Count 2/Kids[2 0 R 3 0 R]/Parent 2 0 R>> endobj\n\
        3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 4 0 R>>>>>> endobj\n\
        4 0 obj <</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 5 0 R/Resources<</XObject<</X 4 0 R>>>>>> stream\n/X Do\nendstream endobj\n\
        5 0 obj 5 0 R endobj\n\
        trailer <</Root 1 0 R/Size 4294967295/Prev 9>>\nstartxref\n9\n%%EOF";

    let refusal = error(ContentType::Pdf, pdf.as_bytes());

    assert!(matches!(refusal, ExtractError::NoText | ExtractError::Damaged), "{refusal:?}");
}

#[test]
fn a_pdf_of_deeply_nested_arrays_ends() {
    let pdf =
        format!("%PDF-1.4\n1 0 obj {} endobj\ntrailer <</Root 1 0 R>>", "[".repeat(1_000_000));
    assert_eq!(error(ContentType::Pdf, pdf.as_bytes()), ExtractError::Damaged);
}

#[test]
fn a_pdf_whose_objects_are_in_themselves_is_damaged() {
    let pdf = "%PDF-1.5\n6 0 obj <</Type/ObjStm/N 2/First 8/Extends 6 0 R/Length 45>> stream\n\
        6 0 1 6 6 0 R <</Type/Catalog/Pages 6 0 R>>  \nendstream endobj\ntrailer <</Root 1 0 R>>";
    assert_eq!(error(ContentType::Pdf, pdf.as_bytes()), ExtractError::Damaged);
}

/// Returns a PDF with a font of this many bytes that mean nothing.
fn pdf_of_damaged_font(kind: &str, len: usize) -> Vec<u8> {
    // Those of a font of `TrueType` at first, then a sequence without a pattern.
    let mut bytes = b"\0\x01\0\0\0\x04\0\x40\0\x02\0\0glyf".to_vec();
    let sequence = std::iter::successors(Some(1_u32), |it| {
        Some(it.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
    });
    bytes.extend(sequence.map(|it| it.to_be_bytes()[0]).take(len));
    let hex = bytes.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().concat();
    let length = hex.len() + 1;
    let font = format!(
        "5 0 obj <</Type/Font/Subtype/TrueType/BaseFont/X/FirstChar 0/LastChar 255/Widths[500]/FontDescriptor 6 0 R>> endobj\n\
        6 0 obj <</Type/FontDescriptor/FontName/X/Flags 32/{kind} 7 0 R>> endobj\n\
        7 0 obj <</Length {length}/Filter/ASCIIHexDecode>> stream\n{hex}>\nendstream endobj"
    );
    pdf_with_font("", "BT /F 12 Tf 50 700 Td (Text) Tj ET", &font)
}

#[tokio::test]
async fn a_child_survives_what_is_hostile_or_ends_within_its_limits() {
    let extractor = extractor(&[], ChildLimits::default());
    let start = Instant::now();

    let deep_page = format!("<p>Anfang</p>{}Ende", "<div>".repeat(100_000)).into_bytes();
    let text = extractor.extract(ContentType::Html, deep_page).await.unwrap();
    assert!(text.text.contains("Anfang"));

    let bomb = extractor.extract(ContentType::Xlsx, overlapping_archive(1_000)).await;
    assert!(matches!(bomb, Err(ExtractError::TooComplex | ExtractError::Damaged)), "{bomb:?}");

    for (kind, len) in [("FontFile2", 1_000), ("FontFile2", 1_000_000), ("FontFile3", 1_000)] {
        let font = extractor.extract(ContentType::Pdf, pdf_of_damaged_font(kind, len)).await;
        assert_ne!(font, Err(ExtractError::Unavailable), "{kind} {len}");
    }

    assert!(start.elapsed() < Duration::from_mins(1));
}
