//! Test support for these pages: a recording service, and parsed responses.

use std::sync::{Arc, Mutex};

use actix_web::body::to_bytes;
use actix_web::test::TestRequest;
use actix_web::{HttpRequest, HttpResponse};
use async_trait::async_trait;
use pia_identity::RegistrationRules;
use pia_kernel::{Language, RequestContext, Secret, Unavailable, UserId};
use pia_web::Runner;

use crate::AccountPages;
use crate::accounts::{
    AccountService, EmailRequestResult, PasswordResetInput, PasswordResetResult, RegistrationInput,
    RegistrationResult, RequestedEmail, VerificationResult,
};

/// Account service with fixed results.
pub(crate) struct Accounts {
    pub(crate) rules: RegistrationRules,
    pub(crate) registration: RegistrationResult,
    pub(crate) verified: VerificationResult,
    pub(crate) email_request: EmailRequestResult,
    pub(crate) reset: PasswordResetResult,
    pub(crate) is_away: bool,
    /// Recorded calls.
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) registrations: Mutex<Vec<RegistrationInput>>,
    pub(crate) language: Mutex<Option<Language>>,
}

impl Default for Accounts {
    fn default() -> Self {
        Self {
            rules: RegistrationRules::default(),
            registration: RegistrationResult::Created,
            verified: VerificationResult::Verified,
            email_request: EmailRequestResult::Accepted,
            reset: PasswordResetResult::Changed,
            is_away: false,
            calls: Mutex::default(),
            registrations: Mutex::default(),
            language: Mutex::default(),
        }
    }
}

impl Accounts {
    pub(crate) fn requests(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    fn record(&self, call: String) -> Result<(), Unavailable> {
        self.calls.lock().unwrap().push(call);
        *self.language.lock().unwrap() = RequestContext::current().language;
        if self.is_away {
            let cause = std::io::Error::other("host db.secret.example is down");
            return Err(Unavailable::new("the accounts", cause));
        }
        Ok(())
    }
}

#[async_trait]
impl AccountService for Accounts {
    fn rules(&self) -> Arc<RegistrationRules> {
        Arc::new(self.rules.clone())
    }

    async fn register(
        &self,
        registration: RegistrationInput,
    ) -> Result<RegistrationResult, Unavailable> {
        self.record(format!("register {}", registration.email))?;
        self.registrations.lock().unwrap().push(registration);
        Ok(self.registration.clone())
    }

    async fn verify_email(
        &self,
        user: UserId,
        token: Secret<String>,
    ) -> Result<VerificationResult, Unavailable> {
        self.record(format!("verify {user} {}", token.expose()))?;
        Ok(self.verified)
    }

    async fn request_email(
        &self,
        kind: RequestedEmail,
        email: String,
    ) -> Result<EmailRequestResult, Unavailable> {
        self.record(format!("mail {kind:?} to {email}"))?;
        Ok(self.email_request)
    }

    async fn reset_password(
        &self,
        input: PasswordResetInput,
    ) -> Result<PasswordResetResult, Unavailable> {
        self.record(format!(
            "reset {} {} {}",
            input.email,
            input.token.expose(),
            input.password.expose()
        ))?;
        Ok(self.reset.clone())
    }
}

pub(crate) fn account_pages(accounts: Arc<Accounts>) -> AccountPages {
    AccountPages {
        accounts,
        name: "Pia at Example".to_owned(),
        providers: Vec::new(),
        has_passkeys: false,
        public_url: "https://pia.example.com/pia".to_owned(),
        locations: None,
        runner: Runner::on_current_runtime(),
    }
}

/// Returns a GET request for a page.
pub(crate) fn get_request(uri: &str) -> HttpRequest {
    TestRequest::get().uri(uri).to_http_request()
}

/// Returns a POST request with a form of this server.
pub(crate) fn form_request(uri: &str) -> HttpRequest {
    let content_type = ("content-type", "application/x-www-form-urlencoded");
    TestRequest::post().uri(uri).insert_header(content_type).to_http_request()
}

/// Response with its body, as tests of pages compare it.
pub(crate) struct RenderedPage {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl RenderedPage {
    pub(crate) async fn from_response(response: HttpResponse) -> Self {
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()))
            .collect();
        let body = to_bytes(response.into_body()).await.unwrap();
        Self { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|it| it.0 == name).map_or("", |it| it.1.as_str())
    }

    /// Returns the target of a redirect.
    pub(crate) fn location(&self) -> &str {
        self.header("location")
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// Returns the targets of its links, forms and files.
    pub(crate) fn targets(&self) -> Vec<&str> {
        let targets_of = |name| self.text.split(name).skip(1).filter_map(|it| it.split('"').next());
        ["href=\"", "action=\"", "src=\""].into_iter().flat_map(targets_of).collect()
    }
}
