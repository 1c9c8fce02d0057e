//! Styles of paragraphs, which say what is a heading or an item of a list.
//!
//! A style may be based on others, which are searched in turn, up to a depth: a file
//! may contain a cycle.

use std::collections::HashMap;

use pia_knowledge::ExtractError;

use crate::xml::{Piece, Xml};

/// Maximum number of styles that build upon each other.
const MAX_DEPTH: usize = 10;

/// Styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles(HashMap<String, Style>);

impl Styles {
    /// Reads the part with the styles.
    pub(super) fn read(text: &str) -> Result<Self, ExtractError> {
        let mut xml = Xml::new(text);
        let mut styles = HashMap::new();
        let mut current: Option<(String, Style)> = None;
        while let Some(piece) = xml.next()? {
            match piece {
                Piece::Start(tag) if tag.name() == "style" => {
                    current = tag.attribute("styleId").map(|id| (id, Style::default()));
                }
                Piece::Start(tag) => {
                    let Some((_, style)) = &mut current else { continue };
                    let value = || tag.attribute("val");
                    match tag.name() {
                        "name" => style.name = value().unwrap_or_default().to_lowercase(),
                        "basedOn" => style.based_on = value(),
                        "outlineLvl" => style.level = outline_level(value().as_deref()),
                        "numPr" => style.is_list = true,
                        _ => {}
                    }
                }
                Piece::End(name) if name == "style" => styles.extend(current.take()),
                Piece::End(_) | Piece::Text(_) => {}
            }
        }

        Ok(Self(styles))
    }

    /// Returns the level of a heading in a style; `None` if it is no heading.
    pub(super) fn level(&self, id: &str) -> Option<usize> {
        self.chain(id).find_map(Style::heading)
    }

    /// Returns whether paragraphs in a style are items of a list.
    pub(super) fn is_list(&self, id: &str) -> bool {
        self.chain(id).any(|it| it.is_list)
    }

    /// Returns whether a style is of a table of contents, which repeats headings.
    pub(super) fn is_contents(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|it| it.name.starts_with("toc "))
    }

    /// Returns a style and those that it is based upon.
    fn chain(&self, id: &str) -> impl Iterator<Item = &Style> {
        let first = self.0.get(id);
        let next = |style: &&Style| style.based_on.as_ref().and_then(|base| self.0.get(base));
        std::iter::successors(first, next).take(MAX_DEPTH)
    }
}

/// Style of paragraphs.
#[derive(Debug, Default)]
struct Style {
    /// Name in lower case, such as `heading 1`.
    name: String,
    /// Id of the style that it extends.
    based_on: Option<String>,
    /// Level of a heading, from 1.
    level: Option<usize>,
    is_list: bool,
}

impl Style {
    /// Returns the level of the heading; `None` if it is no heading.
    fn heading(&self) -> Option<usize> {
        let named = self.name.strip_prefix("heading ").and_then(|it| it.trim().parse().ok());
        named.or((self.name == "title").then_some(1)).or(self.level)
    }
}

/// Returns the level of a heading, from 1, of an outline level, from 0; `None` for
/// text, whose outline level is 9.
pub(super) fn outline_level(value: Option<&str>) -> Option<usize> {
    let level: usize = value?.parse().ok()?;
    (level < 9).then_some(level + 1)
}
