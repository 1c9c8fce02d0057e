//! Letters in English.

use super::facts::Facts;
use super::kind::{AppAccess, EmailKind, Link};
use super::wording::{Action, Wording};

const PASSWORD_CHANGED: &str =
    "The password of your account was changed. All other devices were signed out.";

/// The letter, its facts and its last line.
pub(super) fn write(
    kind: &EmailKind,
    facts: Option<&Facts>,
    public_url: &str,
) -> (Wording, Vec<(&'static str, String)>, String) {
    let named = |it: &Facts| it.named(["When", "IP address", "App"]);
    let wording = Wording {
        subject: subject(kind),
        greeting: "Hello,",
        opening: opening(kind),
        action: action(kind),
        advice: advice(kind, public_url),
    };
    let sender = format!("This e-mail was sent by the Pia server {public_url}");
    (wording, facts.map(named).unwrap_or_default(), sender)
}

fn subject(kind: &EmailKind) -> &'static str {
    match kind {
        EmailKind::VerifyAddress(_) => "Confirm your e-mail address",
        EmailKind::PasswordReset(_) => "Choose a new password",
        EmailKind::Invitation(_) => "You are invited",
        EmailKind::AddressTaken => "You already have an account",
        EmailKind::PasswordChanged(_) => "Your password was changed",
        EmailKind::NewDevice => "A new device signed in",
        EmailKind::FactorEnabled => "Two-step sign-in is on",
        EmailKind::FactorDisabled => "Two-step sign-in is off",
        EmailKind::SecondFactorFailed => "Someone may know your password",
        EmailKind::RecoveryCodesRegenerated => "You have new recovery codes",
        EmailKind::RecoveryCodeUsed(_) => "A recovery code was used",
        EmailKind::PasskeyAdded(_) => "A passkey was added",
        EmailKind::PasskeyRemoved(_) => "A passkey was removed",
        EmailKind::PasskeyCloned(_) => "A passkey was blocked",
        EmailKind::AppPasswordAdded(_) => "An app password was created",
        EmailKind::AppPasswordRemoved(_) => "An app password was removed",
        EmailKind::ApiKeyAdded(_) => "An API key was created",
        EmailKind::ApiKeyRemoved(_) => "An API key was removed",
        EmailKind::DeviceRegistered(_) => "A device requests access to your encrypted data",
        EmailKind::DeviceApproved(_) => "A device can read your encrypted data",
        EmailKind::DeviceRevoked(_) => "A device was removed",
        EmailKind::RecoveryKeyChanged => "The recovery of your encrypted data was changed",
        EmailKind::SyncReset => "Your synchronised data was deleted",
        EmailKind::AccountDeactivated => "Your account was deactivated",
        EmailKind::AccountDeleted => "Your account was deleted",
    }
}

fn opening(kind: &EmailKind) -> String {
    if let Some(text) = with_something_filled_in(kind) {
        return text;
    }
    let text = match kind {
        EmailKind::VerifyAddress(_) => {
            "Someone, most likely you, created an account with this address. Confirm that it is \
             yours."
        }
        EmailKind::PasswordReset(_) => {
            "Someone, most likely you, asked to reset the password of your account."
        }
        EmailKind::Invitation(_) => "You are invited to create an account on this server.",
        EmailKind::AddressTaken => {
            "Someone, most likely you, tried to create an account with this address. There is \
             one already, and it was not changed."
        }
        EmailKind::PasswordChanged(None) => PASSWORD_CHANGED,
        EmailKind::NewDevice => "A new device signed in to your account.",
        EmailKind::FactorEnabled => {
            "An authenticator app was set up for your account. From now on, signing in takes one \
             of its codes."
        }
        EmailKind::FactorDisabled => {
            "The authenticator app was removed from your account. From now on, the password alone \
             signs in."
        }
        EmailKind::SecondFactorFailed => {
            "Someone entered the right password for your account, and then five wrong codes. They \
             were not signed in."
        }
        EmailKind::RecoveryCodesRegenerated => {
            "New recovery codes were created for your account. The old ones no longer work."
        }
        EmailKind::RecoveryCodeUsed(None) => "A recovery code of your account was used.",
        EmailKind::PasswordChanged(Some(_))
        | EmailKind::RecoveryCodeUsed(Some(_))
        | EmailKind::PasskeyAdded(_)
        | EmailKind::PasskeyRemoved(_)
        | EmailKind::PasskeyCloned(_)
        | EmailKind::AppPasswordAdded(_)
        | EmailKind::AppPasswordRemoved(_)
        | EmailKind::ApiKeyAdded(_)
        | EmailKind::ApiKeyRemoved(_)
        | EmailKind::DeviceRegistered(_)
        | EmailKind::DeviceApproved(_)
        | EmailKind::DeviceRevoked(_) => "",
        EmailKind::RecoveryKeyChanged => {
            "The recovery of your end-to-end encrypted data was set up or changed."
        }
        EmailKind::SyncReset => {
            "All synchronised data was deleted from the server, with all chats and the keys of \
             end-to-end encryption. The data on your devices is still there."
        }
        EmailKind::AccountDeactivated => "Your account was deactivated. All devices were signed out.",
        EmailKind::AccountDeleted => "Your account was deleted, with all its data.",
    };
    text.to_owned()
}

/// What happened to something that has a name, or of which some are left.
fn with_something_filled_in(kind: &EmailKind) -> Option<String> {
    Some(match kind {
        EmailKind::PasswordChanged(Some(left)) => format!("{PASSWORD_CHANGED}{}", still_open(*left)),
        EmailKind::RecoveryCodeUsed(Some(left)) => {
            format!("A recovery code of your account was used. {}", codes_left(*left))
        }
        EmailKind::PasskeyAdded(name) => {
            format!("The passkey “{name}” was added to your account. It can sign in.")
        }
        EmailKind::PasskeyRemoved(name) => {
            format!("The passkey “{name}” was removed from your account.")
        }
        EmailKind::PasskeyCloned(name) => {
            format!(
                "A sign-in with the passkey “{name}” was refused, and the passkey was blocked: it \
                 seems that there is a copy of it. Remove it from your account and add a new \
                 one, or unblock it if you are sure that there is none."
            )
        }
        EmailKind::AppPasswordAdded(name) => {
            format!("The app password “{name}” was created for your account. It can sign in.")
        }
        EmailKind::AppPasswordRemoved(name) => {
            format!("The app password “{name}” was removed from your account.")
        }
        EmailKind::ApiKeyAdded(name) => {
            format!(
                "The API key “{name}” was created for your account. Whoever has it can use AI \
                 models in your name."
            )
        }
        EmailKind::ApiKeyRemoved(name) => {
            format!("The API key “{name}” was removed from your account.")
        }
        EmailKind::DeviceRegistered(name) => {
            format!(
                "The device “{name}” requests access to your end-to-end encrypted data. It gets \
                 it only if you approve it on another of your devices, or enter your recovery \
                 code on it."
            )
        }
        EmailKind::DeviceApproved(name) => {
            format!(
                "The device “{name}” was approved. It can read your end-to-end encrypted data \
                 from now on."
            )
        }
        EmailKind::DeviceRevoked(name) => {
            format!(
                "The device “{name}” was removed from your end-to-end encrypted data: it gets no \
                 new data. It may still have what it has read."
            )
        }
        _ => return None,
    })
}

/// What still opens the account, as a further sentence if there is anything.
fn still_open(AppAccess { app_passwords, api_keys }: AppAccess) -> String {
    let counted = |number, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("one {one}")),
        number => Some(format!("{number} {many}")),
    };
    let apps = counted(app_passwords, "app password", "app passwords");
    let keys = counted(api_keys, "API key", "API keys");
    let what = match (apps, keys) {
        (None, None) => return String::new(),
        (Some(what), None) | (None, Some(what)) => what,
        (Some(apps), Some(keys)) => format!("{apps} and {keys}"),
    };
    format!(" Still valid: {what}. Revoke those that you do not know.")
}

fn codes_left(left: u32) -> String {
    match left {
        0 => "None is left: create new ones now.".to_owned(),
        1 => "One is left: create new ones soon.".to_owned(),
        left => format!("{left} are left."),
    }
}

fn action(kind: &EmailKind) -> Option<Action> {
    let (label, link) = match kind {
        EmailKind::VerifyAddress(link) => ("Confirm e-mail address", link),
        EmailKind::PasswordReset(link) => ("Choose a new password", link),
        EmailKind::Invitation(link) => ("Create account", link),
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

fn advice(kind: &EmailKind, public_url: &str) -> Vec<String> {
    let text = match kind {
        EmailKind::VerifyAddress(_) => {
            "If this was not you, do not follow the link: you would confirm an account whose \
             password someone else knows. Without your confirmation the address is not used."
        }
        EmailKind::PasswordReset(_) => {
            "If this was not you, ignore this e-mail: your password stays as it is. Do not share \
             the link."
        }
        EmailKind::Invitation(_) => "If you do not know what this is about, ignore this e-mail.",
        EmailKind::AddressTaken => {
            return vec![format!(
                "If this was you, sign in with your account. Forgot your password? Reset it: \
                 {public_url}/auth/forgot-password.html"
            )];
        }
        EmailKind::DeviceRegistered(_) => {
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
        EmailKind::AccountDeactivated => {
            "If you think that this is a mistake, contact the administrator of the server."
        }
        EmailKind::AccountDeleted => {
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
