//! Word documents (Office Open XML).
//!
//! Parts are found through their relationships (`relationships.rs`). Order:
//! the root part, its styles (`docx/styles.rs`), then the body, footnotes, endnotes
//! and diagrams, all through one `Body`.

mod body;
mod paragraph;
mod styles;

use pia_knowledge::ExtractError;

use self::body::Body;
use self::styles::Styles;
use crate::archive::Archive;
use crate::relationships::Relationships;
use crate::xml::{Piece, Xml};

/// Converts a document, its footnotes and its diagrams into Markdown.
pub(crate) fn to_markdown(bytes: &[u8]) -> Result<String, ExtractError> {
    let mut archive = Archive::open(bytes)?;
    let root = Relationships::read(&mut archive, "")?;
    let document_path = root.of_kind("/officeDocument").unwrap_or("word/document.xml").to_owned();
    let text = archive.read(&document_path)?.ok_or(ExtractError::Damaged)?;
    check_root(&text)?;
    let parts = Relationships::read(&mut archive, &document_path)?;
    let styles_text = match parts.of_kind("/styles") {
        Some(part) => archive.read(part)?,
        None => None,
    };
    let styles = Styles::read(styles_text.as_deref().unwrap_or_default())?;

    let mut body = Body::new(&styles);
    body.read(&text)?;

    for part in ["/footnotes", "/endnotes", "/diagramData"]
        .map(|it| parts.all_of_kind(it))
        .into_iter()
        .flatten()
    {
        if let Some(text) = archive.read(part)? {
            body.read(&text)?;
        }
    }

    Ok(body.finish())
}

/// Checks that a part is a Word document.
fn check_root(text: &str) -> Result<(), ExtractError> {
    let mut xml = Xml::new(text);
    while let Some(piece) = xml.next()? {
        if let Piece::Start(tag) = piece {
            let is_document = tag.name() == "document";
            return if is_document { Ok(()) } else { Err(ExtractError::Damaged) };
        }
    }
    Err(ExtractError::Damaged)
}
