//! Emails in English.

use super::facts::Facts;
use super::kind::{AppAccess, Email, Link, ReportedAnswer};
use super::wording::{Action, Wording};

const PASSWORD_CHANGED: &str =
    "The password of your account was changed. All other devices were signed out.";

/// Returns the texts of an email.
pub(super) fn write(kind: &Email, facts: Option<&Facts>, public_url: &str) -> Wording {
    Wording {
        subject: subject(kind),
        greeting: "Hello,",
        opening: opening(kind),
        action: action(kind),
        advice: advice(kind, public_url),
        facts: facts.map(|it| it.labelled("When", "IP address", "App")).unwrap_or_default(),
        sender: format!("This email was sent by the Pia server {public_url}"),
    }
}

fn subject(kind: &Email) -> &'static str {
    match kind {
        Email::VerifyAddress(_) => "Confirm your email address",
        Email::PasswordReset(_) => "Choose a new password",
        Email::Invitation(_) => "You are invited",
        Email::AddressTaken => "You already have an account",
        Email::AddressChange(_) => "Confirm your new email address",
        Email::AddressChangeRequested(_) => "A change of your email address was requested",
        Email::AddressChanged(_) => "Your email address was changed",
        Email::PasswordChanged(_) => "Your password was changed",
        Email::NewDevice => "A new device signed in",
        Email::FactorEnabled => "Two-factor authentication is on",
        Email::FactorDisabled => "Two-factor authentication is off",
        Email::SecondFactorFailed => "Someone may know your password",
        Email::RecoveryCodesRegenerated => "You have new recovery codes",
        Email::RecoveryCodeUsed(_) => "A recovery code was used",
        Email::PasskeyAdded(_) => "A passkey was added",
        Email::PasskeyRemoved(_) => "A passkey was removed",
        Email::PasskeyCloned(_) => "A passkey was blocked",
        Email::AppPasswordAdded(_) => "An app password was created",
        Email::AppPasswordRemoved(_) => "An app password was removed",
        Email::ApiKeyAdded(_) => "An API key was created",
        Email::ApiKeyRemoved(_) => "An API key was removed",
        Email::DeviceRegistered(_) => "A device requests access to your encrypted data",
        Email::DeviceApproved(_) => "A device can read your encrypted data",
        Email::DeviceRevoked(_) => "A device was removed",
        Email::RecoveryKeyChanged => "The recovery of your encrypted data was changed",
        Email::SyncReset => "Your synchronised data was deleted",
        Email::AccountDeactivated => "Your account was deactivated",
        Email::AccountDeleted => "Your account was deleted",
        Email::AnswerReported(_) => "A user reported an answer",
        Email::RelayTest => "Test email from this server",
    }
}

fn opening(kind: &Email) -> String {
    if let Some(text) = address_opening(kind).or_else(|| parameterised_opening(kind)) {
        return text;
    }

    let text = match kind {
        Email::VerifyAddress(_) => {
            "Someone, most likely you, created an account with this address. Confirm that it is \
             yours."
        }
        Email::PasswordReset(_) => {
            "Someone, most likely you, asked to reset the password of your account."
        }
        Email::Invitation(_) => "You are invited to create an account on this server.",
        Email::PasswordChanged(None) => PASSWORD_CHANGED,
        Email::NewDevice => "A new device signed in to your account.",
        Email::FactorEnabled => {
            "An authenticator app was set up for your account. From now on, you need one of its \
             codes to sign in."
        }
        Email::FactorDisabled => {
            "The authenticator app was removed from your account. From now on, the password alone \
             is enough to sign in."
        }
        Email::SecondFactorFailed => {
            "Someone entered the right password for your account, and then five wrong codes. They \
             were not signed in."
        }
        Email::RecoveryCodesRegenerated => {
            "New recovery codes were created for your account. The old ones no longer work."
        }
        Email::RecoveryCodeUsed(None) => "A recovery code of your account was used.",
        Email::AddressTaken
        | Email::AddressChange(_)
        | Email::AddressChangeRequested(_)
        | Email::AddressChanged(_)
        | Email::PasswordChanged(Some(_))
        | Email::RecoveryCodeUsed(Some(_))
        | Email::PasskeyAdded(_)
        | Email::PasskeyRemoved(_)
        | Email::PasskeyCloned(_)
        | Email::AppPasswordAdded(_)
        | Email::AppPasswordRemoved(_)
        | Email::ApiKeyAdded(_)
        | Email::ApiKeyRemoved(_)
        | Email::DeviceRegistered(_)
        | Email::DeviceApproved(_)
        | Email::DeviceRevoked(_) => "",
        Email::RecoveryKeyChanged => {
            "The recovery of your end-to-end encrypted data was set up or changed."
        }
        Email::SyncReset => {
            "All synchronised data was deleted from the server, with all chats and the keys of \
             end-to-end encryption. The data on your devices is still there."
        }
        Email::AccountDeactivated => "Your account was deactivated. All devices were signed out.",
        Email::AccountDeleted => "Your account was deleted, with all its data.",
        Email::AnswerReported(_) => "A user reported a bad answer of the assistant.",
        Email::RelayTest => "This email shows that the server can send emails to you.",
    };

    text.to_owned()
}

/// Returns the text about the address of an account.
fn address_opening(kind: &Email) -> Option<String> {
    Some(match kind {
        Email::AddressTaken => {
            "Someone, most likely you, tried to use this address for another account. You already \
             have an account with it, which was not changed."
                .to_owned()
        }
        Email::AddressChange(_) => {
            "Someone, most likely you, wants to use this address for an account. Confirm that it \
             is yours."
                .to_owned()
        }
        Email::AddressChangeRequested(new) => format!(
            "Someone, most likely you, asked to change the email address of your account to \
             “{new}”. It changes once that address is confirmed."
        ),
        Email::AddressChanged(new) => format!(
            "The email address of your account was changed to “{new}”. From now on, you sign in \
             with it and receive emails there."
        ),
        _ => return None,
    })
}

/// Returns the text of an event that has a name or a count.
fn parameterised_opening(kind: &Email) -> Option<String> {
    Some(match kind {
        Email::PasswordChanged(Some(access)) => {
            format!("{PASSWORD_CHANGED}{}", remaining_access(*access))
        }
        Email::RecoveryCodeUsed(Some(count)) => {
            format!("A recovery code of your account was used. {}", codes_left(*count))
        }
        Email::PasskeyAdded(name) => {
            format!("The passkey “{name}” was added to your account. It can be used to sign in.")
        }
        Email::PasskeyRemoved(name) => {
            format!("The passkey “{name}” was removed from your account.")
        }
        Email::PasskeyCloned(name) => {
            format!(
                "A sign-in with the passkey “{name}” was refused, and the passkey was blocked: it \
                 seems that there is a copy of it. Remove it from your account and add a new \
                 one, or unblock it if you are sure that there is none."
            )
        }
        Email::AppPasswordAdded(name) => {
            format!(
                "The app password “{name}” was created for your account. It can be used to \
                 sign in."
            )
        }
        Email::AppPasswordRemoved(name) => {
            format!("The app password “{name}” was removed from your account.")
        }
        Email::ApiKeyAdded(name) => {
            format!(
                "The API key “{name}” was created for your account. Whoever has it can use AI \
                 models in your name."
            )
        }
        Email::ApiKeyRemoved(name) => {
            format!("The API key “{name}” was removed from your account.")
        }
        Email::DeviceRegistered(name) => {
            format!(
                "The device “{name}” requests access to your end-to-end encrypted data. It gets \
                 it only if you approve it on another of your devices, or enter your recovery \
                 code on it."
            )
        }
        Email::DeviceApproved(name) => {
            format!(
                "The device “{name}” was approved. It can read your end-to-end encrypted data \
                 from now on."
            )
        }
        Email::DeviceRevoked(name) => {
            format!(
                "The device “{name}” was removed from your end-to-end encrypted data: it gets no \
                 new data. It may still have what it has read."
            )
        }
        _ => return None,
    })
}

/// Returns a sentence on the app passwords and API keys that remain valid;
/// empty if there are none.
fn remaining_access(AppAccess { app_passwords, api_keys }: AppAccess) -> String {
    let apps = amount(app_passwords, "app password", "app passwords");
    let keys = amount(api_keys, "API key", "API keys");
    let remaining = match (apps, keys) {
        (None, None) => return String::new(),
        (Some(apps), None) => apps,
        (None, Some(keys)) => keys,
        (Some(apps), Some(keys)) => format!("{apps} and {keys}"),
    };

    format!(" Still valid: {remaining}. Revoke those that you do not recognise.")
}

/// Returns a number with the noun that it counts; `None` if it is 0.
fn amount(count: u32, singular: &str, plural: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("one {singular}")),
        _ => Some(format!("{count} {plural}")),
    }
}

fn codes_left(count: u32) -> String {
    match count {
        0 => "None is left: create new ones now.".to_owned(),
        1 => "One is left: create new ones soon.".to_owned(),
        _ => format!("{count} are left."),
    }
}

fn action(kind: &Email) -> Option<Action> {
    let (label, link) = match kind {
        Email::VerifyAddress(link) | Email::AddressChange(link) => ("Confirm email address", link),
        Email::PasswordReset(link) => ("Choose a new password", link),
        Email::Invitation(link) => ("Create account", link),
        _ => return None,
    };
    let Link { url, hours } = link;
    let ends = hours.map(|it| format!("The link works once, for {}.", span(it)));
    Some(Action { label, url: url.clone(), ends })
}

fn span(hours: u32) -> String {
    match hours {
        1 => "one hour".to_owned(),
        hours if hours >= 48 && hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}

/// Returns the advice about the address of an account.
fn address_advice(kind: &Email, public_url: &str) -> Option<String> {
    Some(match kind {
        Email::AddressTaken => format!(
            "If this was you, sign in with your account. Forgot your password? Reset it: \
                 {public_url}/auth/forgot-password.html"
        ),
        Email::AddressChange(_) => {
            "If this was not you, ignore this email: without your confirmation the address is not \
             used."
                .to_owned()
        }
        Email::AddressChanged(_) => {
            "If this was not you, contact the administrator of the server at once.".to_owned()
        }
        _ => return None,
    })
}

fn advice(kind: &Email, public_url: &str) -> Vec<String> {
    if let Some(text) = address_advice(kind, public_url) {
        return vec![text];
    }

    let text = match kind {
        Email::VerifyAddress(_) => {
            "If this was not you, do not follow the link: you would confirm an account whose \
             password someone else knows. Without your confirmation the address is not used."
        }
        Email::PasswordReset(_) => {
            "If this was not you, ignore this email: your password stays as it is. Do not share \
             the link."
        }
        Email::Invitation(_) => "If you do not know what this is about, ignore this email.",
        Email::DeviceRegistered(_) => {
            return vec![
                "If this was you, compare the fingerprints that the two devices show before you \
                 approve it."
                    .to_owned(),
                format!(
                    "If this was not you, reject it and reset your password now, which signs out \
                     all devices: {public_url}/auth/forgot-password.html – and tell the \
                     administrator of the server."
                ),
            ];
        }
        Email::RelayTest => "You requested it in the console. There is nothing to do.",
        Email::AccountDeactivated => {
            "If you think that this is a mistake, contact the administrator of the server."
        }
        Email::AnswerReported(ReportedAnswer { id, comment }) => {
            let comment = (!comment.is_empty()).then(|| format!("Comment: “{comment}”"));
            let report = format!("Report {id} is listed in the console of the server.");
            return comment.into_iter().chain([report]).collect();
        }
        Email::AccountDeleted => {
            "If this was not you, contact the administrator of the server at once. Deleted data \
             cannot be restored."
        }
        _ => {
            return vec![
                "If this was you, there is nothing to do.".to_owned(),
                format!(
                    "If this was not you, reset your password now, which signs out all devices: \
                     {public_url}/auth/forgot-password.html – and tell the administrator of the \
                     server."
                ),
            ];
        }
    };

    vec![text.to_owned()]
}
