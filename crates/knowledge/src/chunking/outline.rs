//! Headings of a Markdown text.
//!
//! Headings are stored in the order of the text, each with the index of its parent,
//! so that positions are found by binary search. Fenced code that looks like a
//! heading is none, since a parser of Markdown finds them.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// Maximum length of the headings above a chunk, in bytes.
const MAX_PATH_BYTES: usize = 500;
/// Separator between the headings of a path.
const SEPARATOR: &str = " › ";

/// Headings of a Markdown text, by position.
#[derive(Default)]
pub(super) struct Outline(Vec<Heading>);

impl Outline {
    /// Parses the headings of a text.
    pub(super) fn parse(text: &str) -> Self {
        let mut outline = Self::default();
        let mut current = None;
        // Otherwise the front matter of a page would be a heading.
        let parser = Parser::new_ext(text, Options::ENABLE_YAML_STYLE_METADATA_BLOCKS);
        for (event, Range { start, end }) in parser.into_offset_iter() {
            match (event, &mut current) {
                (Event::Start(Tag::Heading { level, .. }), _) => {
                    current = Some((start, level, String::new()));
                }
                (Event::Text(words) | Event::Code(words), Some((_, _, title))) => {
                    let end = words.floor_char_boundary(MAX_PATH_BYTES.saturating_sub(title.len()));
                    title.push_str(words.get(..end).unwrap_or_default());
                }
                (Event::SoftBreak | Event::HardBreak, Some((_, _, title))) => title.push(' '),
                (Event::End(TagEnd::Heading(_)), _) => {
                    if let Some((at, level, title)) = current.take() {
                        outline.add(at..end, level, title);
                    }
                }
                _ => {}
            }
        }

        outline
    }

    fn add(&mut self, Range { start: at, end }: Range<usize>, level: HeadingLevel, title: String) {
        let mut parent = self.0.len().checked_sub(1);
        while let Some(heading) = parent.and_then(|it| self.0.get(it)) {
            if heading.level < level {
                break;
            }
            parent = heading.parent;
        }
        self.0.push(Heading { at, end, level, title, parent });
    }

    /// Returns the innermost heading above a chunk at a position. A chunk whose
    /// first line is a heading is below that heading.
    pub(super) fn section(&self, at: usize, chunk: &str) -> Option<usize> {
        let trimmed = chunk.trim_start();
        let line_start = at + chunk.len() - trimmed.len();
        let line_end = line_start + trimmed.find('\n').unwrap_or(trimmed.len());
        self.0.partition_point(|it| it.at < line_end).checked_sub(1)
    }

    /// Returns a heading and those that it is below, the outermost first.
    fn above(&self, section: Option<usize>) -> Vec<&Heading> {
        let mut above = Vec::new();
        let mut section = section;
        while let Some(heading) = section.and_then(|it| self.0.get(it)) {
            above.push(heading);
            section = heading.parent;
        }
        above.reverse();
        above
    }

    /// Returns the headings after that of a section, up to a position.
    fn below(&self, section: Option<usize>, end: usize) -> Range<usize> {
        section.map_or(0, |it| it + 1)..self.0.partition_point(|it| it.at < end)
    }

    /// Returns the position at which a section ends before `end`, if it begins
    /// before `start`.
    pub(super) fn end_of(&self, section: Option<usize>, start: usize, end: usize) -> Option<usize> {
        let heading = self.0.get(section?).filter(|it| it.at < start)?;
        let next = self.0.get(self.below(section, end))?;
        next.iter().find(|it| it.level <= heading.level).map(|it| it.at)
    }

    /// Returns the titles of the headings that a section shares with all that
    /// follow it up to a position.
    pub(super) fn path(&self, section: Option<usize>, end: usize) -> String {
        let mut common = self.above(section);
        for next in self.below(section, end) {
            let headings = self.above(Some(next));
            let shared = common.iter().zip(&headings).take_while(|(a, b)| a.at == b.at);
            let shared_count = shared.count();
            common.truncate(shared_count);
        }
        let titles: Vec<&str> = common.iter().map(|it| it.title.trim()).collect();
        let mut path = titles.join(SEPARATOR);
        path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
        path
    }

    /// Returns the positions of the headings that are below none, except after a
    /// heading without a text.
    pub(super) fn part_starts(&self, text: &str) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, heading)| heading.parent.is_none())
            .filter(move |(index, heading)| self.has_text_before(*index, heading, text))
            .map(|(_, heading)| heading.at)
    }

    /// Returns whether there is a text between a heading and the one before it.
    fn has_text_before(&self, index: usize, heading: &Heading, text: &str) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.0.get(before));
        let start = before.map_or(0, |it| it.end);
        text.get(start..heading.at).is_some_and(|between| !between.trim().is_empty())
    }

    /// Returns the position of the last heading after one position and not after
    /// another.
    pub(super) fn last_between(&self, after: usize, until: usize) -> Option<usize> {
        let end = self.0.partition_point(|it| it.at <= until);
        let last = self.0.get(end.checked_sub(1)?)?;
        (last.at > after).then_some(last.at)
    }
}

/// Heading of a text.
struct Heading {
    /// Offset of its first byte in the text.
    at: usize,
    /// Offset after its last byte.
    end: usize,
    level: HeadingLevel,
    title: String,
    /// Index of the heading that it is below.
    parent: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let outline = Outline::parse(text);
        (0..outline.0.len()).map(|it| outline.path(Some(it), 0)).collect()
    }

    #[test]
    fn a_heading_is_below_those_of_higher_levels() {
        let found_paths = paths("# A\n\n### B\n\n## C\n\n### D `e`\n\n# F\n");

        assert_eq!(found_paths, ["A", "A › B", "A › C", "A › C › D e", "F"]);
    }

    #[test]
    fn the_front_matter_of_a_page_is_no_heading() {
        assert_eq!(paths("---\ntitle: Travel\n---\n\n# Rail\n"), ["Rail"]);
    }

    #[test]
    fn the_lines_of_a_heading_are_words_apart() {
        assert_eq!(paths("Travel\npolicy\n===\n"), ["Travel policy"]);
    }

    #[test]
    fn long_headings_are_shortened() {
        let found_paths =
            paths(&format!("# {}\n\n## {}\n", "ä".repeat(10_000), "b".repeat(10_000)));

        assert!(found_paths.iter().all(|it| it.len() <= MAX_PATH_BYTES));
    }
}
