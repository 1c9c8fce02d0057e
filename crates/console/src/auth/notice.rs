//! A page that only says something.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER};
use askama::Template;

use super::page_layout::{PageLayout, render};
use crate::texts::NoticeTexts;

/// A heading and what there is to say below it.
#[derive(Template)]
#[template(path = "notice.html")]
pub(crate) struct Notice {
    frame: PageLayout,
    title: &'static str,
    paragraphs: Vec<&'static str>,
    /// Another page, and what to call it.
    link: Option<(&'static str, &'static str)>,
}

impl Notice {
    pub(crate) fn new(frame: PageLayout, message: NoticeTexts) -> Self {
        Self::saying(frame, message.title, message.paragraphs.to_vec())
    }

    pub(crate) fn saying(
        frame: PageLayout,
        title: &'static str,
        paragraphs: Vec<&'static str>,
    ) -> Self {
        Self { frame, title, paragraphs, link: None }
    }

    pub(crate) fn linking(self, page: &'static str, label: &'static str) -> Self {
        Self { link: Some((page, label)), ..self }
    }

    pub(crate) fn answer(&self, status: StatusCode) -> HttpResponse {
        render(status, self)
    }
}

/// The page in the place of JSON for programs.
pub(crate) fn refusal<B>(frame: PageLayout, reported: &HttpResponse<B>) -> HttpResponse {
    let refusals = &frame.texts.refusals;
    let message = match reported.status() {
        // Whoever may open these pages at all is refused by the licence alone.
        StatusCode::FORBIDDEN => refusals.unlicensed,
        StatusCode::NOT_FOUND => refusals.no_page,
        StatusCode::PAYLOAD_TOO_LARGE => refusals.too_long,
        StatusCode::TOO_MANY_REQUESTS => refusals.too_many,
        StatusCode::SERVICE_UNAVAILABLE => refusals.unavailable,
        status if status.is_client_error() => refusals.broken_form,
        _ => refusals.failed,
    };
    let mut answer = Notice::new(frame, message).answer(reported.status());
    for name in [ALLOW, RETRY_AFTER] {
        if let Some(value) = reported.headers().get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}
