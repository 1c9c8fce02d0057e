//! Forms of the sign-in.

use pia_identity::{BrowserArea, Provider};
use pia_kernel::{Language, Secret};

use crate::texts::sign_in as texts;
use crate::ui::view::{Link, SectionPart};
use crate::ui::{Field, Form, Section, Text, View};

/// Maximum length of a path that a sign-in at an identity provider returns as its
/// state, in bytes. A longer state would be refused.
const MAX_STATE_BYTES: usize = 1024;

/// Values of a sign-in page.
pub(super) struct SignInView<'a> {
    pub(super) language: Language,
    pub(super) area: BrowserArea,
    /// First segment of the area's paths.
    pub(super) folder: &'static str,
    /// Path to open afterwards; empty for the first page of the area.
    pub(super) return_path: &'a str,
    /// Typed address.
    pub(super) email: &'a str,
    /// Identity providers that are configured.
    pub(super) providers: &'a [Provider],
    /// True if accounts may have passkeys.
    pub(super) has_passkeys: bool,
}

impl SignInView<'_> {
    /// Returns the page with every way to sign in.
    pub(super) fn password(&self) -> View {
        let title = match self.area {
            BrowserArea::Console => texts::CONSOLE_TITLE,
            BrowserArea::Account => texts::ACCOUNT_TITLE,
        };

        let autocomplete = if self.has_passkeys { "username webauthn" } else { "username" };
        let form = Form::new(self.target(""), self.t(texts::SIGN_IN))
            .field(Field::input("email", self.t(texts::EMAIL), "email", autocomplete, self.email))
            .field(Field::password("password", self.t(texts::PASSWORD), "current-password"))
            .hidden("next", self.return_path);
        let mut view = View::new(self.t(title)).section(Section::new("password", "").form(form));
        if self.has_passkeys {
            view = view.section(self.passkey());
        }
        if !self.providers.is_empty() {
            view = view.section(self.providers());
        }

        view.section(Section::new("help", "").part(SectionPart::Links(self.help())))
    }

    /// Returns the page that requests the second factor.
    pub(super) fn factor(&self, challenge: &Secret<String>) -> View {
        let code = Field::input("code", self.t(texts::CODE), "text", "one-time-code", "")
            .hint(self.t(texts::CODE_HINT));
        let form = Form::new(self.target("/factor"), self.t(texts::SIGN_IN))
            .field(code)
            .hidden("mfaToken", challenge.expose())
            .hidden("next", self.return_path);
        View::new(self.t(texts::FACTOR_TITLE)).section(Section::new("factor", "").form(form))
    }

    fn passkey(&self) -> Section {
        let form = Form {
            script: "passkey-get",
            ..Form::new(self.target("/passkey"), self.t(texts::WITH_PASSKEY))
                .hidden("challengeToken", "")
                .hidden("credential", "")
                .hidden("next", self.return_path)
        };
        Section::new("passkey", "").form(form)
    }

    fn providers(&self) -> Section {
        let links = self.providers.iter().map(|provider| self.provider_link(*provider)).collect();
        Section::new("providers", "").part(SectionPart::Links(links))
    }

    fn provider_link(&self, provider: Provider) -> Link {
        let target = format!("/{}/login", self.folder);
        let mut parameters = vec![("provider", provider.name()), ("redirect_uri", target.as_str())];
        // The provider leads back to the sign-in page with the same state.
        if !self.return_path.is_empty() && self.return_path.len() <= MAX_STATE_BYTES {
            parameters.push(("state", self.return_path));
        }

        let query = serde_urlencoded::to_string(parameters).unwrap_or_default();
        let name = texts::provider(provider).of(self.language);
        Link {
            label: texts::CONTINUE_WITH.fill(self.language, &[name]),
            path: format!("auth/login?{query}"),
        }
    }

    fn help(&self) -> Vec<Link> {
        let link = |label: Text, path: &str| Link {
            label: self.t(label).to_owned(),
            path: path.to_owned(),
        };
        let forgot = link(texts::FORGOT, "auth/forgot-password.html");
        match self.area {
            BrowserArea::Console => vec![forgot, link(texts::TO_ACCOUNT, "account/login")],
            BrowserArea::Account => vec![forgot, link(texts::REGISTER, "auth/register.html")],
        }
    }

    fn target(&self, step: &str) -> String {
        format!("{}/sign-in{step}", self.folder)
    }

    fn t(&self, text: Text) -> &'static str {
        text.of(self.language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_provider_names_the_requested_page_unless_it_is_too_long() {
        let path = |return_path: &str| {
            let view = SignInView {
                language: Language::En,
                area: BrowserArea::Account,
                folder: "account",
                return_path,
                email: "",
                providers: &[],
                has_passkeys: false,
            };
            view.provider_link(Provider::Oidc).path
        };
        let first = "auth/login?provider=oidc&redirect_uri=%2Faccount%2Flogin";

        assert_eq!(path(""), first);
        assert_eq!(path("/account/keys?a=b"), format!("{first}&state=%2Faccount%2Fkeys%3Fa%3Db"));
        assert_eq!(path(&"x".repeat(MAX_STATE_BYTES + 1)), first);
    }
}
