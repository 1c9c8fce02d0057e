//! Layout that all of these pages share.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue, LOCATION, REFERRER_POLICY};
use askama::Template;
use pia_kernel::Language;

use crate::page::page;
use crate::texts::Texts;

/// The page's language, and how its links keep or change it.
#[derive(Clone)]
pub(crate) struct PageLayout {
    pub(crate) language: Language,
    pub(crate) texts: &'static Texts,
    /// Suffix of links to other pages: a chosen language goes along.
    pub(crate) suffix: &'static str,
    /// Link to the same page in the other language.
    pub(crate) switch: String,
    /// The folder of the style and the icon, from where the page is.
    pub(crate) base: String,
}

impl PageLayout {
    /// `chosen` is the language that the address names, which goes before
    /// what the browser prefers.
    pub(crate) fn new(preferred: Option<Language>, chosen: Option<Language>) -> Self {
        let language = chosen.or(preferred).unwrap_or_default();
        let suffix = match chosen {
            Some(Language::En) => "?lang=en",
            Some(Language::De) => "?lang=de",
            None => "",
        };
        let texts = Texts::in_language(language);
        let frame = Self { language, texts, suffix, switch: String::new(), base: String::new() };
        frame.keeping_parameters(&[])
    }

    /// Builds a layout for any path: pages may be shown where none is expected.
    /// The server may live under a path that it does not know, so links are
    /// relative to there.
    pub(crate) fn with_base_for(self, path: &str) -> Self {
        let up = path.matches('/').count().saturating_sub(1);
        Self { base: format!("{}auth/", "../".repeat(up)), ..self }
    }

    /// Builds a layout whose style sheet and icon are in this folder.
    pub(crate) fn with_base(self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self }
    }

    /// Keeps this part of the page's query when the language changes.
    pub(crate) fn keeping_parameters(self, parameters: &[(&str, &str)]) -> Self {
        let pairs = [("lang", self.other().tag())];
        let pairs: Vec<_> = pairs.iter().chain(parameters).collect();
        // Pairs of texts can always be written so.
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

/// A redirect to a page of this folder, which then reports what was done: whoever
/// reloads that page sends nothing again.
pub(crate) fn done(frame: &PageLayout, page: &str, what: &str) -> HttpResponse {
    let separator = if frame.suffix.is_empty() { '?' } else { '&' };
    HttpResponse::SeeOther()
        .insert_header((LOCATION, format!("{page}{}{separator}done={what}", frame.suffix)))
        .insert_header((CACHE_CONTROL, "no-store"))
        .finish()
}

/// A page as an answer.
///
/// Its address, which may hold a token, is reported to no other site. To ours it
/// is: without, browsers would say that its form comes from nowhere.
pub(crate) fn render(status: StatusCode, template: &impl Template) -> HttpResponse {
    let mut answer = page(status, template);
    answer.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}
