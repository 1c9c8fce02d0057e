//! Start and end of a browser's session.
//!
//! Each way to sign in has a handler: `password`, `factor` for its second step,
//! `passkey`, and `show`, which also receives a browser that comes back from an
//! identity provider. All of them end in `SignInPage::signed_in`, which sets the
//! cookie and redirects.

use actix_web::http::header::SET_COOKIE;
use actix_web::http::{Method, StatusCode};
use actix_web::web::Data;
use actix_web::{HttpResponse, ResponseError as _};
use pia_identity::{BrowserSignInError, FactorAnswer, RevokeError, SignInError};
use pia_kernel::Secret;
use pia_web::{Gates, RawBody};

use super::SignInPage;
use super::form::SignInView;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult, query_value};
use crate::proof::authenticator_code;
use crate::texts::{common, errors, sign_in as texts};
use crate::ui::view::{Link, Notice, SectionPart};
use crate::ui::{Section, View};

/// Renders the sign-in page, or completes a sign-in at an identity provider
/// that led back to it.
pub(crate) async fn show(page: SignInPage) -> PageResult {
    let code = query_value(&page.request, "code");
    if !code.is_empty() && page.request.method() == Method::GET {
        return complete(&page, Secret::new(code)).await;
    }

    let return_path = page.return_path();
    let done = common::done(&query_value(&page.request, "done"));
    let notice = done.map(|it| Notice::new(it.of(page.language)));
    let view = View { notice, ..page.view(&return_path, "").password() };
    let error = query_value(&page.request, "error");
    if error.is_empty() {
        return Ok(page.render(StatusCode::OK, &view));
    }

    let message = texts::PROVIDER_FAILED.of(page.language);

    Ok(page.render(StatusCode::UNAUTHORIZED, &view.error(message)))
}

/// Signs in with a password.
pub(crate) async fn password(page: SignInPage, body: RawBody) -> PageResult {
    let fields = page.fields(&body)?;
    let email = fields.text("email").to_owned();
    let return_path = fields.text("next").to_owned();
    let sign_in = page.api.identity.browser_sign_in.clone();
    let device = page.device()?;
    let area = page.area;
    let typed = email.clone();
    let password = fields.secret("password");
    let login = async move {
        match Box::pin(sign_in.password(area, &typed, password, device)).await {
            Err(BrowserSignInError::Password(SignInError::FactorNeeded { challenge })) => {
                Ok(Err(challenge))
            }
            result => result.map(Ok),
        }
    };

    match page.sign_ins().run(login).await {
        Ok(Ok(session)) => Ok(page.signed_in(&session, &return_path)),
        Ok(Err(challenge)) => {
            Ok(page.render(StatusCode::OK, &page.view(&return_path, &email).factor(&challenge)))
        }
        Err(err) => page.refuse(page.view(&return_path, &email).password(), err),
    }
}

/// Continues a sign-in with the second factor.
pub(crate) async fn factor(page: SignInPage, body: RawBody) -> PageResult {
    let fields = page.fields(&body)?;
    let return_path = fields.text("next").to_owned();
    let device = page.device()?;
    let area = page.area;

    let challenge = fields.secret("mfaToken");
    let answer = factor_answer(&fields, "code");
    let token = challenge.clone();
    let result = page
        .run(|api| async move {
            api.identity.browser_sign_in.factor(area, &token, &answer, device).await
        })
        .await;

    match result {
        Ok(session) => Ok(page.signed_in(&session, &return_path)),
        // The challenge is over: only a new one can succeed.
        Err(err) if err.code_and_message().0 == "invalid_mfa_token" => {
            page.refuse(page.view(&return_path, "").password(), err)
        }
        Err(err) => page.refuse(page.view(&return_path, "").factor(&challenge), err),
    }
}

/// Signs in with a passkey.
pub(crate) async fn passkey(page: SignInPage, body: RawBody) -> PageResult {
    let fields = page.fields(&body)?;
    let return_path = fields.text("next").to_owned();
    let device = page.device()?;
    let area = page.area;
    let token = fields.secret("challengeToken");
    let credential = fields.text("credential").to_owned();
    let result = page
        .run(|api| async move {
            api.identity.browser_sign_in.passkey(area, &token, &credential, device).await
        })
        .await;

    match result {
        Ok(session) => Ok(page.signed_in(&session, &return_path)),
        Err(err) => page.refuse(page.view(&return_path, "").password(), err),
    }
}

/// Signs out and returns to the sign-in page.
pub(crate) async fn sign_out(page: PageContext, _: FormFields, gates: Data<Gates>) -> PageResult {
    let session = pia_web::Caller(page.caller).session_ref()?;
    page.run(|api| async move {
        match api.identity.consoles.end(session).await {
            // It has already ended.
            Err(RevokeError::Unknown | RevokeError::Gone) => Ok(()),
            result => result,
        }
    })
    .await?;
    let mut response = page.redirect("account/login?done=signed-out")?;
    if let Ok(cookie) = gates.console_cookie.clear().parse() {
        response.headers_mut().append(SET_COOKIE, cookie);
    }

    Ok(response)
}

/// Redeems the code of an identity provider. The page links to the wanted one
/// instead of redirecting: the navigation began at another site, to which
/// browsers do not send the new cookie.
async fn complete(page: &SignInPage, code: Secret<String>) -> PageResult {
    let device = page.device()?;
    let area = page.area;
    let return_path = page.return_path();
    let verifier =
        page.api.browsers.verifier(&page.request).unwrap_or_else(|| Secret::new(String::new()));
    let result = page
        .run(|api| async move {
            api.identity.browser_sign_in.code(area, &code, &verifier, device).await
        })
        .await;
    let session = match result {
        Ok(session) => session,
        Err(err) => {
            let text = errors::text(page.language, &err);
            let view = page.view(&return_path, "").password().refused(text);
            return Ok(page.render(err.status_code(), &view));
        }
    };

    let label = texts::CONTINUE.of(page.language).to_owned();
    let target = page.path_after_sign_in(&return_path);
    let link = Link { label, path: target.to_owned() };
    let view = View::new(texts::SIGNED_IN.of(page.language))
        .section(Section::new("next", "").part(SectionPart::Links(vec![link])));
    let mut response: HttpResponse = page.render(StatusCode::OK, &view);
    page.set_cookie(&session, &mut response);

    // Equivalent to following the link.
    if let Ok(value) = format!("0; url=../{target}").parse() {
        response.headers_mut().insert(super::REFRESH, value);
    }

    Ok(response)
}

/// Returns the second factor in a field: a code of an authenticator app, or else
/// a recovery code.
pub(crate) fn factor_answer(fields: &FormFields, name: &str) -> FactorAnswer {
    authenticator_code(fields.text(name))
        .map_or_else(|| FactorAnswer::RecoveryCode(fields.secret(name)), FactorAnswer::Code)
}

impl SignInPage {
    fn view<'a>(&'a self, return_path: &'a str, email: &'a str) -> SignInView<'a> {
        SignInView {
            language: self.language,
            area: self.area,
            folder: self.folder(),
            return_path,
            email,
            providers: &self.pages.providers,
            has_passkeys: self.pages.has_passkeys,
        }
    }
}
