//! Language of a page: the one that the query chooses, or else the one that was chosen
//! before, or else the one that the browser prefers.

use actix_web::http::header::{ACCEPT_LANGUAGE, COOKIE, SET_COOKIE};
use actix_web::{HttpRequest, HttpResponse};
use pia_kernel::Language;

use crate::page_context::query_value;

/// Cookie of the language that was chosen on a page.
const LANGUAGE_COOKIE: &str = "pia_language";
/// Lifetime of that cookie, in seconds.
const LANGUAGE_SECONDS: u32 = 365 * 24 * 3600;

/// Returns the language of a request: the one in its query, or else the
/// preferred one.
pub(crate) fn language(request: &HttpRequest) -> Language {
    queried_language(request).or_else(|| preferred_language(request)).unwrap_or_default()
}

/// Returns the language that was chosen before, or else the one that the
/// browser prefers.
pub(crate) fn preferred_language(request: &HttpRequest) -> Option<Language> {
    let header = |name| request.headers().get(name).and_then(|it| it.to_str().ok());
    let chosen = header(COOKIE)
        .unwrap_or_default()
        .split(';')
        .filter_map(|it| it.trim().split_once('='))
        .find(|(name, _)| *name == LANGUAGE_COOKIE)
        .and_then(|(_, tag)| Language::from_tag(tag));
    let preferred = || header(ACCEPT_LANGUAGE).and_then(Language::preferred);
    chosen.or_else(preferred)
}

fn queried_language(request: &HttpRequest) -> Option<Language> {
    Language::from_tag(&query_value(request, "lang"))
}

/// Stores the language in the browser if the query chooses one.
pub(crate) fn remember_language(request: &HttpRequest, response: &mut HttpResponse) {
    let Some(language) = queried_language(request) else { return };
    let cookie = format!(
        "{LANGUAGE_COOKIE}={}; Path=/; Max-Age={LANGUAGE_SECONDS}; SameSite=Lax; HttpOnly",
        language.tag()
    );
    if let Ok(value) = cookie.parse() {
        response.headers_mut().append(SET_COOKIE, value);
    }
}
