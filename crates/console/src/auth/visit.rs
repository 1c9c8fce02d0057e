//! Who opens a page, and with what in its address.

use actix_web::http::StatusCode;
use actix_web::http::header::ACCEPT_LANGUAGE;
use actix_web::{HttpRequest, HttpResponse};
use pia_kernel::Language;
use serde::Deserialize;

use super::frame::Frame;
use super::notice::Notice;

/// More is in no address that we make.
const LONGEST_QUERY: usize = 4096;

/// What the address of a page may hold.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Query {
    pub(super) lang: String,
    pub(super) email: String,
    pub(super) token: String,
    pub(super) user_id: String,
    pub(super) reason: String,
    pub(super) invitation: String,
}

/// A page that is opened.
pub(super) struct Visit {
    pub(super) frame: Frame,
    /// None where it makes no sense.
    query: Option<Query>,
}

impl Visit {
    pub(super) fn of(request: &HttpRequest) -> Self {
        let query = query(request.query_string());
        let chosen = query.as_ref().and_then(|it| Language::of_tag(&it.lang));
        let accepted = request.headers().get(ACCEPT_LANGUAGE).and_then(|it| it.to_str().ok());
        let frame = Frame::new(accepted.and_then(Language::preferred), chosen);
        Self { frame, query }
    }

    /// What the address holds, or a page that says it is broken.
    pub(super) fn query(self) -> Result<(Frame, Query), Box<HttpResponse>> {
        match self.query {
            Some(query) => Ok((self.frame, query)),
            None => Err(Box::new(broken_link(self.frame))),
        }
    }
}

/// The page for an address that lacks something.
pub(super) fn broken_link(frame: Frame) -> HttpResponse {
    let said = frame.texts.refusals.broken_link;
    Notice::of(frame, said).answer(StatusCode::BAD_REQUEST)
}

fn query(text: &str) -> Option<Query> {
    let query: Query =
        (text.len() <= LONGEST_QUERY).then(|| serde_urlencoded::from_str(text).ok())??;
    let Query { lang, email, token, user_id, reason, invitation } = &query;
    let whole = [lang, email, token, user_id, reason, invitation]
        .iter()
        .all(|it| !it.chars().any(|it| it.is_control() || it == char::REPLACEMENT_CHARACTER));
    whole.then_some(query)
}
