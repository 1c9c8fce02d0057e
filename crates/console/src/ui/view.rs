//! Content of a page.
//!
//! `View::new(title).section(Section::new("id", heading).form(form))`. A section's id
//! is the fragment of its address and the prefix of the ids of its controls, so it
//! must be unique on the page.

use super::chart::Chart;
use super::form::{Field, FieldControl, Form};
use super::table::{Search, Table};
use super::text::ErrorText;

/// Interval at which work in progress is refreshed.
const WORK_SECONDS: u32 = 5;
/// Interval at which numbers are refreshed.
const NUMBERS_SECONDS: u32 = 30;

/// Content of a page: a title and sections.
#[derive(Default)]
pub(crate) struct View {
    /// Title, also of the browser's tab.
    pub(crate) title: String,
    /// Introduction; empty for none.
    pub(crate) intro: String,
    /// Pages above this one, outermost first.
    pub(crate) trail: Vec<Link>,
    /// Links beside the title.
    pub(crate) actions: Vec<Link>,
    /// Result of the form that led here.
    pub(crate) notice: Option<Notice>,
    /// Sections in order.
    pub(crate) sections: Vec<Section>,
}

/// Link to a page of this server.
pub(crate) struct Link {
    pub(crate) label: String,
    /// Path without the leading slash: `admin/groups`.
    pub(crate) path: String,
}

/// Message above a page.
pub(crate) struct Notice {
    pub(crate) text: String,
    /// English message after the text; empty for none.
    pub(crate) quote: String,
    /// True for an error.
    pub(crate) is_error: bool,
    /// Page that helps with it.
    pub(crate) link: Option<Link>,
}

/// Section of a page.
pub(crate) struct Section {
    /// Id, for links: `members`.
    pub(crate) id: &'static str,
    /// Heading; empty for none.
    pub(crate) title: String,
    /// Introduction; empty for none.
    pub(crate) intro: String,
    /// Contents in order.
    pub(crate) parts: Vec<SectionPart>,
    /// Interval at which the script refreshes it; `None` if it does not.
    pub(crate) live_seconds: Option<u32>,
}

/// Content of a section.
pub(crate) enum SectionPart {
    /// Pairs of a label and a value.
    Facts(Vec<Fact>),
    Table(Box<Table>),
    Form(Box<Form>),
    /// Chart with its numbers.
    Chart(Chart),
    Paragraph(String),
    /// Text in lines, such as a document.
    Code(String),
    /// Value that is displayed once, to be copied, with its label.
    Secret(String, String),
    /// Picture as a `data:` URI, with its alternative text.
    Picture(String, String),
    Links(Vec<Link>),
    /// Link to the next step, as a button.
    Next(Link),
    /// Choice of one of several forms of the page, with its label.
    Tabs(String, Vec<Tab>),
    /// Search without a table.
    Search(Box<Search>),
}

/// Form of a page that can be chosen.
pub(crate) struct Tab {
    /// Link to the page in this form.
    pub(crate) link: Link,
    /// True if the page has this form.
    pub(crate) is_current: bool,
}

/// Pair of a label and a value.
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: super::Cell,
}

impl Notice {
    /// Creates a message that is no error.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), quote: String::new(), is_error: false, link: None }
    }
}

impl View {
    /// Creates a page with a title.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Sets the introduction.
    pub(crate) fn intro(self, intro: impl Into<String>) -> Self {
        Self { intro: intro.into(), ..self }
    }

    /// Adds a page above this one.
    pub(crate) fn below(mut self, label: impl Into<String>, path: impl Into<String>) -> Self {
        self.trail.push(Link { label: label.into(), path: path.into() });
        self
    }

    /// Adds a link beside the title.
    pub(crate) fn action(mut self, label: impl Into<String>, path: impl Into<String>) -> Self {
        self.actions.push(Link { label: label.into(), path: path.into() });
        self
    }

    /// Adds a section.
    pub(crate) fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Sets an error above the page.
    pub(crate) fn error(self, text: impl Into<String>) -> Self {
        self.refused(ErrorText::new(text))
    }

    /// Sets the text of an error above the page.
    pub(crate) fn refused(mut self, error: ErrorText) -> Self {
        let ErrorText { text, quote } = error;
        self.notice = Some(Notice { text, quote, is_error: true, link: None });
        self
    }

    /// Adds a link to the message above the page.
    pub(crate) fn notice_link(mut self, link: Option<Link>) -> Self {
        if let Some(notice) = &mut self.notice {
            notice.link = link;
        }
        self
    }

    /// Returns the forms of the sections, without those of the rows of tables.
    pub(crate) fn forms_mut(&mut self) -> impl Iterator<Item = &mut Form> {
        let parts = self.sections.iter_mut().flat_map(|it| &mut it.parts);
        parts.filter_map(|part| match part {
            SectionPart::Form(form) => Some(&mut **form),
            _ => None,
        })
    }

    /// Returns the fields of these forms that have a visible control.
    pub(crate) fn displayed_fields_mut(&mut self) -> impl Iterator<Item = &mut Field> {
        let fields = self.forms_mut().flat_map(|it| &mut it.fields);
        fields.filter(|it| !matches!(it.control, FieldControl::Hidden(_)))
    }

    /// Returns the fields with an error, with the ids of their controls.
    pub(crate) fn refused_fields(&self) -> Vec<(String, &Field)> {
        let mut fields = Vec::new();
        for section in &self.sections {
            for part in &section.parts {
                if let SectionPart::Form(form) = part {
                    let refused = form.fields.iter().filter(|it| !it.error.is_empty());
                    fields.extend(refused.map(|it| (it.control_id(section.id), it)));
                }
            }
        }
        fields
    }
}

impl Section {
    /// Creates a section with a heading.
    pub(crate) fn new(id: &'static str, title: impl Into<String>) -> Self {
        let title = title.into();
        Self { id, title, intro: String::new(), parts: Vec::new(), live_seconds: None }
    }

    /// Lets the script refresh it while work is in progress.
    pub(crate) fn live(self, is_live: bool) -> Self {
        Self { live_seconds: is_live.then_some(WORK_SECONDS), ..self }
    }

    /// Lets the script refresh its numbers.
    pub(crate) fn live_numbers(self) -> Self {
        Self { live_seconds: Some(NUMBERS_SECONDS), ..self }
    }

    /// Sets the introduction.
    pub(crate) fn intro(self, intro: impl Into<String>) -> Self {
        Self { intro: intro.into(), ..self }
    }

    /// Adds a part.
    pub(crate) fn part(mut self, part: SectionPart) -> Self {
        self.parts.push(part);
        self
    }

    /// Adds pairs of a label and a value.
    pub(crate) fn facts<L: Into<String>>(
        self,
        facts: impl IntoIterator<Item = (L, super::Cell)>,
    ) -> Self {
        let facts =
            facts.into_iter().map(|(label, value)| Fact { label: label.into(), value }).collect();
        self.part(SectionPart::Facts(facts))
    }

    /// Adds a table.
    pub(crate) fn table(self, table: Table) -> Self {
        self.part(SectionPart::Table(Box::new(table)))
    }

    /// Adds a form. Labels that repeat the heading are for screen readers only.
    pub(crate) fn form(self, mut form: Form) -> Self {
        for field in &mut form.fields {
            field.is_label_hidden = field.label == self.title;
        }
        self.part(SectionPart::Form(Box::new(form)))
    }

    /// Adds links.
    pub(crate) fn links(self, links: Vec<Link>) -> Self {
        self.part(SectionPart::Links(links))
    }

    /// Adds a text in lines.
    pub(crate) fn code(self, text: impl Into<String>) -> Self {
        self.part(SectionPart::Code(text.into()))
    }

    /// Adds a paragraph.
    pub(crate) fn paragraph(self, text: impl Into<String>) -> Self {
        self.part(SectionPart::Paragraph(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_repeats_the_heading_is_hidden() {
        let form = Form::new("admin/groups", "Save changes")
            .field(Field::text("groups", "Groups", ""))
            .field(Field::text("name", "Name", ""));

        let mut view = View::new("Sales").section(Section::new("groups", "Groups").form(form));
        let fields = view.forms_mut().flat_map(|it| &it.fields);
        let hidden_labels: Vec<_> =
            fields.filter(|it| it.is_label_hidden).map(|it| it.label.as_str()).collect();

        assert_eq!(hidden_labels, ["Groups"]);
    }
}
