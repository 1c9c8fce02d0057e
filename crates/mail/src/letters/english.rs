//! Letters in English.

use super::facts::Facts;
use super::kind::{AppAccess, Kind, Link};
use super::wording::{Action, Wording};

const PASSWORD_CHANGED: &str =
    "The password of your account was changed. All other devices were signed out.";

/// The letter, its facts and its last line.
pub(super) fn write(
    kind: &Kind,
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

fn subject(kind: &Kind) -> &'static str {
    match kind {
        Kind::VerifyAddress(_) => "Confirm your e-mail address",
        Kind::PasswordReset(_) => "Choose a new password",
        Kind::Invitation(_) => "You are invited",
        Kind::AddressTaken => "You already have an account",
        Kind::PasswordChanged(_) => "Your password was changed",
        Kind::NewDevice => "A new device signed in",
        Kind::FactorEnabled => "Two-step sign-in is on",
        Kind::FactorDisabled => "Two-step sign-in is off",
        Kind::SecondFactorFailed => "Someone may know your password",
        Kind::RecoveryCodesRegenerated => "You have new recovery codes",
        Kind::RecoveryCodeUsed(_) => "A recovery code was used",
        Kind::PasskeyAdded(_) => "A passkey was added",
        Kind::PasskeyRemoved(_) => "A passkey was removed",
        Kind::PasskeyCloned(_) => "A passkey was blocked",
        Kind::AppPasswordAdded(_) => "An app password was created",
        Kind::AppPasswordRemoved(_) => "An app password was removed",
        Kind::ApiKeyAdded(_) => "An API key was created",
        Kind::ApiKeyRemoved(_) => "An API key was removed",
        Kind::DeviceRegistered(_) => "A device requests access to your encrypted data",
        Kind::DeviceApproved(_) => "A device can read your encrypted data",
        Kind::DeviceRevoked(_) => "A device was removed",
        Kind::RecoveryKeyChanged => "The recovery of your encrypted data was changed",
        Kind::SyncReset => "Your synchronised data was deleted",
        Kind::AccountDeactivated => "Your account was deactivated",
        Kind::AccountDeleted => "Your account was deleted",
    }
}

fn opening(kind: &Kind) -> String {
    if let Some(text) = with_something_filled_in(kind) {
        return text;
    }
    let text = match kind {
        Kind::VerifyAddress(_) => {
            "Someone, most likely you, created an account with this address. Confirm that it is \
             yours."
        }
        Kind::PasswordReset(_) => {
            "Someone, most likely you, asked to reset the password of your account."
        }
        Kind::Invitation(_) => "You are invited to create an account on this server.",
        Kind::AddressTaken => {
            "Someone, most likely you, tried to create an account with this address. There is \
             one already, and it was not changed."
        }
        Kind::PasswordChanged(None) => PASSWORD_CHANGED,
        Kind::NewDevice => "A new device signed in to your account.",
        Kind::FactorEnabled => {
            "An authenticator app was set up for your account. From now on, signing in takes one \
             of its codes."
        }
        Kind::FactorDisabled => {
            "The authenticator app was removed from your account. From now on, the password alone \
             signs in."
        }
        Kind::SecondFactorFailed => {
            "Someone entered the right password for your account, and then five wrong codes. They \
             were not signed in."
        }
        Kind::RecoveryCodesRegenerated => {
            "New recovery codes were created for your account. The old ones no longer work."
        }
        Kind::RecoveryCodeUsed(None) => "A recovery code of your account was used.",
        Kind::PasswordChanged(Some(_))
        | Kind::RecoveryCodeUsed(Some(_))
        | Kind::PasskeyAdded(_)
        | Kind::PasskeyRemoved(_)
        | Kind::PasskeyCloned(_)
        | Kind::AppPasswordAdded(_)
        | Kind::AppPasswordRemoved(_)
        | Kind::ApiKeyAdded(_)
        | Kind::ApiKeyRemoved(_)
        | Kind::DeviceRegistered(_)
        | Kind::DeviceApproved(_)
        | Kind::DeviceRevoked(_) => "",
        Kind::RecoveryKeyChanged => {
            "The recovery of your end-to-end encrypted data was set up or changed."
        }
        Kind::SyncReset => {
            "All synchronised data was deleted from the server, with all chats and the keys of \
             end-to-end encryption. The data on your devices is still there."
        }
        Kind::AccountDeactivated => "Your account was deactivated. All devices were signed out.",
        Kind::AccountDeleted => "Your account was deleted, with all its data.",
    };
    text.to_owned()
}

/// What happened to something that has a name, or of which some are left.
fn with_something_filled_in(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::PasswordChanged(Some(left)) => format!("{PASSWORD_CHANGED}{}", still_open(*left)),
        Kind::RecoveryCodeUsed(Some(left)) => {
            format!("A recovery code of your account was used. {}", codes_left(*left))
        }
        Kind::PasskeyAdded(name) => {
            format!("The passkey “{name}” was added to your account. It can sign in.")
        }
        Kind::PasskeyRemoved(name) => {
            format!("The passkey “{name}” was removed from your account.")
        }
        Kind::PasskeyCloned(name) => {
            format!(
                "A sign-in with the passkey “{name}” was refused, and the passkey was blocked: it \
                 seems that there is a copy of it. Remove it from your account and add a new \
                 one, or unblock it if you are sure that there is none."
            )
        }
        Kind::AppPasswordAdded(name) => {
            format!("The app password “{name}” was created for your account. It can sign in.")
        }
        Kind::AppPasswordRemoved(name) => {
            format!("The app password “{name}” was removed from your account.")
        }
        Kind::ApiKeyAdded(name) => {
            format!(
                "The API key “{name}” was created for your account. Whoever has it can use AI \
                 models in your name."
            )
        }
        Kind::ApiKeyRemoved(name) => {
            format!("The API key “{name}” was removed from your account.")
        }
        Kind::DeviceRegistered(name) => {
            format!(
                "The device “{name}” requests access to your end-to-end encrypted data. It gets \
                 it only if you approve it on another of your devices, or enter your recovery \
                 code on it."
            )
        }
        Kind::DeviceApproved(name) => {
            format!(
                "The device “{name}” was approved. It can read your end-to-end encrypted data \
                 from now on."
            )
        }
        Kind::DeviceRevoked(name) => {
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

fn action(kind: &Kind) -> Option<Action> {
    let (label, link) = match kind {
        Kind::VerifyAddress(link) => ("Confirm e-mail address", link),
        Kind::PasswordReset(link) => ("Choose a new password", link),
        Kind::Invitation(link) => ("Create account", link),
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

fn advice(kind: &Kind, public_url: &str) -> Vec<String> {
    let text = match kind {
        Kind::VerifyAddress(_) => {
            "If this was not you, do not follow the link: you would confirm an account whose \
             password someone else knows. Without your confirmation the address is not used."
        }
        Kind::PasswordReset(_) => {
            "If this was not you, ignore this e-mail: your password stays as it is. Do not share \
             the link."
        }
        Kind::Invitation(_) => "If you do not know what this is about, ignore this e-mail.",
        Kind::AddressTaken => {
            return vec![format!(
                "If this was you, sign in with your account. Forgot your password? Reset it: \
                 {public_url}/auth/forgot-password.html"
            )];
        }
        Kind::DeviceRegistered(_) => {
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
        Kind::AccountDeactivated => {
            "If you think that this is a mistake, contact the administrator of the server."
        }
        Kind::AccountDeleted => {
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
