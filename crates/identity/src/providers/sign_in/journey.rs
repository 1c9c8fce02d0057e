//! Requests and outcomes of the steps of a sign-in with a provider.

use pia_kernel::Secret;

use crate::sign_in::SignedIn;

/// Request of a client to sign in with a provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderSignInRequest {
    /// Provider named in the path.
    pub provider: Option<String>,
    /// Redirect target, unvalidated; `None` returns to this browser.
    pub target: Option<String>,
    /// Challenge that only the client can answer.
    pub challenge: Option<String>,
    /// Method by which the challenge was derived.
    pub challenge_method: Option<String>,
    /// State to return to the client.
    pub state: Option<String>,
}

/// A started sign-in: its next step is at the provider.
#[derive(Debug, Clone)]
pub struct ProviderRedirect {
    /// URL of the provider that the browser is redirected to.
    pub url: String,
    /// Secret that the browser stores, and presents when it returns.
    pub browser: Secret<String>,
}

/// Parameters with which a provider redirects a browser back.
#[derive(Debug, Clone, Default)]
pub struct ProviderCallback {
    /// State that the redirect had; it finds the flow.
    pub state: Option<Secret<String>>,
    /// Code to redeem at the provider.
    pub code: Option<Secret<String>>,
    /// Reason for the absence of a code.
    pub error: Option<String>,
    /// Issuer that the provider claims to be.
    pub issuer: Option<String>,
}

/// Outcome of a sign-in with a provider.
#[derive(Debug, Clone)]
pub enum CallbackOutcome {
    /// Browser is redirected to the target with a one-time code.
    Onward {
        /// URL of the target, with the code in its query.
        url: String,
        /// Verifier that redeems the code; `None` if a program has it.
        verifier: Option<Secret<String>>,
    },
    /// Browser is signed in, without a redirect.
    Here(SignedIn),
}
