//! Elements that are open, and the rules by which tags close them.
//!
//! A simplified form of the rules of HTML, without a tree. `closed_before` and
//! `closed_by` return how many elements a tag closes; the converter closes them one
//! by one, so that each can write its end.

/// Maximum number of elements whose nesting is known. Deeper elements count as text
/// of the innermost known one, as in browsers.
const MAX_DEPTH: usize = 512;

/// Element that is open.
#[derive(Debug)]
pub(super) struct Element {
    /// Name of its tag, in lower case.
    pub(super) name: String,
    /// True if the element is not shown.
    pub(super) is_hidden: bool,
}

/// Elements that are open, the outermost first.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    elements: Vec<Element>,
    /// Number of open elements that are nested too deeply to be known.
    unknown: usize,
    /// Number of known elements that are not shown.
    hidden: usize,
}

/// Nesting of an element that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    /// Element is known until it is closed.
    Known,
    /// Element is nested too deeply to be known.
    TooDeep,
}

impl OpenElements {
    /// Opens an element.
    pub(super) fn push(&mut self, name: &str, is_hidden: bool) -> Nesting {
        if self.elements.len() >= MAX_DEPTH {
            self.unknown += 1;
            return Nesting::TooDeep;
        }

        self.hidden += usize::from(is_hidden);
        self.elements.push(Element { name: name.to_owned(), is_hidden });
        Nesting::Known
    }

    /// Closes the innermost element.
    pub(super) fn pop(&mut self) -> Option<Element> {
        let element = self.elements.pop()?;
        self.hidden -= usize::from(element.is_hidden);
        Some(element)
    }

    /// Returns whether no known element is open.
    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns whether text is not shown here.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden > 0
    }

    /// Returns the number of elements that an end tag closes. Only an end tag of a
    /// table closes a cell.
    pub(super) fn closed_by(&mut self, name: &str) -> usize {
        if self.unknown > 0 {
            self.unknown -= 1;
            return 0;
        }
        let boundary: &[&str] = if is_of_table(name) { &["table"] } else { CELLS };
        self.distance(&[name], boundary)
    }

    /// Returns the number of elements that a start tag closes because their end tags
    /// were omitted.
    pub(super) fn closed_before(&self, name: &str, is_block: bool) -> usize {
        match name {
            "li" => self.distance(&["li"], &["ul", "ol", "table", "td", "th"]),
            "dt" | "dd" => self.distance(&["dt", "dd"], &["dl", "table", "td", "th"]),
            "td" | "th" => self.distance(&["td", "th"], &["tr", "table"]),
            "tr" => self.distance(&["tr"], &["table"]),
            "thead" | "tbody" | "tfoot" => {
                self.distance(&["thead", "tbody", "tfoot", "caption"], &["table"])
            }
            _ if is_block => usize::from(self.elements.last().is_some_and(|it| it.name == "p")),
            _ => 0,
        }
    }

    /// Returns the number of elements up to the innermost one with a name; zero
    /// if a boundary is in between.
    fn distance(&self, names: &[&str], boundary: &[&str]) -> usize {
        for (distance, element) in self.elements.iter().rev().enumerate() {
            if names.contains(&element.name.as_str()) {
                return distance + 1;
            }
            if boundary.contains(&element.name.as_str()) {
                return 0;
            }
        }
        0
    }
}

/// Elements that end tags of others do not close.
const CELLS: &[&str] = &["td", "th", "caption", "table"];

fn is_of_table(name: &str) -> bool {
    CELLS.contains(&name) || matches!(name, "tr" | "thead" | "tbody" | "tfoot")
}
