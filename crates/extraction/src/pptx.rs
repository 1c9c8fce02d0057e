//! Presentations (Office Open XML).
//!
//! Slides are written in the order of the presentation, each with its diagrams and
//! then its notes.

mod slide;

use pia_knowledge::ExtractError;

use self::slide::Slide;
use crate::archive::Archive;
use crate::markdown::Markdown;
use crate::relationships::Relationships;
use crate::xml::{Piece, Xml};

/// Converts a presentation into Markdown, with the diagrams and the notes of its
/// slides.
pub(crate) fn to_markdown(bytes: &[u8]) -> Result<String, ExtractError> {
    let mut archive = Archive::open(bytes)?;
    let root = Relationships::read(&mut archive, "")?;
    let presentation_path =
        root.of_kind("/officeDocument").unwrap_or("ppt/presentation.xml").to_owned();
    let text = archive.read(&presentation_path)?.ok_or(ExtractError::Damaged)?;
    let slide_ids = read_slide_ids(&text)?;
    let parts = Relationships::read(&mut archive, &presentation_path)?;
    let mut out = Markdown::default();
    for (index, id) in slide_ids.iter().enumerate() {
        let Some(part) = parts.part(id) else { continue };

        let slide_text = archive.read(part)?.ok_or(ExtractError::Damaged)?;
        let mut slide = Slide::read(&slide_text)?;
        let related = Relationships::read(&mut archive, part)?;
        for diagram in related.all_of_kind("/diagramData") {
            if let Some(diagram) = archive.read(diagram)? {
                slide.read_diagram(&diagram)?;
            }
        }

        slide.write(index + 1, &mut out)?;
        let Some(notes_path) = related.of_kind("/notesSlide") else { continue };

        if let Some(notes) = archive.read(notes_path)? {
            out.paragraph(&Slide::read(&notes)?.notes())?;
        }
    }

    Ok(out.finish())
}

/// Returns the relationships of the slides, in their order.
fn read_slide_ids(text: &str) -> Result<Vec<String>, ExtractError> {
    let mut xml = Xml::new(text);
    let mut slide_ids = Vec::new();
    let mut is_presentation = false;
    while let Some(piece) = xml.next()? {
        let Piece::Start(tag) = piece else { continue };
        is_presentation |= tag.name() == "presentation";
        if tag.name() == "sldId" {
            slide_ids.extend(tag.relationship());
        }
    }
    if is_presentation { Ok(slide_ids) } else { Err(ExtractError::Damaged) }
}
