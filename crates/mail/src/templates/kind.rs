//! Kinds of emails and their fields.
//!
//! The names are those that other crates pass to `QueuedEmail::new`;
//! `xtask/tests/tidy.rs` fails if one is missing here. Users choose many of
//! the values, so that their length and characters are limited here.

use pia_outbox::{OutgoingEmail, RenderError};

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of an email address.
const MAX_ADDRESS_CHARS: usize = 254;
/// Maximum length of a quoted comment.
const MAX_COMMENT_CHARS: usize = 4000;

/// Email with all values that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Email {
    VerifyAddress(Link),
    PasswordReset(Link),
    Invitation(Link),
    AddressTaken,
    AddressChange(Link),
    /// A change to a new address was requested.
    AddressChangeRequested(String),
    /// The address was changed to a new one.
    AddressChanged(String),
    /// The password was changed; with the remaining access, where that is
    /// known.
    PasswordChanged(Option<AppAccess>),
    NewDevice,
    FactorEnabled,
    FactorDisabled,
    SecondFactorFailed,
    RecoveryCodesRegenerated,
    /// A recovery code was used; with the number left, where that is known.
    RecoveryCodeUsed(Option<u32>),
    PasskeyAdded(String),
    PasskeyRemoved(String),
    PasskeyCloned(String),
    AppPasswordAdded(String),
    AppPasswordRemoved(String),
    ApiKeyAdded(String),
    ApiKeyRemoved(String),
    DeviceRegistered(String),
    DeviceApproved(String),
    DeviceRevoked(String),
    RecoveryKeyChanged,
    SyncReset,
    AccountDeactivated,
    AccountDeleted,
    AnswerReported(ReportedAnswer),
    RelayTest,
}

/// Link for the recipient to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) url: String,
    /// Number of hours for which the link is valid.
    pub(super) hours: Option<u32>,
}

/// Report on an answer, without the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportedAnswer {
    pub(super) id: String,
    /// Comment of the user; empty if there is none.
    pub(super) comment: String,
}

/// App passwords and API keys that remain valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AppAccess {
    pub(super) app_passwords: u32,
    pub(super) api_keys: u32,
}

impl Email {
    pub(super) fn parse(email: &OutgoingEmail) -> Result<Self, RenderError> {
        Ok(match &*email.name {
            "verify-address" => Self::VerifyAddress(link(email)?),
            "password-reset" => Self::PasswordReset(link(email)?),
            "invitation" => Self::Invitation(link(email)?),
            "address-taken" => Self::AddressTaken,
            "address-change" => Self::AddressChange(link(email)?),
            "address-change-requested" => Self::AddressChangeRequested(address(email)?),
            "address-changed" => Self::AddressChanged(address(email)?),
            "password-changed" => Self::PasswordChanged(app_access(email)?),
            "new-device" => Self::NewDevice,
            "factor-enabled" => Self::FactorEnabled,
            "factor-disabled" => Self::FactorDisabled,
            "second-factor-failed" => Self::SecondFactorFailed,
            "recovery-codes-regenerated" => Self::RecoveryCodesRegenerated,
            "recovery-code-used" => Self::RecoveryCodeUsed(number(email, "left")?),
            "passkey-added" => Self::PasskeyAdded(name(email)?),
            "passkey-removed" => Self::PasskeyRemoved(name(email)?),
            "passkey-cloned" => Self::PasskeyCloned(name(email)?),
            "app-password-added" => Self::AppPasswordAdded(name(email)?),
            "app-password-removed" => Self::AppPasswordRemoved(name(email)?),
            "api-key-added" => Self::ApiKeyAdded(name(email)?),
            "api-key-removed" => Self::ApiKeyRemoved(name(email)?),
            "device-registered" => Self::DeviceRegistered(name(email)?),
            "device-approved" => Self::DeviceApproved(name(email)?),
            "device-revoked" => Self::DeviceRevoked(name(email)?),
            "recovery-key-changed" => Self::RecoveryKeyChanged,
            "sync-reset" => Self::SyncReset,
            "account-deactivated" => Self::AccountDeactivated,
            "account-deleted" => Self::AccountDeleted,
            "answer-reported" => Self::AnswerReported(reported_answer(email)?),
            "relay-test" => Self::RelayTest,
            _ => return Err(RenderError::Unknown),
        })
    }
}

fn field<'a>(email: &'a OutgoingEmail, name: &'static str) -> Result<&'a str, RenderError> {
    email.fields.get(name).map(String::as_str).ok_or(RenderError::Field(name))
}

/// Returns a link: an HTTP URL without characters that could end it in the
/// email.
fn link(email: &OutgoingEmail) -> Result<Link, RenderError> {
    let url = field(email, "link")?;
    let is_http = url.starts_with("https://") || url.starts_with("http://");
    let has_delimiter = url.bytes().any(|it| !it.is_ascii_graphic() || b"<>\"".contains(&it));
    if !is_http || has_delimiter {
        return Err(RenderError::Field("link"));
    }
    Ok(Link { url: url.to_owned(), hours: email.hours().filter(|it| *it > 0) })
}

fn app_access(email: &OutgoingEmail) -> Result<Option<AppAccess>, RenderError> {
    let app_passwords = number(email, "appPasswords")?;
    let api_keys = number(email, "apiKeys")?;
    let (Some(app_passwords), Some(api_keys)) = (app_passwords, api_keys) else {
        return Ok(None);
    };
    Ok(Some(AppAccess { app_passwords, api_keys }))
}

/// Returns a number; `None` if the email has no such field.
fn number(email: &OutgoingEmail, field: &'static str) -> Result<Option<u32>, RenderError> {
    let Some(text) = email.fields.get(field) else { return Ok(None) };
    text.parse().map(Some).map_err(|_no_number| RenderError::Field(field))
}

/// Returns the name that a user chose, on one line.
fn name(email: &OutgoingEmail) -> Result<String, RenderError> {
    Ok(plain(field(email, "name")?, MAX_NAME_CHARS))
}

/// Returns the new email address, on one line.
fn address(email: &OutgoingEmail) -> Result<String, RenderError> {
    Ok(plain(field(email, "name")?, MAX_ADDRESS_CHARS))
}

fn reported_answer(email: &OutgoingEmail) -> Result<ReportedAnswer, RenderError> {
    let id = field(email, "id")?;
    let comment = field(email, "comment")?;
    Ok(ReportedAnswer { id: plain(id, MAX_NAME_CHARS), comment: plain(comment, MAX_COMMENT_CHARS) })
}

/// Returns the beginning of a text, on one line.
fn plain(text: &str, max_chars: usize) -> String {
    let beginning: String = text
        .chars()
        .map(|it| if it.is_control() || is_invisible(it) { ' ' } else { it })
        .take(max_chars)
        .collect();
    beginning.trim().to_owned()
}

/// Returns whether a character changes the direction of a line, or is
/// invisible.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}
