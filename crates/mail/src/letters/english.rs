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
    let named = |it: &Facts| it.named(["When", "From the address", "With the program"]);
    let wording = Wording {
        subject: subject(kind),
        greeting: "Hello,",
        opening: opening(kind),
        action: action(kind),
        advice: advice(kind, public_url),
    };
    let sender = format!("This letter was written by the Pia server {public_url}");
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
        Kind::FactorEnabled => "Your account asks for a second factor now",
        Kind::FactorDisabled => "Your account asks for no second factor any more",
        Kind::SecondFactorFailed => "Someone may know your password",
        Kind::RecoveryCodesRegenerated => "You have new recovery codes",
        Kind::RecoveryCodeUsed(_) => "A recovery code was used",
        Kind::PasskeyAdded(_) => "A passkey was added",
        Kind::PasskeyRemoved(_) => "A passkey was removed",
        Kind::PasskeyCloned(_) => "A sign-in with a copied passkey was refused",
        Kind::AppPasswordAdded(_) => "An app password was made",
        Kind::AppPasswordRemoved(_) => "An app password was removed",
        Kind::ApiKeyAdded(_) => "An API key was made",
        Kind::ApiKeyRemoved(_) => "An API key was removed",
        Kind::DeviceRegistered(_) => "A device asks for your encrypted data",
        Kind::DeviceApproved(_) => "A device has the key to your encrypted data",
        Kind::DeviceRevoked(_) => "A device was turned away",
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
            "Somebody, most likely you, gave this address for an account. Confirm that it is \
             yours."
        }
        Kind::PasswordReset(_) => {
            "Somebody, most likely you, asked for a new password for your account."
        }
        Kind::Invitation(_) => "You are invited to make an account on this server.",
        Kind::AddressTaken => {
            "Somebody, most likely you, tried to make an account with this address. There is \
             one already, and it was not changed."
        }
        Kind::PasswordChanged(None) => PASSWORD_CHANGED,
        Kind::NewDevice => "A device that was not seen before signed in to your account.",
        Kind::FactorEnabled => {
            "An authenticator app was set up for your account. Signing in asks for its codes \
             from now on."
        }
        Kind::FactorDisabled => {
            "The authenticator app was removed from your account. Signing in takes no more than \
             the password from now on."
        }
        Kind::SecondFactorFailed => {
            "Someone entered the right password for your account, and then five wrong codes. They \
             were not signed in."
        }
        Kind::RecoveryCodesRegenerated => {
            "New recovery codes were made for your account. The old ones are of no use any more."
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
            "All that your devices kept in step through the server was deleted there, with all \
             chats and the keys of end-to-end encryption. What is on your devices is still there."
        }
        Kind::AccountDeactivated => "Your account was deactivated. All devices were signed out.",
        Kind::AccountDeleted => "Your account was deleted, with all that was kept for it.",
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
            format!("The passkey “{name}” was added to your account. It opens the account.")
        }
        Kind::PasskeyRemoved(name) => {
            format!("The passkey “{name}” was removed from your account.")
        }
        Kind::PasskeyCloned(name) => {
            format!(
                "A sign-in with the passkey “{name}” was refused: it seems that there is a copy \
                 of it. It opens nothing from now on: remove it from your account and add a \
                 new one, or let it in again if you know better."
            )
        }
        Kind::AppPasswordAdded(name) => {
            format!("The app password “{name}” was made for your account. It opens the account.")
        }
        Kind::AppPasswordRemoved(name) => {
            format!("The app password “{name}” was removed from your account.")
        }
        Kind::ApiKeyAdded(name) => {
            format!(
                "The API key “{name}” was made for your account. Whoever has it asks models in \
                 your name."
            )
        }
        Kind::ApiKeyRemoved(name) => {
            format!("The API key “{name}” was removed from your account.")
        }
        Kind::DeviceRegistered(name) => {
            format!(
                "The device “{name}” asks for the key to your end-to-end encrypted data. It gets \
                 it only if you allow that on another of your devices, or enter your recovery \
                 code on it."
            )
        }
        Kind::DeviceApproved(name) => {
            format!(
                "The key to your end-to-end encrypted data was stored for the device “{name}”, \
                 which can read that data from now on."
            )
        }
        Kind::DeviceRevoked(name) => {
            format!(
                "The device “{name}” was turned away: the server gives it the key to your \
                 end-to-end encrypted data no longer. What it has read it may still have."
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
        0 => "None is left: make new ones now.".to_owned(),
        1 => "One is left: make new ones soon.".to_owned(),
        left => format!("{left} are left."),
    }
}

fn action(kind: &Kind) -> Option<Action> {
    let (label, link) = match kind {
        Kind::VerifyAddress(link) => ("Confirm the address", link),
        Kind::PasswordReset(link) => ("Choose a new password", link),
        Kind::Invitation(link) => ("Make an account", link),
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
            "If it was not you, do not follow the link: you would confirm an account whose \
             password somebody else knows. Without your confirmation the address is not used."
        }
        Kind::PasswordReset(_) => {
            "If it was not you, do nothing: your password stays as it is. Give the link to nobody."
        }
        Kind::Invitation(_) => "If you do not know what this is about, do nothing.",
        Kind::AddressTaken => {
            return vec![format!(
                "If it was you, sign in with the account that you have. If you forgot its \
                 password, ask for a new one: {public_url}/auth/forgot-password.html"
            )];
        }
        Kind::DeviceRegistered(_) => {
            return vec![
                "If it was you, compare the fingerprints that the two devices show before you \
                 allow it."
                    .to_owned(),
                format!(
                    "If it was not you, reject it and choose a new password at once, which signs \
                     out all devices: {public_url}/auth/forgot-password.html – and tell whoever \
                     runs the server."
                ),
            ];
        }
        Kind::AccountDeactivated => {
            "If you think that this is a mistake, ask whoever runs the server."
        }
        Kind::AccountDeleted => {
            "If it was not you, tell whoever runs the server at once. Deleted data cannot be \
             brought back."
        }
        _ => {
            return vec![
                "If it was you, there is nothing to do.".to_owned(),
                format!(
                    "If it was not you, choose a new password at once, which signs out all \
                     devices: {public_url}/auth/forgot-password.html – and tell whoever runs the \
                     server."
                ),
            ];
        }
    };
    vec![text.to_owned()]
}
