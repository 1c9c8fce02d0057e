//! What every one of these pages has, whatever is on it.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, REFERRER_POLICY};
use askama::Template;
use pia_kernel::Language;

use crate::page::page;
use crate::texts::Texts;

/// The page's language, and how its links keep or change it.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) language: Language,
    pub(super) texts: &'static Texts,
    /// What links to other pages end with: a language that was chosen goes along.
    pub(super) suffix: &'static str,
    /// The same page in the other language.
    pub(super) switch: String,
    /// The style, from where the page is.
    pub(super) style: String,
}

impl Frame {
    /// `chosen` is the language that the address names, which goes before
    /// what the browser prefers.
    pub(super) fn new(preferred: Option<Language>, chosen: Option<Language>) -> Self {
        let language = chosen.or(preferred).unwrap_or_default();
        let suffix = match chosen {
            Some(Language::En) => "?lang=en",
            Some(Language::De) => "?lang=de",
            None => "",
        };
        let (texts, style) = (Texts::of(language), "style.css".to_owned());
        let frame = Self { language, texts, suffix, switch: String::new(), style };
        frame.keeping(&[])
    }

    /// The same anywhere: pages may be shown where none is meant to be. The
    /// server may live under a path that it does not know, so the way is told
    /// from there.
    pub(super) fn at(self, path: &str) -> Self {
        let up = path.matches('/').count().saturating_sub(1);
        Self { style: format!("{}auth/style.css", "../".repeat(up)), ..self }
    }

    /// The same; this of the page's address is kept when the language changes.
    pub(super) fn keeping(self, parameters: &[(&str, &str)]) -> Self {
        let pairs = [("lang", self.other().tag())];
        let pairs: Vec<_> = pairs.iter().chain(parameters).collect();
        // Pairs of texts can always be written so.
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
        Self { switch: format!("?{query}"), ..self }
    }

    pub(super) fn other(&self) -> Language {
        match self.language {
            Language::En => Language::De,
            Language::De => Language::En,
        }
    }
}

/// A page as an answer.
///
/// Its address, which may hold a token, is told to no other site. To ours it
/// is: without, browsers would say that its form comes from nowhere.
pub(super) fn shown(status: StatusCode, template: &impl Template) -> HttpResponse {
    let mut answer = page(status, template);
    answer.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}
