//! Links and forms of a page.

use std::collections::BTreeMap;

use html5gum::{StartTag, Token, Tokenizer};

/// Form of a page that is posted.
#[derive(Debug, Default)]
pub(super) struct PageForm {
    /// Target, relative to the page.
    pub(super) action: String,
    /// True if it uploads files.
    pub(super) has_files: bool,
    /// True if its button destroys something.
    pub(super) is_danger: bool,
    /// Fields in order, without boxes that are not checked.
    pub(super) fields: Vec<PageField>,
}

/// Field of a form.
#[derive(Debug)]
pub(super) struct PageField {
    pub(super) name: String,
    /// Type of an input, or the name of another element: `password`, `textarea`.
    pub(super) kind: String,
    /// Value that it has when the page opens.
    pub(super) value: String,
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
    elements: Vec<String>,
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

    /// Returns whether the page has an element of this name.
    pub(super) fn has_element(&self, name: &str) -> bool {
        self.elements.iter().any(|it| it == name)
    }

    /// Returns the form that has a field of this name.
    pub(super) fn form_with(&self, field_name: &str) -> Option<&PageForm> {
        self.forms.iter().find(|form| form.fields.iter().any(|it| it.name == field_name))
    }

    fn open(&mut self, tag: &StartTag<()>, form: &mut Option<PageForm>) {
        let attributes: BTreeMap<_, _> =
            tag.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
        let attribute = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        let element = text(&tag.name);
        match element.as_str() {
            "a" => self.links.push(attribute("href")),
            "form" if attribute("method") == "get" => self.searches.push(attribute("action")),
            "form" if attribute("method") == "post" => {
                let has_files = attribute("enctype") == "multipart/form-data";
                *form = Some(PageForm {
                    action: attribute("action"),
                    has_files,
                    ..PageForm::default()
                });
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
    /// Encodes the form as a browser sends it, with these values in place of those of the page.
    pub(super) fn encode_with(&self, values: &[(&str, &str)]) -> String {
        let pairs: Vec<(&str, &str)> = self
            .fields
            .iter()
            .map(|field| {
                let typed = values.iter().find(|it| it.0 == field.name);
                (field.name.as_str(), typed.map_or(field.value.as_str(), |it| it.1))
            })
            .collect();
        super::form(&pairs)
    }

    /// Returns a name that several fields have, of which only the first is read. Check boxes and
    /// radio buttons of a list have one name.
    pub(super) fn repeated_name(&self) -> Option<&str> {
        let mut kinds = BTreeMap::new();
        let repeated = self.fields.iter().find(|field| {
            let is_in_list = ["checkbox", "radio"].contains(&field.kind.as_str());
            let before = kinds.insert(field.name.as_str(), field.kind.as_str());
            before.is_some_and(|kind| !is_in_list || kind != field.kind)
        });
        repeated.map(|it| it.name.as_str())
    }

    fn add(&mut self, element: &str, attributes: &BTreeMap<String, String>) {
        let attribute = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        match (element, &*attribute("type")) {
            ("input", "checkbox") if !attributes.contains_key("checked") => (),
            ("input", kind) => self.fields.push(PageField {
                name: attribute("name"),
                kind: kind.to_owned(),
                value: attribute("value"),
            }),
            ("textarea" | "select", _) => {
                self.fields.push(PageField {
                    name: attribute("name"),
                    kind: element.to_owned(),
                    value: String::new(),
                });
            }
            ("option", _) => {
                if let Some(select) = self.fields.last_mut()
                    && (select.value.is_empty() || attributes.contains_key("selected"))
                {
                    select.value = attribute("value");
                }
            }
            ("button", _) => self.is_danger = attribute("class") == "danger",
            _ => (),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
