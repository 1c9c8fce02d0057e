//! What is told at each step of a sign-in at a provider.

use pia_kernel::Secret;

use crate::sign_in::SignedIn;

/// What a client asks for that signs in at a provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderWish {
    /// At which one.
    pub provider: Option<String>,
    /// Where it is to lead.
    pub target: Option<String>,
    /// What only the client can answer.
    pub challenge: Option<String>,
    /// How the challenge was made.
    pub challenge_method: Option<String>,
    /// What it wants to hear again.
    pub state: Option<String>,
}

/// A sign-in that has begun.
#[derive(Debug, Clone)]
pub struct BegunAtProvider {
    /// Where the browser goes.
    pub url: String,
    /// What the browser keeps, and shows when it comes back.
    pub browser: Secret<String>,
}

/// What a provider sends a browser back with.
#[derive(Debug, Clone, Default)]
pub struct ProviderAnswer {
    /// By which the sign-in is known again.
    pub state: Option<Secret<String>>,
    /// What can be redeemed at the provider.
    pub code: Option<Secret<String>>,
    /// Why there is no code.
    pub error: Option<String>,
    /// Who the provider says it is.
    pub issuer: Option<String>,
}

/// What came of a sign-in at a provider.
#[derive(Debug, Clone)]
pub enum Arrived {
    /// The browser goes on to where the sign-in leads, with a one-time code.
    Onward {
        /// Where that is.
        url: String,
        /// What redeems the code; nothing where a program has it.
        verifier: Option<Secret<String>>,
    },
    /// The sign-in leads nowhere else.
    Here(SignedIn),
}
