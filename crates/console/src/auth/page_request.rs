//! Request for a page, with its query.
//!
//! For the pages before the sign-in. An invalid query, such as a link that an email
//! program has cut off, is answered with a page that says so (`broken_link`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use pia_kernel::Language;
use serde::Deserialize;

use super::notice::Notice;
use super::page_layout::PageLayout;
use crate::page_language::preferred_language;

/// Maximum length of a query; every link of this server is shorter.
const MAX_QUERY_BYTES: usize = 4096;

/// Query parameters of a page.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Query {
    pub(crate) lang: String,
    pub(crate) email: String,
    pub(crate) token: String,
    pub(crate) user_id: String,
    pub(crate) reason: String,
    pub(crate) invitation: String,
    /// Action that a form completed before it led here.
    pub(crate) done: String,
}

/// Request for a page.
pub(crate) struct PageRequest {
    pub(crate) layout: PageLayout,
    /// Parsed query; `None` if it is invalid.
    query: Option<Query>,
}

impl PageRequest {
    pub(crate) fn from_request(request: &HttpRequest) -> Self {
        let query = parse_query(request.query_string());
        let chosen = query.as_ref().and_then(|it| Language::from_tag(&it.lang));
        let layout = PageLayout::new(preferred_language(request), chosen);
        Self { layout, query }
    }

    /// Returns the query, or an error page if it is invalid.
    pub(crate) fn query(self) -> Result<(PageLayout, Query), Box<HttpResponse>> {
        match self.query {
            Some(query) => Ok((self.layout, query)),
            None => Err(Box::new(broken_link(self.layout))),
        }
    }
}

/// Renders the page for an incomplete link.
pub(crate) fn broken_link(layout: PageLayout) -> HttpResponse {
    let texts = layout.texts.refusals.broken_link;
    Notice::new(layout, texts).response(StatusCode::BAD_REQUEST)
}

/// Parses a query; `None` if it is malformed, too long, or has characters that no link has.
fn parse_query(text: &str) -> Option<Query> {
    if text.len() > MAX_QUERY_BYTES {
        return None;
    }

    let query: Query = serde_urlencoded::from_str(text).ok()?;
    let Query { lang, email, token, user_id, reason, invitation, done } = &query;
    let is_valid = [lang, email, token, user_id, reason, invitation, done]
        .into_iter()
        .all(|it| is_plain_text(it));
    is_valid.then_some(query)
}

fn is_plain_text(text: &str) -> bool {
    !text.chars().any(|it| it.is_control() || it == char::REPLACEMENT_CHARACTER)
}
