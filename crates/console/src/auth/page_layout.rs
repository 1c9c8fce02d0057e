//! Layout of the pages.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue, LOCATION, REFERRER_POLICY};
use askama::Template;
use pia_kernel::Language;

use crate::page::page;
use crate::texts::{Texts, common};

/// Language of the page, and the links that preserve or change it.
#[derive(Clone)]
pub(crate) struct PageLayout {
    pub(crate) language: Language,
    pub(crate) texts: &'static Texts,
    /// Suffix of links to other pages, which preserves a chosen language.
    pub(crate) suffix: &'static str,
    /// Link to the same page in the other language; empty if it cannot be opened.
    pub(crate) switch: String,
    /// Relative URL of the folder of the style sheet and the icon.
    pub(crate) base: String,
    /// Link to the first page of the console or of the account, with its label.
    pub(crate) home: Option<(String, &'static str)>,
}

impl PageLayout {
    /// Creates a layout in the language of the URL (`chosen`), or else in the
    /// preferred one.
    pub(crate) fn new(preferred: Option<Language>, chosen: Option<Language>) -> Self {
        let language = chosen.or(preferred).unwrap_or_default();
        let suffix = match chosen {
            Some(Language::En) => "?lang=en",
            Some(Language::De) => "?lang=de",
            None => "",
        };
        let texts = Texts::in_language(language);
        let layout = Self {
            language,
            texts,
            suffix,
            switch: String::new(),
            base: String::new(),
            home: None,
        };
        layout.with_parameters(&[])
    }

    /// Sets the base and the first page for a path below which a page is
    /// rendered. The server may be mounted under a path that it does not know, so
    /// links are relative.
    pub(crate) fn with_base_for(self, path: &str) -> Self {
        let root = "../".repeat(path.matches('/').count().saturating_sub(1));
        let home = match path.split('/').nth(1) {
            Some("admin") if !path.starts_with("/admin/setup") => {
                Some(("admin", common::TO_CONSOLE))
            }
            Some("account") => Some(("account", common::TO_ACCOUNT)),
            _ => None,
        };
        let home = home.map(|(page, label)| (format!("{root}{page}"), label.of(self.language)));
        Self { base: format!("{root}auth/"), home, ..self }
    }

    /// Sets the folder of the style sheet and the icon.
    pub(crate) fn with_base(self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self }
    }

    /// Preserves these query parameters when the language changes.
    pub(crate) fn with_parameters(self, parameters: &[(&str, &str)]) -> Self {
        let pairs = [("lang", self.other().tag())];
        let pairs: Vec<_> = pairs.iter().chain(parameters).collect();
        // Pairs of strings can always be serialised.
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
        Self { switch: format!("?{query}"), ..self }
    }

    pub(crate) fn other(&self) -> Language {
        match self.language {
            Language::En => Language::De,
            Language::De => Language::En,
        }
    }
}

/// Returns a redirect to a page of this folder that confirms what was done, so
/// that reloading the page sends nothing again.
pub(crate) fn done(layout: &PageLayout, page: &str, what: &str) -> HttpResponse {
    let separator = if layout.suffix.is_empty() { '?' } else { '&' };
    HttpResponse::SeeOther()
        .insert_header((LOCATION, format!("{page}{}{separator}done={what}", layout.suffix)))
        .insert_header((CACHE_CONTROL, "no-store"))
        .finish()
}

/// Renders a page as an HTTP response.
///
/// Its URL may contain a token, so no other site gets it as the referrer. This
/// server does: otherwise browsers would send its forms without an origin.
pub(crate) fn render(status: StatusCode, template: &impl Template) -> HttpResponse {
    let mut response = page(status, template);
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
