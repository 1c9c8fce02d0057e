//! Relationships between the parts of a document.
//!
//! A part `word/document.xml` has its relationships in `word/_rels/document.xml.rels`.
//! Each has an id, by which the part refers to it, and a kind, which is a URL.

use pia_knowledge::ExtractError;

use crate::archive::Archive;
use crate::xml::{Piece, Xml};

/// Relationships of one part.
#[derive(Debug, Default)]
pub(crate) struct Relationships(Vec<Relationship>);

impl Relationships {
    /// Reads the relationships of a part; the empty name stands for the document.
    pub(crate) fn read(archive: &mut Archive<'_>, part: &str) -> Result<Self, ExtractError> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let separator = if folder.is_empty() { "" } else { "/" };
        let path = format!("{folder}{separator}_rels/{name}.rels");
        let Some(text) = archive.read(&path)? else { return Ok(Self::default()) };

        let mut xml = Xml::new(&text);
        let mut relationships = Vec::new();
        while let Some(piece) = xml.next()? {
            let Piece::Start(tag) = piece else { continue };
            let values = (tag.attribute("Id"), tag.attribute("Type"), tag.attribute("Target"));
            if let (Some(id), Some(kind), Some(target)) = values {
                relationships.push(Relationship { id, kind, target: resolve(folder, &target) });
            }
        }

        Ok(Self(relationships))
    }

    /// Returns the path of the part that a relationship leads to.
    pub(crate) fn part(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|it| it.id == id).map(|it| it.target.as_str())
    }

    /// Returns the first part of a kind: `/styles` for the URL that ends with it.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<&str> {
        self.all_of_kind(kind).next()
    }

    /// Returns the parts of a kind.
    pub(crate) fn all_of_kind(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |it| it.kind.ends_with(kind)).map(|it| it.target.as_str())
    }
}

/// Relationship of a part with another one.
#[derive(Debug)]
struct Relationship {
    id: String,
    kind: String,
    target: String,
}

/// Returns the path of a target, which may be relative to a folder.
fn resolve(folder: &str, target: &str) -> String {
    if let Some(path) = target.strip_prefix('/') {
        return path.to_owned();
    }

    let mut path: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for step in target.split('/') {
        match step {
            ".." => drop(path.pop()),
            "." | "" => {}
            step => path.push(step),
        }
    }

    path.join("/")
}
