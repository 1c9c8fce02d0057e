//! Request for a page by a browser that is signed in.
//!
//! `PageContext` is the first argument of every handler of such a page. Handlers use
//! it in this order: `run` for use cases, then `render` for a page, or after a form
//! `done` on success and `refuse` or `refuse_typed` on an error. `t` and `fill`
//! return texts in the page's language. Links and redirects are relative (`root`),
//! since the server may be mounted below a path.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::LOCATION;
use actix_web::http::{Method, StatusCode};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError as _};
use pia_http::{Api, HttpError};
use pia_identity::{CallerState, ReauthProof, Role};
use pia_kernel::{Language, Secret, UserId};
use pia_web::{ApiError, Caller, Gates};

use crate::form_errors::attach_errors;
use crate::form_fields::FormFields;
use crate::page::scripted_page;
use crate::page_language::{language, remember_language};
use crate::shell::Shell;
use crate::texts::{common, errors, quota_errors};
use crate::ui::view::Notice;
use crate::ui::{Text, View};
use crate::{AccountPages, AddressLocations, unlicensed};

/// Parameter of the query with the name of a confirmation.
const CONFIRMATION: &str = "done";
/// Errors of requests for which no form is at fault.
const NOT_OF_FORMS: [&str; 3] = ["unauthorized", "csrf_rejected", "not_found"];
/// Result of a page's handler. An error is rendered as a page.
pub(crate) type PageResult = Result<HttpResponse, ApiError>;

/// Request for a page by a browser that is signed in, with everything that its handler
/// needs to answer it.
pub(crate) struct PageContext {
    /// Use cases.
    pub(crate) api: Data<Api>,
    /// Caller that the gates admitted.
    pub(crate) caller: CallerState,
    /// Language of the page.
    pub(crate) language: Language,
    request: HttpRequest,
    csrf_token: String,
    server_name: String,
    public_url: String,
    /// Locations of IP addresses, if a database is configured.
    pub(crate) locations: Option<Arc<dyn AddressLocations>>,
}

impl FromRequest for PageContext {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::new(request))
    }
}

impl PageContext {
    fn new(request: &HttpRequest) -> Result<Self, ApiError> {
        let caller = Caller::extract(request).into_inner()?;
        Self::of_caller(request, caller.0)
    }

    /// Creates the context of a request whose caller is known.
    pub(crate) fn of_caller(request: &HttpRequest, caller: CallerState) -> Result<Self, ApiError> {
        let missing = || ApiError::internal("the pages have no use cases");
        let api = request.app_data::<Data<Api>>().ok_or_else(missing)?;
        let gates = request.app_data::<Data<Gates>>().ok_or_else(missing)?;
        let pages = request.app_data::<Data<AccountPages>>().ok_or_else(missing)?;
        let csrf_token = gates.csrf_token(request).ok_or_else(ApiError::unauthenticated)?;
        Ok(Self {
            api: Data::clone(api),
            caller,
            language: language(request),
            request: request.clone(),
            csrf_token,
            server_name: pages.name.clone(),
            public_url: pages.public_url.clone(),
            locations: pages.locations.clone(),
        })
    }

    /// Returns the caller's account.
    pub(crate) fn user(&self) -> UserId {
        self.caller.user
    }

    /// Returns the public URL of the server, without a slash at its end.
    pub(crate) fn public_url(&self) -> &str {
        self.public_url.trim_end_matches('/')
    }

    /// Returns a text in the language of the page.
    pub(crate) fn t(&self, text: Text) -> &'static str {
        text.of(self.language)
    }

    /// Returns a text with its values.
    pub(crate) fn fill(&self, text: Text, values: &[&str]) -> String {
        text.fill(self.language, values)
    }

    /// Runs a use case, which continues even if the browser disconnects.
    pub(crate) async fn run<T, E, F>(
        &self,
        use_case: impl FnOnce(Arc<Api>) -> F,
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<HttpError> + Send + 'static,
    {
        self.api.run(use_case).await.map_err(Into::into)
    }

    /// Checks that the caller is the owner of the session, by a proof unless
    /// they have signed in, or given one, recently.
    pub(crate) async fn require_owner(&self, proof: Option<ReauthProof>) -> Result<(), ApiError> {
        self.api.require_owner(self.caller, proof).await
    }

    /// Verifies a passkey's response to a challenge as the proof of the owner.
    pub(crate) async fn prove_by_passkey(
        &self,
        token: Secret<String>,
        response: String,
    ) -> Result<(), ApiError> {
        self.api.prove_by_passkey(self.caller, token, response).await
    }

    /// Renders a page.
    pub(crate) fn render(&self, view: View) -> HttpResponse {
        self.render_with(StatusCode::OK, view)
    }

    /// Renders a page again after its form was refused: the error above it and
    /// at the fields that it concerns. Other errors get a page of their own.
    pub(crate) fn refuse(&self, mut view: View, err: ApiError) -> PageResult {
        let status = err.status_code();
        let (code, _) = err.code_and_message();
        if !status.is_client_error() || NOT_OF_FORMS.contains(&code) {
            return Err(err);
        }

        let text = attach_errors(self.language, &mut view, &err)
            .unwrap_or_else(|| errors::text(self.language, &err));
        // Only administrators may open groups.
        let is_admin = self.caller.role == Role::Admin;
        let link = if is_admin { quota_errors::group_link(self.language, &err) } else { None };
        Ok(self.render_with(status, view.refused(text).notice_link(link)))
    }

    /// Renders a page again after one of its forms was refused, with what was
    /// typed into that form.
    pub(crate) fn refuse_typed(
        &self,
        mut view: View,
        typed: &FormFields,
        err: ApiError,
    ) -> PageResult {
        for form in view.forms_mut().filter(|it| it.action == self.path()) {
            form.fields.iter_mut().for_each(|it| it.refill(typed));
        }
        self.refuse(view, err)
    }

    /// Redirects to a page, by its path without the leading slash, and confirms
    /// there what was done: `confirmation` is the name of a text of [`common::done`].
    pub(crate) fn done(&self, path: &str, confirmation: &str) -> PageResult {
        let (page, fragment) = match path.split_once('#') {
            Some((page, fragment)) => (page, format!("#{fragment}")),
            None => (path, String::new()),
        };
        let separator = if page.contains('?') { '&' } else { '?' };
        self.redirect(&format!("{page}{separator}{CONFIRMATION}={confirmation}{fragment}"))
    }

    /// Redirects to a page, by its path without the leading slash. A language
    /// that the query chooses applies there too.
    #[expect(clippy::unnecessary_wraps, reason = "handlers end with it")]
    pub(crate) fn redirect(&self, path: &str) -> PageResult {
        let mut response = redirect(&self.request, path);
        remember_language(&self.request, &mut response);
        Ok(response)
    }

    /// Returns whether the request submits a form.
    pub(crate) fn is_submission(&self) -> bool {
        !self.request.method().is_safe()
    }

    /// Returns the path of this request without its leading slash.
    pub(crate) fn path(&self) -> &str {
        self.request.path().trim_start_matches('/')
    }

    /// Returns the path of the page that is rendered, without its leading slash: that of
    /// this request or, as the answer to a form, of the nearest page above the form's path.
    pub(crate) fn page_path(&self) -> &str {
        nearest_page(&self.request)
    }

    /// Returns the prefix that leads from this page to the root of the server.
    /// The server may be mounted under a path that it does not know, so links
    /// are relative.
    pub(crate) fn root(&self) -> String {
        root(&self.request)
    }

    /// Returns a parameter of the query; empty if it is missing.
    pub(crate) fn query(&self, name: &str) -> String {
        query_value(&self.request, name)
    }

    /// Returns the parameters of the query; none if it is malformed.
    pub(crate) fn query_pairs(&self) -> Vec<(String, String)> {
        query_pairs(&self.request)
    }

    /// Returns the query with a parameter replaced, or added, and without a
    /// confirmation.
    pub(crate) fn query_with(&self, name: &str, value: &str) -> String {
        let mut pairs = self.query_pairs();
        pairs.retain(|it| it.0 != name && it.0 != CONFIRMATION);
        pairs.push((name.to_owned(), value.to_owned()));
        serde_urlencoded::to_string(pairs).unwrap_or_default()
    }

    /// Returns the query of a list's first page, without the parameter that names
    /// another page; `None` if this request is for the first one.
    pub(crate) fn first_page(&self, parameter: &str) -> Option<String> {
        let mut pairs = self.query_pairs();
        let is_later_page = pairs.iter().any(|it| it.0 == parameter);
        pairs.retain(|it| it.0 != parameter && it.0 != CONFIRMATION);
        is_later_page.then(|| serde_urlencoded::to_string(pairs).unwrap_or_default())
    }

    /// Returns the gates, which know the licence in force.
    pub(crate) fn gates(&self) -> Result<&Data<Gates>, ApiError> {
        self.request
            .app_data::<Data<Gates>>()
            .ok_or_else(|| ApiError::internal("no gates are configured"))
    }

    /// Returns whether the licence includes the feature that a page or a form of
    /// this path, without the leading slash, needs.
    pub(crate) fn includes_feature_of(&self, method: &Method, path: &str) -> bool {
        self.gates().is_ok_and(|it| it.includes_feature_of(method, &format!("/{path}")))
    }

    /// Renders a page with its frame, and with the confirmation that the query names
    /// unless it has another notice.
    pub(crate) fn render_with(&self, status: StatusCode, mut view: View) -> HttpResponse {
        if view.notice.is_none() {
            let confirmation = common::done(&self.query(CONFIRMATION));
            view.notice = confirmation.map(|text| Notice::new(self.t(text)));
        }
        unlicensed::omit_forms(self, &mut view);
        let shell = Shell::new(self, &self.server_name, &self.csrf_token);
        let mut response = scripted_page(status, &shell.page(&view));
        remember_language(&self.request, &mut response);
        response
    }

    /// Returns the code of the reason why the licence does not permit a form that is sent to this
    /// path, without the leading slash; `None` if it does.
    pub(crate) fn licence_refusal(&self, path: &str) -> Option<&'static str> {
        let path = format!("/{path}");
        let err = self.gates().ok()?.check_licence_of(&Method::POST, &path).err()?;
        Some(err.code_and_message().0)
    }
}

/// Returns the path of a request without its leading slash or, if no page can be opened there,
/// that of the nearest page above it.
pub(crate) fn nearest_page(request: &HttpRequest) -> &str {
    let gates = request.app_data::<Data<Gates>>();
    let has_page = |pattern: &str| gates.is_none_or(|it| it.has_page(pattern));
    let request_pattern = request.match_pattern().unwrap_or_default();

    let mut path = request.path();
    let mut pattern = request_pattern.as_str();
    while !has_page(pattern) {
        let Some((parent, _)) = pattern.rsplit_once('/') else { break };
        pattern = parent;
        path = path.rsplit_once('/').map_or("", |it| it.0);
    }

    path.trim_start_matches('/')
}

/// Returns the relative prefix from a request's path to the root.
pub(crate) fn root(request: &HttpRequest) -> String {
    "../".repeat(request.path().matches('/').count().saturating_sub(1))
}

/// Redirects to a page of this server, by its path without the leading slash.
pub(crate) fn redirect(request: &HttpRequest, path: &str) -> HttpResponse {
    let mut target = format!("{}{path}", root(request));
    if target.is_empty() {
        target.push_str("./");
    }

    HttpResponse::SeeOther().insert_header((LOCATION, target)).finish()
}

/// Returns a segment of a path for any text, such as a key with a model's name.
pub(crate) fn path_segment(text: &str) -> String {
    let mut segment = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            segment.push(byte.into());
        } else {
            segment.extend(format!("%{byte:02X}").chars());
        }
    }
    segment
}

/// Returns the pairs of a request's query; none if it is malformed.
fn query_pairs(request: &HttpRequest) -> Vec<(String, String)> {
    serde_urlencoded::from_str(request.query_string()).unwrap_or_default()
}

/// Returns a parameter of a request's query; empty if it is missing.
pub(crate) fn query_value(request: &HttpRequest, name: &str) -> String {
    query_pairs(request).into_iter().find(|it| it.0 == name).unwrap_or_default().1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded_in_paths() {
        assert_eq!(path_segment("LocalAuth:Registration"), "LocalAuth:Registration");
        assert_eq!(path_segment("A:b/c d?ü"), "A:b%2Fc%20d%3F%C3%BC");
    }
}
