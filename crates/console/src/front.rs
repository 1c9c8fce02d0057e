//! `/`: the front page.

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

/// Page that leads a person who types the address of the server to the other pages.
#[derive(Template)]
#[template(path = "front.html")]
struct FrontPage {
    layout: PageLayout,
    /// Name of the server.
    name: String,
    summary: &'static str,
    /// Links to other pages, with their texts.
    links: Vec<(&'static str, &'static str)>,
}

/// Renders the page for browsers. Programs get 404.
pub(crate) async fn show(
    console: Data<SetupPages>,
    account_pages: Data<AccountPages>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if !reads_pages(request.headers()) {
        let message = "There is nothing at this address.";
        return Err(ApiError::refused(StatusCode::NOT_FOUND, "not_found", message));
    }
    let layout = PageRequest::from_request(&request).layout.with_base("auth/");
    let state = console.licences.setup_state();
    let is_closed = account_pages.accounts.rules().policy == RegistrationPolicy::Closed;
    let page = FrontPage {
        name: account_pages.name.clone(),
        summary: summary(&layout, &state),
        links: links(&layout, &state, is_closed),
        layout,
    };
    Ok(render(StatusCode::OK, &page))
}

fn summary(layout: &PageLayout, state: &SetupState) -> &'static str {
    let texts = &layout.texts.front;
    if *state == SetupState::Done { texts.intro } else { texts.unlicensed }
}

fn links(
    layout: &PageLayout,
    state: &SetupState,
    is_closed: bool,
) -> Vec<(&'static str, &'static str)> {
    let texts = &layout.texts.front;
    let set_up = ("admin/setup", texts.set_up);
    let register = ("auth/register.html", texts.register);
    let forgot = ("auth/forgot-password.html", texts.forgot);
    let account = ("account", texts.account);
    let console = ("admin", texts.console);

    match state {
        SetupState::Done if is_closed => vec![account, forgot, console],
        SetupState::Done => vec![register, account, forgot, console],
        SetupState::Ended(_) | SetupState::NoLicence | SetupState::Refused(_) => {
            vec![set_up, account, forgot, console]
        }
    }
}

#[cfg(test)]
mod tests;
