//! Files of the tests.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use pia_extraction::extract_here;
use pia_knowledge::{ContentType, ExtractError};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Relationship of a document with its main part.
const RELATIONSHIPS: &str = r#"<Relationships><Relationship Id="r1" Type="x/officeDocument" Target="word/document.xml"/></Relationships>"#;

/// Reads a file.
pub(crate) fn file(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    std::fs::read(folder.join(name)).unwrap()
}

/// Extracts the text of a file in this process.
pub(crate) fn text_of(content_type: ContentType, name: &str) -> String {
    let text = extract_here(content_type, &file(name)).unwrap();
    assert!(text.is_markdown);
    text.text
}

/// Extracts Markdown of bytes in this process.
pub(crate) fn markdown(content_type: ContentType, bytes: &[u8]) -> String {
    extract_here(content_type, bytes).unwrap().text
}

/// Returns the reason why bytes have no text.
pub(crate) fn error(content_type: ContentType, bytes: &[u8]) -> ExtractError {
    extract_here(content_type, bytes).expect_err("should have no text")
}

/// Returns an archive.
pub(crate) fn archive<'a>(entries: impl IntoIterator<Item = (String, &'a [u8])>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns a Word document with this main part.
pub(crate) fn docx(document: &[u8]) -> Vec<u8> {
    archive([
        ("_rels/.rels".to_owned(), RELATIONSHIPS.as_bytes()),
        ("word/document.xml".to_owned(), document),
    ])
}

/// Returns a PDF of one page with further entries, this content, and a font `F`.
pub(crate) fn pdf(page: &str, content: &str) -> Vec<u8> {
    pdf_with_font(page, content, "5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj")
}

/// Returns a PDF of one page with further entries, this content, and object 5 as
/// the font `F`.
pub(crate) fn pdf_with_font(page: &str, content: &str, font: &str) -> Vec<u8> {
    let length = content.len();
    format!(
        "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
        2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj\n\
        3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]{page}/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj\n\
        4 0 obj <</Length {length}>> stream\n{content}\nendstream endobj\n\
        {font}\ntrailer <</Root 1 0 R>>"
    )
    .into_bytes()
}
