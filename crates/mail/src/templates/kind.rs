//! The letters there are, and what is filled in.

use pia_outbox::{OutgoingEmail, RenderError};

/// The most that a letter shows of a name.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of a quoted comment.
const MAX_COMMENT_CHARS: usize = 4000;

/// A letter with all that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Email {
    VerifyAddress(Link),
    PasswordReset(Link),
    Invitation(Link),
    AddressTaken,
    /// The password was changed; with the remaining access, where that is
    /// known.
    PasswordChanged(Option<AppAccess>),
    NewDevice,
    FactorEnabled,
    FactorDisabled,
    SecondFactorFailed,
    RecoveryCodesRegenerated,
    /// Recovery code was used, with the number left where it is known.
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
}

/// Link that the reader is asked to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) url: String,
    /// For how many hours it leads somewhere.
    pub(super) hours: Option<u32>,
}

/// Report on an answer, without the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportedAnswer {
    pub(super) id: String,
    /// Comment of the user; empty if there is none.
    pub(super) comment: String,
}

/// App passwords and API keys that still open an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AppAccess {
    pub(super) app_passwords: u32,
    pub(super) api_keys: u32,
}

impl Email {
    pub(super) fn parse(letter: &OutgoingEmail) -> Result<Self, RenderError> {
        Ok(match &*letter.name {
            "verify-address" => Self::VerifyAddress(link(letter)?),
            "password-reset" => Self::PasswordReset(link(letter)?),
            "invitation" => Self::Invitation(link(letter)?),
            "address-taken" => Self::AddressTaken,
            "password-changed" => Self::PasswordChanged(app_access(letter)?),
            "new-device" => Self::NewDevice,
            "factor-enabled" => Self::FactorEnabled,
            "factor-disabled" => Self::FactorDisabled,
            "second-factor-failed" => Self::SecondFactorFailed,
            "recovery-codes-regenerated" => Self::RecoveryCodesRegenerated,
            "recovery-code-used" => Self::RecoveryCodeUsed(left(letter)?),
            "passkey-added" => Self::PasskeyAdded(name(letter)?),
            "passkey-removed" => Self::PasskeyRemoved(name(letter)?),
            "passkey-cloned" => Self::PasskeyCloned(name(letter)?),
            "app-password-added" => Self::AppPasswordAdded(name(letter)?),
            "app-password-removed" => Self::AppPasswordRemoved(name(letter)?),
            "api-key-added" => Self::ApiKeyAdded(name(letter)?),
            "api-key-removed" => Self::ApiKeyRemoved(name(letter)?),
            "device-registered" => Self::DeviceRegistered(name(letter)?),
            "device-approved" => Self::DeviceApproved(name(letter)?),
            "device-revoked" => Self::DeviceRevoked(name(letter)?),
            "recovery-key-changed" => Self::RecoveryKeyChanged,
            "sync-reset" => Self::SyncReset,
            "account-deactivated" => Self::AccountDeactivated,
            "account-deleted" => Self::AccountDeleted,
            "answer-reported" => Self::AnswerReported(reported_answer(letter)?),
            _ => return Err(RenderError::Unknown),
        })
    }
}

fn field<'a>(letter: &'a OutgoingEmail, name: &'static str) -> Result<&'a str, RenderError> {
    letter.fields.get(name).map(String::as_str).ok_or(RenderError::Field(name))
}

/// A link that leads to a page and not into the letter: one line of what a URL
/// may be made of.
fn link(letter: &OutgoingEmail) -> Result<Link, RenderError> {
    let url = field(letter, "link")?;
    let http = url.starts_with("https://") || url.starts_with("http://");
    if !http || !url.bytes().all(|it| it.is_ascii_graphic() && !b"<>\"".contains(&it)) {
        return Err(RenderError::Field("link"));
    }
    Ok(Link { url: url.to_owned(), hours: letter.hours().filter(|it| *it > 0) })
}

fn left(letter: &OutgoingEmail) -> Result<Option<u32>, RenderError> {
    number(letter, "left")
}

fn app_access(letter: &OutgoingEmail) -> Result<Option<AppAccess>, RenderError> {
    let (app_passwords, api_keys) = (number(letter, "appPasswords")?, number(letter, "apiKeys")?);
    let both = app_passwords.zip(api_keys);
    Ok(both.map(|(app_passwords, api_keys)| AppAccess { app_passwords, api_keys }))
}

fn number(letter: &OutgoingEmail, field: &'static str) -> Result<Option<u32>, RenderError> {
    let number = |it: &String| it.parse::<u32>().map_err(|_no_number| RenderError::Field(field));
    letter.fields.get(field).map(number).transpose()
}

/// Returns the name that somebody gave something, on one line.
fn name(letter: &OutgoingEmail) -> Result<String, RenderError> {
    Ok(plain(field(letter, "name")?, MAX_NAME_CHARS))
}

fn reported_answer(letter: &OutgoingEmail) -> Result<ReportedAnswer, RenderError> {
    let (id, comment) = (field(letter, "id")?, field(letter, "comment")?);
    Ok(ReportedAnswer { id: plain(id, MAX_NAME_CHARS), comment: plain(comment, MAX_COMMENT_CHARS) })
}

/// Returns the beginning of a text, on one line.
fn plain(text: &str, max_chars: usize) -> String {
    let plain = text.chars().map(|it| if it.is_control() || is_invisible(it) { ' ' } else { it });
    let plain: String = plain.take(max_chars).collect();
    plain.trim().to_owned()
}

/// Returns whether a character turns the direction of a line, or hides in it.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}
