//! Paragraphs that are being read, filled and written by `body.rs`.

use pia_knowledge::ExtractError;

use super::styles::{Styles, outline_level};
use crate::markdown::Markdown;
use crate::xml::Tag;

/// Paragraph that is being read.
#[derive(Debug, Default)]
pub(super) struct Paragraph {
    pub(super) text: String,
    /// Id of its style.
    style: Option<String>,
    /// Level of the heading that it is, from 1, whatever its style says.
    level: Option<usize>,
    /// Level of the list that it is an item of, from 0.
    item: Option<usize>,
}

impl Paragraph {
    /// Applies a child element: a property of the paragraph, or a part of its text.
    pub(super) fn describe(&mut self, tag: &Tag<'_>) {
        let value = || tag.attribute("val");

        match tag.name() {
            "pStyle" => self.style = value(),
            "outlineLvl" => self.level = outline_level(value().as_deref()),
            "ilvl" => self.item = value().and_then(|it| it.parse().ok()),
            "numId" if value().as_deref() == Some("0") => self.item = None,
            "numId" => self.item = self.item.or(Some(0)),
            "tab" if !self.text.is_empty() => self.text.push(' '),
            "br" | "cr" => self.text.push('\n'),
            "noBreakHyphen" => self.text.push('-'),
            _ => {}
        }
    }

    /// Writes the paragraph.
    pub(super) fn write(&self, styles: &Styles, out: &mut Markdown) -> Result<(), ExtractError> {
        let style = self.style.as_deref().unwrap_or_default();
        if self.text.trim().is_empty() || styles.is_contents(style) {
            return Ok(());
        }
        if let Some(level) = self.level.or_else(|| styles.level(style)) {
            return out.heading(level, &self.text);
        }
        match self.item.or_else(|| styles.is_list(style).then_some(0)) {
            Some(level) => out.item(level, &self.text),
            None => out.paragraph(&self.text),
        }
    }
}
