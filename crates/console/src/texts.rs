//! Texts of the pages, in each language. A text that is missing in one does not
//! compile.
//!
//! `Texts` has those of the pages of `auth`, `setup` and the front page, in `en.rs`
//! and `de.rs`. Texts of the console and the account pages are `Text` constants in
//! the files of their pages; those that several pages use are in `common.rs`.

mod account_errors;
pub(crate) mod common;
mod de;
mod en;
pub(crate) mod errors;
pub(crate) mod field_errors;
mod field_messages;
mod licence_errors;
pub(crate) mod limits;
pub(crate) mod quota_errors;
mod setting_reasons;
pub(crate) mod settings;
pub(crate) mod sign_in;

use pia_identity::{FirstAdminError, Violation};
use pia_kernel::{Language, Timestamp};
use pia_policy::{InstallError, LicenceError};

/// Texts of the pages in one language.
pub(crate) struct Texts {
    /// Name of the other language, in that language.
    pub(crate) other_language: &'static str,
    /// Prefix of the title when there is an error.
    pub(crate) error: &'static str,
    /// Heading of the list of errors of a form.
    pub(crate) problem: &'static str,
    /// Suffix of the label of an optional field.
    pub(crate) optional: &'static str,
    pub(crate) register: RegisterTexts,
    pub(crate) forgot: EmailPageTexts,
    pub(crate) resend: EmailPageTexts,
    pub(crate) reset: ResetTexts,
    pub(crate) verify: VerifyTexts,
    pub(crate) field_errors: FieldErrorTexts,
    pub(crate) reasons: ReasonTexts,
    pub(crate) refusals: RefusalTexts,
    pub(crate) front: FrontTexts,
    pub(crate) setup: SetupTexts,
}

/// Page that displays a message.
#[derive(Clone, Copy)]
pub(crate) struct NoticeTexts {
    pub(crate) title: &'static str,
    pub(crate) paragraphs: &'static [&'static str],
}

pub(crate) struct RegisterTexts {
    pub(crate) title: &'static str,
    pub(crate) intro: &'static str,
    pub(crate) email: &'static str,
    pub(crate) password: &'static str,
    pub(crate) password_hint: fn(usize) -> String,
    pub(crate) name: &'static str,
    pub(crate) customer: &'static str,
    pub(crate) business: &'static str,
    pub(crate) consumer: &'static str,
    pub(crate) company: &'static str,
    pub(crate) company_hint: &'static str,
    pub(crate) invitation: &'static str,
    pub(crate) invitation_hint: &'static str,
    pub(crate) send: &'static str,
    pub(crate) forgotten: &'static str,
    pub(crate) done: NoticeTexts,
    pub(crate) mailed: NoticeTexts,
    /// Texts where registration is closed.
    pub(crate) closed: NoticeTexts,
    /// Refusal of this address.
    pub(crate) not_you: &'static str,
    pub(crate) not_invited: &'static str,
    pub(crate) seats_taken: &'static str,
    pub(crate) email_taken: &'static str,
}

/// Page that requests an email with a link.
pub(crate) struct EmailPageTexts {
    pub(crate) title: &'static str,
    pub(crate) intro: &'static str,
    pub(crate) send: &'static str,
    pub(crate) mailed: NoticeTexts,
    pub(crate) no_mail: NoticeTexts,
}

pub(crate) struct ResetTexts {
    pub(crate) title: &'static str,
    pub(crate) intro: &'static str,
    pub(crate) account: &'static str,
    pub(crate) password: &'static str,
    pub(crate) send: &'static str,
    pub(crate) done: NoticeTexts,
    pub(crate) spent: NoticeTexts,
    pub(crate) again: &'static str,
}

pub(crate) struct VerifyTexts {
    pub(crate) title: &'static str,
    pub(crate) intro: &'static str,
    pub(crate) send: &'static str,
    pub(crate) done: NoticeTexts,
    pub(crate) spent: NoticeTexts,
    pub(crate) again: &'static str,
}

/// Messages for invalid fields.
pub(crate) struct FieldErrorTexts {
    pub(crate) email_missing: &'static str,
    pub(crate) email_invalid: &'static str,
    pub(crate) password_missing: &'static str,
    pub(crate) password_short: fn(usize) -> String,
    pub(crate) password_long: &'static str,
    pub(crate) password_common: &'static str,
    pub(crate) password_personal: &'static str,
    pub(crate) name_invalid: &'static str,
    pub(crate) customer_missing: &'static str,
    pub(crate) company_missing: &'static str,
    pub(crate) company_invalid: &'static str,
    pub(crate) other: &'static str,
}

/// Reasons for a failed sign-in in the browser.
pub(crate) struct ReasonTexts {
    pub(crate) title: &'static str,
    /// Advice below the message, for every reason.
    pub(crate) then: &'static str,
    pub(crate) access_denied: &'static str,
    pub(crate) email_exists: &'static str,
    pub(crate) email_missing: &'static str,
    pub(crate) email_not_verified: &'static str,
    pub(crate) user_limit_reached: &'static str,
    pub(crate) license_expired: &'static str,
    pub(crate) registration_closed: &'static str,
    pub(crate) free_tier_suspended: &'static str,
    pub(crate) provider_error: &'static str,
    pub(crate) provider_unreachable: &'static str,
    pub(crate) provider_not_configured: &'static str,
    pub(crate) unknown_provider: &'static str,
    pub(crate) code_challenge_required: &'static str,
    /// Client started the sign-in with invalid parameters.
    pub(crate) invalid_request: &'static str,
    pub(crate) invalid_state: &'static str,
    pub(crate) expired: &'static str,
    pub(crate) feature_not_licensed: &'static str,
    pub(crate) account_deactivated: &'static str,
    pub(crate) unavailable: &'static str,
    pub(crate) server_error: &'static str,
    pub(crate) other: &'static str,
}

/// Messages of pages that cannot do what was requested.
pub(crate) struct RefusalTexts {
    pub(crate) broken_link: NoticeTexts,
    pub(crate) broken_form: NoticeTexts,
    pub(crate) no_page: NoticeTexts,
    pub(crate) only_form: NoticeTexts,
    pub(crate) foreign_form: NoticeTexts,
    pub(crate) forbidden: NoticeTexts,
    /// The account owes its declaration as a business.
    pub(crate) undeclared: NoticeTexts,
    /// The account owes the verification of its address.
    pub(crate) unverified: NoticeTexts,
    pub(crate) too_long: NoticeTexts,
    pub(crate) no_license: NoticeTexts,
    pub(crate) license_expired: NoticeTexts,
    pub(crate) unlicensed: NoticeTexts,
    pub(crate) too_many: NoticeTexts,
    pub(crate) unavailable: NoticeTexts,
    pub(crate) failed: NoticeTexts,
}

/// Front page.
pub(crate) struct FrontTexts {
    pub(crate) intro: &'static str,
    pub(crate) unlicensed: &'static str,
    pub(crate) set_up: &'static str,
    pub(crate) account: &'static str,
    pub(crate) console: &'static str,
    pub(crate) register: &'static str,
    pub(crate) forgot: &'static str,
    pub(crate) api: &'static str,
}

/// Page that sets the server up.
pub(crate) struct SetupTexts {
    pub(crate) title: &'static str,
    pub(crate) no_license: &'static str,
    pub(crate) refused: fn(&LicenceError) -> String,
    pub(crate) ended: fn(Timestamp) -> String,
    pub(crate) no_admin: &'static str,
    pub(crate) done: NoticeTexts,
    /// Label of the link to the first steps.
    pub(crate) next: &'static str,
    pub(crate) token: &'static str,
    pub(crate) token_hint: &'static str,
    pub(crate) license: &'static str,
    pub(crate) license_hint: &'static str,
    pub(crate) install: &'static str,
    pub(crate) password_hint: &'static str,
    pub(crate) create: &'static str,
    pub(crate) install_error: fn(&InstallError) -> String,
    pub(crate) admin_error: fn(&FirstAdminError) -> String,
}

impl Texts {
    pub(crate) fn in_language(language: Language) -> &'static Self {
        match language {
            Language::En => &en::TEXTS,
            Language::De => &de::TEXTS,
        }
    }

    /// Returns the message for a violation. `fewest` is the minimum length of a
    /// password, in characters.
    pub(crate) fn field_error(&self, violation: &Violation, fewest: usize) -> String {
        let field_errors = &self.field_errors;
        let text = match (violation.field, violation.code) {
            ("email", "required") => field_errors.email_missing,
            ("email", _) => field_errors.email_invalid,
            ("password" | "newPassword", "required") => field_errors.password_missing,
            ("password" | "newPassword", "too_short") => {
                return (field_errors.password_short)(fewest);
            }
            ("password" | "newPassword", "too_long") => field_errors.password_long,
            ("password" | "newPassword", "common") => field_errors.password_common,
            ("password" | "newPassword", "personal") => field_errors.password_personal,
            ("displayName", _) => field_errors.name_invalid,
            ("customerType", _) => field_errors.customer_missing,
            ("companyName", "required") => field_errors.company_missing,
            ("companyName", _) => field_errors.company_invalid,
            _ => field_errors.other,
        };

        text.to_owned()
    }
}

impl ReasonTexts {
    /// Returns the message for a reason. It comes from a URL and is untrusted,
    /// so it is never repeated.
    pub(crate) fn reason_text(&self, reason: &str) -> &'static str {
        match reason {
            "access_denied" => self.access_denied,
            "email_exists" => self.email_exists,
            "email_missing" => self.email_missing,
            "email_not_verified" => self.email_not_verified,
            "user_limit_reached" => self.user_limit_reached,
            "license_expired" => self.license_expired,
            "registration_closed" => self.registration_closed,
            "free_tier_suspended" => self.free_tier_suspended,
            "provider_error" => self.provider_error,
            "provider_unreachable" => self.provider_unreachable,
            "provider_not_configured" => self.provider_not_configured,
            "unknown_provider" => self.unknown_provider,
            "code_challenge_required" => self.code_challenge_required,
            "code_challenge_invalid"
            | "code_challenge_unexpected"
            | "invalid_redirect_uri"
            | "validation_failed" => self.invalid_request,
            "invalid_state" => self.invalid_state,
            "expired" => self.expired,
            "feature_not_licensed" => self.feature_not_licensed,
            "account_deactivated" => self.account_deactivated,
            "unavailable" => self.unavailable,
            "server_error" => self.server_error,
            _ => self.other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_violation_of_a_registration_has_a_message_in_each_language() {
        let password = ["required", "too_short", "too_long", "common", "personal"]
            .into_iter()
            .flat_map(|code| [("password", code), ("newPassword", code)]);
        let others = [
            ("email", "required"),
            ("email", "too_long"),
            ("email", "invalid"),
            ("displayName", "too_long"),
            ("displayName", "invalid"),
            ("customerType", "required"),
            ("companyName", "required"),
            ("companyName", "too_long"),
            ("companyName", "invalid"),
        ];
        for (field, code) in password.chain(others) {
            let violation = Violation { field, code, message: String::new() };

            for language in [Language::En, Language::De] {
                let texts = Texts::in_language(language);

                assert_ne!(
                    texts.field_error(&violation, 8),
                    texts.field_errors.other,
                    "{field} {code}"
                );
            }
        }
    }
}
