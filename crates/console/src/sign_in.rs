//! Sign-in of browsers, to the console and to one's own account.
//!
//! Both areas have the same pages, at `/admin/login` and `/account/login`.
//! `SignInPage` is to these handlers what `PageContext` is to others. The handlers
//! are in `sign_in/session.rs`, the forms in `sign_in/form.rs`. The path to return to
//! travels as `next`, or as the state through an identity provider, and is checked
//! only when it is used (`path_after_sign_in`).

mod form;
mod session;

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, SET_COOKIE};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError as _};
use pia_http::{Api, HttpError};
use pia_identity::{BrowserArea, BrowserSession, RedirectTarget};
use pia_kernel::Language;
use pia_web::{ApiError, ConcurrencyLimiter, FromDevice, Gates, RawBody, is_cross_site};

pub(crate) use self::session::{factor, factor_answer, passkey, password, show, sign_out};
use crate::AccountPages;
use crate::form_fields::FormFields;
use crate::page::scripted_page;
use crate::page_context::{nearest_page, query_value, redirect, root};
use crate::page_language::{language, remember_language};
use crate::shell::Shell;
use crate::texts::errors;
use crate::ui::View;

/// Header that opens another page after a delay in seconds.
const REFRESH: HeaderName = HeaderName::from_static("refresh");

/// Request for a page before the sign-in.
pub(crate) struct SignInPage {
    api: Data<Api>,
    gates: Data<Gates>,
    pages: Data<AccountPages>,
    request: HttpRequest,
    /// Pages that the browser signs in to.
    area: BrowserArea,
    language: Language,
}

impl FromRequest for SignInPage {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::new(request))
    }
}

impl SignInPage {
    fn new(request: &HttpRequest) -> Result<Self, ApiError> {
        let missing = || ApiError::internal("the pages have no use cases");
        Ok(Self {
            api: request.app_data::<Data<Api>>().cloned().ok_or_else(missing)?,
            gates: request.app_data::<Data<Gates>>().cloned().ok_or_else(missing)?,
            pages: request.app_data::<Data<AccountPages>>().cloned().ok_or_else(missing)?,
            request: request.clone(),
            area: area_of(request),
            language: language(request),
        })
    }

    /// Returns the first segment of the area's paths.
    fn folder(&self) -> &'static str {
        folder_of(self.area)
    }

    /// Parses a form of this server. The browser has no session yet, so other
    /// sites are recognised by its headers.
    fn fields(&self, body: &RawBody) -> Result<FormFields, ApiError> {
        if is_cross_site(self.request.headers(), &self.pages.public_url) {
            let message = "The form comes from another site.";
            return Err(ApiError::refused(StatusCode::FORBIDDEN, "csrf_rejected", message));
        }
        FormFields::parse(&self.request, body)
    }

    fn device(&self) -> Result<pia_identity::SignInDevice, ApiError> {
        Ok(FromDevice::extract(&self.request).into_inner()?.0)
    }

    /// Runs a use case, which continues even if the browser disconnects.
    async fn run<T, E, F>(&self, use_case: impl FnOnce(Arc<Api>) -> F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<HttpError> + Send + 'static,
    {
        self.api.run(use_case).await.map_err(Into::into)
    }

    fn sign_ins(&self) -> &ConcurrencyLimiter {
        &self.api.sign_ins
    }

    fn render(&self, status: StatusCode, view: &View) -> HttpResponse {
        let other_language = crate::texts::common::other(self.language).tag();
        let return_path = self.return_path();
        let mut pairs = vec![("next", return_path.as_str()), ("lang", other_language)];
        pairs.retain(|it| !it.1.is_empty());
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
        // A form was sent to another path than the page's.
        let page = format!("{}{}/login?{query}", root(&self.request), self.folder());
        let shell = Shell::anonymous(self.language, root(&self.request), &self.pages.name, page);
        let mut response = scripted_page(status, &shell.page(view));
        remember_language(&self.request, &mut response);
        response
    }

    /// Renders a form again with the error of its submission.
    fn refuse(&self, view: View, err: ApiError) -> Result<HttpResponse, ApiError> {
        let status = err.status_code();
        if status.is_server_error() {
            return Err(err);
        }
        Ok(self.render(status, &view.refused(errors::text(self.language, &err))))
    }

    /// Returns the path to open after the sign-in as the query names it, as yet
    /// unchecked: identity providers lead back with it as the state.
    fn return_path(&self) -> String {
        let next = query_value(&self.request, "next");
        if next.is_empty() { query_value(&self.request, "state") } else { next }
    }

    /// Sends the browser its cookie and redirects it to the requested page.
    fn signed_in(&self, session: &BrowserSession, return_path: &str) -> HttpResponse {
        let mut response = redirect(&self.request, self.path_after_sign_in(return_path));
        self.set_cookie(session, &mut response);
        response
    }

    fn set_cookie(&self, session: &BrowserSession, response: &mut HttpResponse) {
        let cookie = self.gates.console_cookie.set(session.cookie.expose(), session.lifetime);
        if let Ok(cookie) = cookie.parse() {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }

    /// Returns the path to open after the sign-in, without its leading slash:
    /// the wanted one if it is a page of this area.
    fn path_after_sign_in<'a>(&self, wanted: &'a str) -> &'a str {
        let target = wanted.trim_start_matches('/');
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        // Keys of settings and models have colons and encoded characters. Encoded
        // dots could lead to another folder.
        let without_encoding = path.replace([':', '%'], "-");
        let is_own = RedirectTarget::is_page(&format!("/{without_encoding}"))
            && !path.to_ascii_lowercase().contains("%2e")
            && path.split('/').next() == Some(self.folder())
            && query.bytes().all(|it| it.is_ascii_graphic() && it != b'#');
        if is_own { target } else { self.folder() }
    }
}

/// Redirects a request without a session to a sign-in page: that of the console
/// for its pages, and otherwise that of the account. It leads back to the page or, after a form,
/// which is lost, to the page with the form. `lacks_console` is true if the browser is signed in
/// with a role that does not include the console.
pub(crate) fn login_redirect(request: &HttpRequest, lacks_console: bool) -> HttpResponse {
    let folder = folder_of(area_of(request));
    let login = format!("{folder}/login");
    let is_form = !request.method().is_safe();
    let wanted = if is_form {
        format!("/{}", nearest_page(request))
    } else {
        request.uri().path_and_query().map(ToString::to_string).unwrap_or_default()
    };

    let mut pairs = Vec::new();
    if is_form && request.path() != "/account/sign-out" {
        pairs.push(("done", "not-saved"));
    } else if lacks_console {
        pairs.push(("done", "no-console"));
    }
    // The folder is the default.
    if !wanted.is_empty() && wanted != format!("/{folder}") {
        pairs.push(("next", wanted.as_str()));
    }
    if pairs.is_empty() {
        return redirect(request, &login);
    }

    let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
    redirect(request, &format!("{login}?{query}"))
}

/// Returns the area of a request's path.
fn area_of(request: &HttpRequest) -> BrowserArea {
    if request.path().starts_with("/admin") { BrowserArea::Console } else { BrowserArea::Account }
}

/// Returns the first segment of an area's paths.
fn folder_of(area: BrowserArea) -> &'static str {
    match area {
        BrowserArea::Console => "admin",
        BrowserArea::Account => "account",
    }
}
