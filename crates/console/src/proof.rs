//! Proof that the person at the browser owns the account.
//!
//! A form whose handler takes a `ProvedForm` is submitted in two steps if the last
//! proof is too old: the first submission is answered with a page that asks for a
//! proof and repeats all fields, and the second submission, with the proof, reaches
//! the handler.

use actix_web::dev::Payload;
use actix_web::error::InternalError;
use actix_web::{Error, FromRequest, HttpRequest, HttpResponse, ResponseError as _};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use pia_identity::{FactorAnswer, ReauthProof};
use pia_kernel::Secret;
use pia_web::ApiError;

use crate::account::owner_proofs::OwnerProofs;
use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::ui::{Field, Form, Section, Text, View};
use crate::upload::UploadForm;

/// Name of the field with the proof.
pub(crate) const PROOF: &str = "proof";
/// Name of the field with the value of a secret setting.
pub(crate) const SECRET_VALUE: &str = "secret";

/// Names of the fields with a passkey's response, which the script fills in.
const CHALLENGE: &str = "challengeToken";
const CREDENTIAL: &str = "credential";
/// Fields that are not sent again.
const NOT_REPEATED: [&str; 4] = ["csrfToken", PROOF, CHALLENGE, CREDENTIAL];

/// Error of a form without a proof. It is no mistake of the sender.
const PROOF_MISSING: &str = "fresh_sign_in_required";

/// Fields of a submitted form whose sender is the owner of the account: the form has a proof, or
/// the sign-in or the last proof is less than ten minutes old. Everyone else gets a page that asks
/// for the proof, and the handler is not called. That page repeats all values except for secrets,
/// which it asks for again.
pub(crate) struct ProvedForm(pub(crate) FormFields);

impl FromRequest for ProvedForm {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let page = PageContext::extract(request);
        let fields = FormFields::from_request(request, payload);
        async move {
            let page = page.await?;
            let fields = fields.await?;
            match ask_for_proof(&page, &fields).await? {
                None => Ok(Self(fields)),
                Some(question) => {
                    Err(Error::from(InternalError::from_response("no proof", question)))
                }
            }
        }
        .boxed_local()
    }
}

/// Returns the page that asks for a proof and then sends the form again; `None` if none is needed.
/// It is for forms that need one in some cases only; the others take a [`ProvedForm`].
pub(crate) async fn ask_for_proof(
    page: &PageContext,
    fields: &FormFields,
) -> Result<Option<HttpResponse>, ApiError> {
    ask(page, fields, |form| form).await
}

/// Returns the page that asks for a proof of a form with a file, which is chosen again there;
/// `None` if none is needed.
pub(crate) async fn ask_for_upload_proof(
    page: &PageContext,
    upload: &UploadForm,
    file: impl Fn() -> Field,
) -> Result<Option<HttpResponse>, ApiError> {
    let with_file = |form: Form| form.field(file().hint(page.t(CHOOSE_AGAIN))).with_files();
    ask(page, &upload.fields, with_file).await
}

/// Returns the page that asks for a proof, with forms that `complete` adds to.
async fn ask(
    page: &PageContext,
    fields: &FormFields,
    complete: impl Fn(Form) -> Form,
) -> Result<Option<HttpResponse>, ApiError> {
    let proofs = OwnerProofs::load(page).await?;
    let outcome = match fields.some(CREDENTIAL) {
        Some(credential) => page.prove_by_passkey(fields.secret(CHALLENGE), credential).await,
        None => page.require_owner(proofs.parse(fields)).await,
    };
    let Err(err) = outcome else { return Ok(None) };

    let mut view = View::new(page.t(TITLE)).intro(page.t(INTRO));
    if proofs.has_any() {
        let form = proofs.with_field(page, complete(repeated_form(page, fields, CONFIRM)));
        view = view.section(Section::new("owner", "").form(form));
    }

    if has_passkey(page).await? {
        let form = Form {
            script: "passkey-proof",
            ..complete(repeated_form(page, fields, USE_PASSKEY))
                .hidden(CHALLENGE, "")
                .hidden(CREDENTIAL, "")
        };
        view = view.section(Section::new("passkey", "").form(form));
    }
    if view.sections.is_empty() {
        view = view.section(Section::new("owner", "").paragraph(page.t(NO_PROOF)));
    }

    let (code, _) = err.code_and_message();
    if code == PROOF_MISSING {
        return Ok(Some(page.render_with(err.status_code(), view)));
    }
    page.refuse(view, err).map(Some)
}

/// Returns a form that sends the fields again, without their proof. Secrets are entered again.
fn repeated_form(page: &PageContext, fields: &FormFields, submit: Text) -> Form {
    let mut form = Form::new(page.path(), page.t(submit));
    for (name, value) in fields.pairs().filter(|it| !NOT_REPEATED.contains(&it.0)) {
        form = match SECRETS.iter().find(|it| it.0 == name) {
            None => form.hidden(name, value),
            Some(_) if value.is_empty() => form,
            Some((_, label)) => {
                let secret = Field::password(name, page.t(*label), "off");
                form.field(secret.hint(page.t(ENTER_AGAIN)))
            }
        };
    }
    form
}

/// Returns whether the account has a passkey that is not blocked.
async fn has_passkey(page: &PageContext) -> Result<bool, ApiError> {
    let user = page.user();
    let entries = page.run(|api| async move { api.identity.passkeys.list(user).await }).await?;
    let is_available = page.api.identity.passkey_sign_in.is_available();
    Ok(is_available && entries.iter().any(|it| it.blocked_at.is_none()))
}

/// Returns the proof in a form: a code of an authenticator app, or else a
/// password. `None` if the field is empty.
pub(crate) fn proof(fields: &FormFields) -> Option<ReauthProof> {
    let typed = fields.some(PROOF)?;
    Some(match authenticator_code(&typed) {
        Some(code) => ReauthProof::Factor(FactorAnswer::Code(code)),
        None => ReauthProof::Password(fields.secret(PROOF)),
    })
}

/// Returns a typed code of an authenticator app without its spaces; `None` if
/// the text is not six digits.
pub(crate) fn authenticator_code(typed: &str) -> Option<Secret<String>> {
    let code: String = typed.split_whitespace().collect();
    let is_code = code.len() == 6 && code.bytes().all(|it| it.is_ascii_digit());
    is_code.then(|| Secret::new(code))
}

const TITLE: Text = Text::new("Confirm your identity", "Identität bestätigen");
const INTRO: Text = Text::new(
    "You signed in more than ten minutes ago. Confirm your identity to continue.",
    "Sie haben sich vor mehr als zehn Minuten angemeldet. Bestätigen Sie Ihre Identität, um \
     fortzufahren.",
);
const CONFIRM: Text = Text::new("Confirm", "Bestätigen");
const NO_PROOF: Text = Text::new(
    "Your account has no password, authenticator app or passkey. Sign out and in again, then \
     repeat this within ten minutes.",
    "Ihr Konto hat weder Passwort noch Authenticator-App oder Passkey. Melden Sie sich ab und \
     wieder an, und wiederholen Sie dies innerhalb von zehn Minuten.",
);
const USE_PASSKEY: Text = Text::new("Use a passkey", "Passkey verwenden");

const ENTER_AGAIN: Text = Text::new(
    "Enter this again: it was not stored.",
    "Geben Sie dies erneut ein: Es wurde nicht gespeichert.",
);
const CHOOSE_AGAIN: Text = Text::new(
    "Choose the file again: it was not stored.",
    "Wählen Sie die Datei erneut aus: Sie wurde nicht gespeichert.",
);

/// Fields with secrets of forms that need a proof, by name: no page repeats their values.
const SECRETS: [(&str, Text); 4] = [
    ("key", Text::new("API key", "API-Schlüssel")),
    ("password", Text::new("Password of the mail server", "Passwort des Mailservers")),
    (SECRET_VALUE, Text::new("Value", "Wert")),
    ("token", Text::new("Access token of the MCP server", "Zugriffstoken des MCP-Servers")),
];
