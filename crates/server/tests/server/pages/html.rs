//! Links and forms of a page.

use std::collections::BTreeMap;

use html5gum::{StartTag, Token, Tokenizer};

/// Form of a page, with the values that it has when the page opens.
#[derive(Debug, Default)]
pub(super) struct PageForm {
    /// Target, relative to the page.
    pub(super) action: String,
    /// True if it uploads files.
    pub(super) has_files: bool,
    /// True if its button destroys something.
    pub(super) is_danger: bool,
    /// Names, kinds and values of its fields, without boxes that are not checked.
    pub(super) fields: Vec<(String, String, String)>,
}

/// Links, forms and elements of a page.
#[derive(Debug, Default)]
pub(super) struct PageParts {
    /// Targets of links, relative to the page.
    pub(super) links: Vec<String>,
    /// Targets of searches, relative to the page; empty for the page itself.
    pub(super) searches: Vec<String>,
    /// Forms that are posted.
    pub(super) forms: Vec<PageForm>,
    /// Names of all elements.
    pub(super) elements: Vec<String>,
}

impl PageParts {
    /// Parses a page of this server, whose elements are nested correctly.
    pub(super) fn parse(html: &str) -> Self {
        let mut parts = Self::default();
        let mut form: Option<PageForm> = None;
        for Ok(token) in Tokenizer::new(html) {
            match token {
                Token::StartTag(tag) => parts.open(&tag, &mut form),
                Token::EndTag(tag) if &**tag.name == b"form" => parts.forms.extend(form.take()),
                _ => (),
            }
        }
        parts
    }

    fn open(&mut self, tag: &StartTag<()>, form: &mut Option<PageForm>) {
        let attributes: BTreeMap<_, _> =
            tag.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
        let value = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        let element = text(&tag.name);
        match element.as_str() {
            "a" => self.links.push(value("href")),
            "form" if value("method") == "get" => self.searches.push(value("action")),
            "form" if value("method") == "post" => {
                let has_files = value("enctype") == "multipart/form-data";
                *form =
                    Some(PageForm { action: value("action"), has_files, ..PageForm::default() });
            }
            _ => {
                if let Some(form) = form {
                    form.add(&element, &attributes);
                }
            }
        }
        self.elements.push(element);
    }
}

impl PageForm {
    fn add(&mut self, element: &str, attributes: &BTreeMap<String, String>) {
        let value = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        match (element, &*value("type")) {
            ("input", "checkbox") if !attributes.contains_key("checked") => (),
            ("input", kind) => self.fields.push((value("name"), kind.to_owned(), value("value"))),
            ("textarea" | "select", _) => {
                self.fields.push((value("name"), element.to_owned(), String::new()));
            }
            ("option", _) => {
                if let Some((_, _, chosen)) = self.fields.last_mut()
                    && (chosen.is_empty() || attributes.contains_key("selected"))
                {
                    *chosen = value("value");
                }
            }
            ("button", _) => self.is_danger = value("class") == "danger",
            _ => (),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
