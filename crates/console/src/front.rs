//! `/`: what this server is, and where to go from here.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use pia_identity::RegistrationPolicy;
use pia_policy::SetupState;
use pia_web::{ApiError, reads_pages};

use crate::AccountPages;
use crate::auth::page_layout::{PageLayout, render};
use crate::auth::page_request::PageRequest;
use crate::setup_pages::SetupPages;

/// The front page.
#[derive(Template)]
#[template(path = "front.html")]
struct FrontPage {
    frame: PageLayout,
    /// The server's name.
    name: String,
    text: &'static str,
    /// Links to other pages, with their texts.
    links: Vec<(&'static str, &'static str)>,
}

/// Shows the page to browsers. For programs there is nothing here.
pub(crate) async fn show(
    console: Data<SetupPages>,
    account_pages: Data<AccountPages>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if !reads_pages(request.headers()) {
        let message = "There is nothing at this address.";
        return Err(ApiError::refused(StatusCode::NOT_FOUND, "not_found", message));
    }
    let frame = PageRequest::from_request(&request).frame.with_base("auth/");
    let standing = console.licences.setup_state();
    let is_closed = account_pages.accounts.rules().policy == RegistrationPolicy::Closed;
    let (name, text, links) =
        (account_pages.name.clone(), text(&frame, &standing), links(&frame, &standing, is_closed));
    Ok(render(StatusCode::OK, &FrontPage { frame, name, text, links }))
}

fn text(frame: &PageLayout, standing: &SetupState) -> &'static str {
    let texts = &frame.texts.front;
    if *standing == SetupState::Done { texts.intro } else { texts.unlicensed }
}

fn links(
    frame: &PageLayout,
    standing: &SetupState,
    is_closed: bool,
) -> Vec<(&'static str, &'static str)> {
    let texts = &frame.texts.front;
    let set_up = ("admin/setup", texts.set_up);
    let register = ("auth/register.html", texts.register);
    let forgot = ("auth/forgot-password.html", texts.forgot);
    match standing {
        SetupState::Done if is_closed => vec![forgot],
        SetupState::Done => vec![register, forgot],
        SetupState::Ended(_) | SetupState::NoLicence | SetupState::Refused(_) => {
            vec![set_up, forgot]
        }
    }
}

#[cfg(test)]
mod tests;
