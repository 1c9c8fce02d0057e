//! Pages that display a message.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER};
use askama::Template;
use pia_kernel::Language;
use pia_web::ApiError;

use super::page_layout::{PageLayout, render};
use crate::page_context::PageContext;
use crate::shell::links_back;
use crate::texts::{NoticeTexts, RefusalTexts, Texts, common};
use crate::ui::view::Link;
use crate::ui::{Section, Text, View};

/// Code of the refusal of an account that owes its declaration.
const UNDECLARED: &str = "business_profile_incomplete";
/// Code of the refusal of an account that owes the verification of its address.
const UNVERIFIED: &str = "email_not_verified";
/// Error of a server without a valid licence.
const NO_LICENCE: &str = "no_license";
/// Error of a change while the licence has expired.
pub(crate) const LICENCE_EXPIRED: &str = "license_expired";

/// Message with a heading.
#[derive(Template)]
#[template(path = "notice.html")]
pub(crate) struct Notice {
    layout: PageLayout,
    title: &'static str,
    paragraphs: Vec<String>,
    /// Links to other pages, with their labels.
    links: Vec<(String, &'static str)>,
}

impl Notice {
    pub(crate) fn new(layout: PageLayout, texts: NoticeTexts) -> Self {
        Self::with_paragraphs(layout, texts.title, texts.paragraphs.to_vec())
    }

    pub(crate) fn with_paragraphs(
        layout: PageLayout,
        title: &'static str,
        paragraphs: Vec<&'static str>,
    ) -> Self {
        let paragraphs = paragraphs.into_iter().map(str::to_owned).collect();
        Self { layout, title, paragraphs, links: Vec::new() }
    }

    pub(crate) fn with_link(mut self, page: impl Into<String>, label: &'static str) -> Self {
        self.links.push((page.into(), label));
        self
    }

    pub(crate) fn response(&self, status: StatusCode) -> HttpResponse {
        render(status, self)
    }
}

/// Renders the page for a refused request within the frame of the pages, with the link that leads
/// on, or links back.
pub(super) fn framed_refusal<B>(
    page: &PageContext,
    response: &HttpResponse<B>,
    way_on: Option<(Text, &str)>,
) -> HttpResponse {
    if response.status() == StatusCode::BAD_REQUEST && !page.is_submission() {
        return page.render_with(response.status(), outdated_link_view(page));
    }

    let texts = refusal_texts(&Texts::in_language(page.language).refusals, response);
    let links = match way_on {
        Some((label, path)) => {
            vec![Link { label: page.t(label).to_owned(), path: path.to_owned() }]
        }
        None => links_back(page),
    };

    let section = texts
        .paragraphs
        .iter()
        .fold(Section::new("refusal", ""), |section, text| section.paragraph(*text))
        .links(links);
    let rendered = page.render_with(response.status(), View::new(texts.title).section(section));
    with_headers_of(response, rendered)
}

/// Returns the page for a link with a malformed parameter, such as the position in a list that had
/// another order.
fn outdated_link_view(page: &PageContext) -> View {
    let first_page =
        Link { label: page.t(common::FIRST_PAGE).to_owned(), path: page.page_path().to_owned() };
    let section = Section::new("refusal", "").paragraph(page.t(OUTDATED_LINK_HINT));
    View::new(page.t(OUTDATED_LINK)).section(section.links(vec![first_page]))
}

/// Renders the page for a refused request.
pub(super) fn refusal<B>(layout: PageLayout, response: &HttpResponse<B>) -> HttpResponse {
    let texts = refusal_texts(&layout.texts.refusals, response);
    let link = if is_unlicensed(response) {
        // The other pages are refused too.
        let root = layout.base.trim_end_matches("auth/");
        Some((format!("{root}admin/setup"), layout.texts.front.set_up))
    } else {
        layout.home.clone()
    };

    let wait = wait_text(layout.language, response);
    let mut notice = Notice::new(layout, texts);
    if let Some(wait) = wait {
        notice.paragraphs = vec![wait];
    }
    if let Some((page, label)) = link {
        notice = notice.with_link(page, label);
    }

    with_headers_of(response, notice.response(response.status()))
}

/// Returns the message for a refused request.
fn refusal_texts<B>(refusals: &RefusalTexts, response: &HttpResponse<B>) -> NoticeTexts {
    let code = error_code(response);
    match response.status() {
        StatusCode::FORBIDDEN => match code {
            Some(NO_LICENCE) => refusals.no_license,
            Some(LICENCE_EXPIRED) => refusals.license_expired,
            Some("csrf_rejected") => refusals.foreign_form,
            Some("forbidden") => refusals.forbidden,
            Some(UNDECLARED) => refusals.undeclared,
            Some(UNVERIFIED) => refusals.unverified,
            _ => refusals.unlicensed,
        },
        StatusCode::NOT_FOUND => refusals.no_page,
        StatusCode::METHOD_NOT_ALLOWED => refusals.only_form,
        StatusCode::PAYLOAD_TOO_LARGE => refusals.too_long,
        StatusCode::TOO_MANY_REQUESTS => refusals.too_many,
        StatusCode::SERVICE_UNAVAILABLE => refusals.unavailable,
        status if status.is_client_error() => refusals.broken_form,
        _ => refusals.failed,
    }
}

/// Returns the text of the time after which a request may be sent again; `None` unless it was
/// refused after too many.
fn wait_text<B>(language: Language, response: &HttpResponse<B>) -> Option<String> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let seconds: u64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(match seconds {
        0..=1 => WAIT_A_SECOND.of(language).to_owned(),
        2..=120 => WAIT_SECONDS.fill(language, &[&seconds.to_string()]),
        _ => WAIT_MINUTES.fill(language, &[&seconds.div_ceil(60).to_string()]),
    })
}

/// Adds the headers of a refusal to its page.
fn with_headers_of<B>(response: &HttpResponse<B>, mut page: HttpResponse) -> HttpResponse {
    for name in [ALLOW, RETRY_AFTER] {
        if let Some(value) = response.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }

    page
}

/// Returns whether a request was refused because the account is incomplete.
pub(super) fn is_incomplete<B>(response: &HttpResponse<B>) -> bool {
    matches!(error_code(response), Some(UNDECLARED | UNVERIFIED))
}

/// Returns whether a request was refused because the server has no valid licence.
pub(super) fn is_unlicensed<B>(response: &HttpResponse<B>) -> bool {
    error_code(response) == Some(NO_LICENCE)
}

/// Returns whether a change was refused because the licence has expired.
pub(super) fn is_after_licence<B>(response: &HttpResponse<B>) -> bool {
    error_code(response) == Some(LICENCE_EXPIRED)
}

/// Returns the code of the error that a response was made from.
fn error_code<B>(response: &HttpResponse<B>) -> Option<&'static str> {
    let err = response.error()?.as_error::<ApiError>()?;
    Some(err.code_and_message().0)
}

const WAIT_A_SECOND: Text =
    Text::new("Try again in a second.", "Versuchen Sie es in einer Sekunde noch einmal.");
const WAIT_SECONDS: Text =
    Text::new("Try again in {} seconds.", "Versuchen Sie es in {} Sekunden noch einmal.");
const WAIT_MINUTES: Text =
    Text::new("Try again in {} minutes.", "Versuchen Sie es in {} Minuten noch einmal.");
const OUTDATED_LINK: Text =
    Text::new("This link is not valid any more", "Dieser Link ist nicht mehr gültig");
const OUTDATED_LINK_HINT: Text = Text::new(
    "The list may have another order now. Start again from its first page.",
    "Vielleicht ist die Liste jetzt anders sortiert. Beginnen Sie wieder mit der ersten Seite.",
);
