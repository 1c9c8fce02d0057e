//! HTML error pages for browsers.
//!
//! The handlers and gates of all surfaces return JSON errors; `render_errors`
//! replaces those that a person would see: within the frame of the console or of the
//! account for a browser that is signed in there. `server/src/serve.rs` wraps it
//! around the gates.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, LOCATION};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, FromRequest as _, HttpRequest, HttpResponse};
use pia_identity::{Role, SessionScope};
use pia_web::{Caller, Dialect, Gates, reads_pages};

use super::notice::{framed_refusal, is_after_licence, is_incomplete, is_unlicensed, refusal};
use super::page_request::PageRequest;
use crate::page_context::{PageContext, nearest_page, redirect, root};
use crate::sign_in::login_redirect;
use crate::texts::common;
use crate::ui::Text;

/// Middleware around the gates: renders their errors, and 404 responses, as
/// pages if a browser requested a page or is on its way to a provider and back;
/// other clients get JSON. The front page of a server without a licence
/// redirects to the setup page, the address of a form to the page with it, and a
/// first page with a slash at its end to the one without.
pub async fn render_errors<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let response = next.call(request).await?;
    if is_unlicensed_front(&response) {
        let page =
            format!("admin/setup{}", PageRequest::from_request(response.request()).layout.suffix);
        let redirect = HttpResponse::Found().insert_header((LOCATION, page)).finish();
        return Ok(response.into_response(redirect).map_into_right_body());
    }
    if let Some(folder) = folder_with_slash(&response) {
        let redirect = redirect(response.request(), folder);
        return Ok(response.into_response(redirect).map_into_right_body());
    }
    if is_signed_out_page(&response) {
        let lacks_console = lacks_console(response.request()).await;
        let redirect = login_redirect(response.request(), lacks_console);
        return Ok(response.into_response(redirect).map_into_right_body());
    }
    if !is_json(&response) || !is_for_browser(response.request(), response.status()) {
        return Ok(response.map_into_left_body());
    }

    if is_opened_form(&response) {
        let page = redirect(response.request(), nearest_page(response.request()));
        return Ok(response.into_response(page).map_into_right_body());
    }
    if let Some(context) = signed_in_context(&response).await {
        let page = framed_refusal(&context, response.response(), way_on(&response));
        return Ok(response.into_response(page).map_into_right_body());
    }

    let request = response.request();
    let mut layout = PageRequest::from_request(request).layout.with_base_for(request.path());
    if !request.method().is_safe() {
        // The path of a form may be no page.
        layout.switch.clear();
    }
    if let Some((label, path)) = way_on(&response) {
        layout.home = Some((format!("{}{path}", root(request)), label.of(layout.language)));
    }
    let page = refusal(layout, response.response());

    Ok(response.into_response(page).map_into_right_body())
}

/// Returns the label and the path of the page that leads on from a refusal, if there is one.
fn way_on<B>(response: &ServiceResponse<B>) -> Option<(Text, &'static str)> {
    if is_incomplete(response.response()) {
        return Some((common::COMPLETE_ACCOUNT, "account"));
    }
    (is_after_licence(response.response()) && is_for_administrators(response.request()))
        .then_some((common::RENEW_LICENCE, "admin/licence"))
}

/// Returns whether only administrators may send a request.
fn is_for_administrators(request: &HttpRequest) -> bool {
    let gates = request.app_data::<Data<Gates>>();
    gates.is_some_and(|it| it.is_for_administrators(request.method(), request.path()))
}

/// Returns whether the request opened the front page of a server that is not
/// set up yet.
fn is_unlicensed_front<B>(response: &ServiceResponse<B>) -> bool {
    let request = response.request();
    response.status() == StatusCode::FORBIDDEN
        && request.method() == Method::GET
        && request.path() == "/"
        && reads_pages(request.headers())
}

/// Returns the first page of the console or of the account if it was requested with a slash at
/// its end.
fn folder_with_slash<B>(response: &ServiceResponse<B>) -> Option<&'static str> {
    let request = response.request();
    let folder = match request.path() {
        "/admin/" => "admin",
        "/account/" => "account",
        _ => return None,
    };
    let opens_page = request.method().is_safe() && reads_pages(request.headers());
    (response.status() == StatusCode::NOT_FOUND && opens_page).then_some(folder)
}

/// Returns whether a page of the console or of an account was requested without
/// a session.
fn is_signed_out_page<B>(response: &ServiceResponse<B>) -> bool {
    let request = response.request();
    response.status() == StatusCode::UNAUTHORIZED
        && is_json(response)
        && is_own_page(request.path())
        && !request.path().contains("/sign-in")
        && !request.path().ends_with("/login")
        && reads_pages(request.headers())
}

/// Returns whether the console was requested by a browser that is signed in to an account
/// whose role does not include it.
async fn lacks_console(request: &HttpRequest) -> bool {
    let gates = request.app_data::<Data<Gates>>().cloned();
    let Some(gates) = gates else { return false };
    if !request.path().starts_with("/admin") {
        return false;
    }
    gates.browser_caller(request).await.is_some_and(|it| it.role == Role::User)
}

/// Returns whether the address of a form was opened, as after reloading the answer to it.
fn is_opened_form<B>(response: &ServiceResponse<B>) -> bool {
    let request = response.request();
    response.status() == StatusCode::METHOD_NOT_ALLOWED
        && request.method().is_safe()
        && is_own_page(request.path())
}

/// Returns the context of a page for a browser that is signed in; `None` where a page
/// stands alone: before the sign-in, on an unlicensed server, and during an outage or after too
/// many requests, when nothing more is read for it.
async fn signed_in_context<B>(response: &ServiceResponse<B>) -> Option<PageContext> {
    let request = response.request();
    let is_overloaded = matches!(
        response.status(),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
    );
    let is_setup = request.path().starts_with("/admin/setup");
    if is_overloaded
        || is_setup
        || !is_own_page(request.path())
        || is_unlicensed(response.response())
    {
        return None;
    }

    let caller = match Caller::extract(request).into_inner() {
        Ok(caller) => caller.0,
        Err(_not_admitted) => {
            let gates = Data::clone(request.app_data::<Data<Gates>>()?);
            gates.browser_caller(request).await?
        }
    };
    if request.path().starts_with("/admin") && caller.scope != SessionScope::Console {
        return None;
    }

    PageContext::of_caller(request, caller).ok()
}

/// Returns whether a path is one of the console or of an account.
fn is_own_page(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    matches!(first, Some("admin" | "account"))
}

fn is_json<B>(response: &ServiceResponse<B>) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    !response.status().is_success() && content_type.is_some_and(|it| it == "application/json")
}

fn is_for_browser(request: &HttpRequest, status: StatusCode) -> bool {
    let path = request.path();
    let is_page = is_own_page(path)
        || match path.strip_prefix("/auth/").unwrap_or_default() {
            "login" | "callback" | "error" => true,
            page => page.rsplit_once('.').is_some_and(|(_, kind)| kind == "html"),
        };
    (is_page || is_unknown_page(request.method(), path, status)) && reads_pages(request.headers())
}

/// Returns whether a page was requested that does not exist. Paths below `/api`
/// and `/v1` are for programs only.
fn is_unknown_page(method: &Method, path: &str, status: StatusCode) -> bool {
    let opens = matches!(*method, Method::GET | Method::HEAD);
    let is_for_programs = path.starts_with("/api/") || Dialect::from_path(path) != Dialect::Pia;
    opens && status == StatusCode::NOT_FOUND && !is_for_programs
}

#[cfg(test)]
mod tests {
    use actix_web::App;
    use actix_web::http::header::ACCEPT;
    use actix_web::middleware::from_fn;
    use actix_web::test::{TestRequest, call_service, init_service};
    use pia_web::{RouteTable, surface};

    use super::*;
    use crate::testing::RenderedPage;

    /// Opens a page whose handler panics.
    async fn open_panicking(path: &str, accepted: &str) -> RenderedPage {
        let mut routes = crate::routes();
        for route in &mut routes {
            route.handler = |it| it.to(|| async { panic!("on purpose") as HttpResponse });
        }
        let table = RouteTable::new(routes);
        let app = App::new()
            .wrap(from_fn(render_errors))
            .wrap(from_fn(surface))
            .configure(|config| table.register(config));

        let request = TestRequest::get().uri(path).insert_header((ACCEPT, accepted));
        let response = call_service(&init_service(app).await, request.to_request()).await;
        RenderedPage::from_response(response.into_parts().1.map_into_boxed_body()).await
    }

    #[actix_web::test]
    async fn after_a_panic_browsers_get_a_page_and_programs_get_json() {
        for path in ["/admin/groups", "/account/sessions"] {
            let page = open_panicking(path, "text/html,*/*;q=0.8").await;
            let program = open_panicking(path, "*/*").await;

            assert_eq!(page.status, 500, "{path}");
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
            assert!(page.has("<h1>Something went wrong</h1>"), "{path}: {}", page.text);
            assert!(!page.has("on purpose"), "{path}: {}", page.text);
            assert_eq!(program.status, 500, "{path}");
            assert_eq!(program.header("content-type"), "application/json", "{path}");
            assert!(program.has("internal_error"), "{path}: {}", program.text);
            for answer in [page, program] {
                assert!(!answer.header("x-request-id").is_empty(), "{path}");
            }
        }
    }
}
