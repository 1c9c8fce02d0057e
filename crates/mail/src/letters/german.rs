//! Letters in German.

use super::facts::Facts;
use super::kind::{AppAccess, EmailKind, Link};
use super::wording::{Action, Wording};

const PASSWORD_CHANGED: &str =
    "das Passwort Ihres Kontos wurde geändert. Alle anderen Geräte wurden abgemeldet.";

/// The letter, its facts and its last line.
pub(super) fn write(
    kind: &EmailKind,
    facts: Option<&Facts>,
    public_url: &str,
) -> (Wording, Vec<(&'static str, String)>, String) {
    let named = |it: &Facts| it.named(["Wann", "IP-Adresse", "App"]);
    let wording = Wording {
        subject: subject(kind),
        greeting: "Guten Tag,",
        opening: opening(kind),
        action: action(kind),
        advice: advice(kind, public_url),
    };
    let sender = format!("Diese Nachricht kommt vom Pia-Server {public_url}");
    (wording, facts.map(named).unwrap_or_default(), sender)
}

fn subject(kind: &EmailKind) -> &'static str {
    match kind {
        EmailKind::VerifyAddress(_) => "Bestätigen Sie Ihre E-Mail-Adresse",
        EmailKind::PasswordReset(_) => "Wählen Sie ein neues Passwort",
        EmailKind::Invitation(_) => "Sie sind eingeladen",
        EmailKind::AddressTaken => "Sie haben schon ein Konto",
        EmailKind::PasswordChanged(_) => "Ihr Passwort wurde geändert",
        EmailKind::NewDevice => "Ein neues Gerät hat sich angemeldet",
        EmailKind::FactorEnabled => "Die Anmeldung in zwei Schritten ist eingeschaltet",
        EmailKind::FactorDisabled => "Die Anmeldung in zwei Schritten ist ausgeschaltet",
        EmailKind::SecondFactorFailed => "Möglicherweise kennt jemand Ihr Passwort",
        EmailKind::RecoveryCodesRegenerated => "Sie haben neue Wiederherstellungscodes",
        EmailKind::RecoveryCodeUsed(_) => "Ein Wiederherstellungscode wurde benutzt",
        EmailKind::PasskeyAdded(_) => "Ein Passkey wurde hinzugefügt",
        EmailKind::PasskeyRemoved(_) => "Ein Passkey wurde entfernt",
        EmailKind::PasskeyCloned(_) => "Ein Passkey wurde gesperrt",
        EmailKind::AppPasswordAdded(_) => "Ein App-Passwort wurde erstellt",
        EmailKind::AppPasswordRemoved(_) => "Ein App-Passwort wurde entfernt",
        EmailKind::ApiKeyAdded(_) => "Ein API-Schlüssel wurde erstellt",
        EmailKind::ApiKeyRemoved(_) => "Ein API-Schlüssel wurde entfernt",
        EmailKind::DeviceRegistered(_) => "Ein Gerät möchte an Ihre verschlüsselten Daten",
        EmailKind::DeviceApproved(_) => "Ein Gerät hat den Schlüssel zu Ihren Daten",
        EmailKind::DeviceRevoked(_) => "Ein Gerät wurde abgewiesen",
        EmailKind::RecoveryKeyChanged => "Die Wiederherstellung Ihrer Daten wurde geändert",
        EmailKind::SyncReset => "Ihre synchronisierten Daten wurden gelöscht",
        EmailKind::AccountDeactivated => "Ihr Konto wurde deaktiviert",
        EmailKind::AccountDeleted => "Ihr Konto wurde gelöscht",
    }
}

fn opening(kind: &EmailKind) -> String {
    if let Some(text) = with_something_filled_in(kind) {
        return text;
    }
    let text = match kind {
        EmailKind::VerifyAddress(_) => {
            "jemand, vermutlich Sie, hat diese Adresse für ein Konto angegeben. Bestätigen Sie, \
             dass es Ihre ist."
        }
        EmailKind::PasswordReset(_) => {
            "jemand, vermutlich Sie, möchte ein neues Passwort für Ihr Konto."
        }
        EmailKind::Invitation(_) => "Sie sind eingeladen, auf diesem Server ein Konto zu erstellen.",
        EmailKind::AddressTaken => {
            "jemand, vermutlich Sie, wollte mit dieser Adresse ein Konto erstellen. Es gibt schon \
             eines, und daran wurde nichts geändert."
        }
        EmailKind::PasswordChanged(None) => PASSWORD_CHANGED,
        EmailKind::NewDevice => "ein bisher unbekanntes Gerät hat sich an Ihrem Konto angemeldet.",
        EmailKind::FactorEnabled => {
            "für Ihr Konto wurde eine Authenticator-App eingerichtet. Wer sich anmeldet, braucht \
             von nun an ihre Codes."
        }
        EmailKind::FactorDisabled => {
            "die Authenticator-App wurde von Ihrem Konto entfernt. Zum Anmelden genügt von nun an \
             das Passwort."
        }
        EmailKind::SecondFactorFailed => {
            "jemand hat das richtige Passwort Ihres Kontos eingegeben und danach fünf falsche \
             Codes. Die Anmeldung ist nicht gelungen."
        }
        EmailKind::RecoveryCodesRegenerated => {
            "für Ihr Konto wurden neue Wiederherstellungscodes erstellt. Die alten gelten nicht \
             mehr."
        }
        EmailKind::RecoveryCodeUsed(None) => "ein Wiederherstellungscode Ihres Kontos wurde benutzt.",
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
            "die Wiederherstellung Ihrer Ende-zu-Ende-verschlüsselten Daten wurde eingerichtet \
             oder geändert."
        }
        EmailKind::SyncReset => {
            "alles, was Ihre Geräte über den Server abgleichen, wurde dort gelöscht, mit allen \
             Chats und den Schlüsseln der Ende-zu-Ende-Verschlüsselung. Auf Ihren Geräten ist es \
             noch da."
        }
        EmailKind::AccountDeactivated => "Ihr Konto wurde deaktiviert. Alle Geräte wurden abgemeldet.",
        EmailKind::AccountDeleted => "Ihr Konto wurde gelöscht, mit allem, was dafür gespeichert war.",
    };
    text.to_owned()
}

/// What happened to something that has a name, or of which some are left.
fn with_something_filled_in(kind: &EmailKind) -> Option<String> {
    Some(match kind {
        EmailKind::PasswordChanged(Some(left)) => format!("{PASSWORD_CHANGED}{}", still_open(*left)),
        EmailKind::RecoveryCodeUsed(Some(left)) => {
            format!("ein Wiederherstellungscode Ihres Kontos wurde benutzt. {}", codes_left(*left))
        }
        EmailKind::PasskeyAdded(name) => {
            format!("der Passkey „{name}“ wurde Ihrem Konto hinzugefügt. Er öffnet das Konto.")
        }
        EmailKind::PasskeyRemoved(name) => {
            format!("der Passkey „{name}“ wurde von Ihrem Konto entfernt.")
        }
        EmailKind::PasskeyCloned(name) => {
            format!(
                "eine Anmeldung mit dem Passkey „{name}“ wurde abgelehnt und der Passkey gesperrt: \
                 Es scheint eine Kopie davon zu geben. Entfernen Sie ihn aus Ihrem Konto und fügen \
                 Sie einen neuen hinzu, oder entsperren Sie ihn, wenn Sie sicher sind, dass es \
                 keine gibt."
            )
        }
        EmailKind::AppPasswordAdded(name) => {
            format!(
                "das App-Passwort „{name}“ wurde für Ihr Konto erstellt. Damit kann man sich anmelden."
            )
        }
        EmailKind::AppPasswordRemoved(name) => {
            format!("das App-Passwort „{name}“ wurde von Ihrem Konto entfernt.")
        }
        EmailKind::ApiKeyAdded(name) => {
            format!(
                "der API-Schlüssel „{name}“ wurde für Ihr Konto erstellt. Wer ihn hat, fragt in \
                 Ihrem Namen Modelle."
            )
        }
        EmailKind::ApiKeyRemoved(name) => {
            format!("der API-Schlüssel „{name}“ wurde von Ihrem Konto entfernt.")
        }
        EmailKind::DeviceRegistered(name) => {
            format!(
                "das Gerät „{name}“ möchte den Schlüssel zu Ihren Ende-zu-Ende-verschlüsselten \
                 Daten. Es bekommt ihn nur, wenn Sie das auf einem Ihrer anderen Geräte erlauben \
                 oder auf ihm Ihren Wiederherstellungscode eingeben."
            )
        }
        EmailKind::DeviceApproved(name) => {
            format!(
                "der Schlüssel zu Ihren Ende-zu-Ende-verschlüsselten Daten wurde für das Gerät \
                 „{name}“ gespeichert. Es kann diese Daten von nun an lesen."
            )
        }
        EmailKind::DeviceRevoked(name) => {
            format!(
                "das Gerät „{name}“ wurde abgewiesen: Der Server gibt ihm den Schlüssel zu Ihren \
                 Ende-zu-Ende-verschlüsselten Daten nicht mehr. Was es schon gelesen hat, kann es \
                 behalten haben."
            )
        }
        _ => return None,
    })
}

/// What still opens the account, as a further sentence if there is anything.
fn still_open(AppAccess { app_passwords, api_keys }: AppAccess) -> String {
    let counted = |number, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("ein {one}")),
        number => Some(format!("{number} {many}")),
    };
    let apps = counted(app_passwords, "App-Passwort", "App-Passwörter");
    let keys = counted(api_keys, "API-Schlüssel", "API-Schlüssel");
    let what = match (apps, keys) {
        (None, None) => return String::new(),
        (Some(what), None) | (None, Some(what)) => what,
        (Some(apps), Some(keys)) => format!("{apps} und {keys}"),
    };
    format!(" Weiterhin gültig: {what}. Widerrufen Sie, was Sie nicht kennen.")
}

fn codes_left(left: u32) -> String {
    match left {
        0 => "Es ist keiner mehr übrig: Erstellen Sie jetzt neue.".to_owned(),
        1 => "Einer ist noch übrig: Erstellen Sie bald neue.".to_owned(),
        left => format!("{left} sind noch übrig."),
    }
}

fn action(kind: &EmailKind) -> Option<Action> {
    let (label, link) = match kind {
        EmailKind::VerifyAddress(link) => ("Adresse bestätigen", link),
        EmailKind::PasswordReset(link) => ("Neues Passwort wählen", link),
        EmailKind::Invitation(link) => ("Konto erstellen", link),
        _ => return None,
    };
    let Link { url, hours } = link;
    let ends = hours.map(|it| format!("Der Link gilt einmal und {} lang.", span(it)));
    Some(Action { label, url: url.clone(), ends })
}

fn span(hours: u32) -> String {
    match hours {
        1 => "eine Stunde".to_owned(),
        hours if hours >= 48 && hours % 24 == 0 => format!("{} Tage", hours / 24),
        hours => format!("{hours} Stunden"),
    }
}

fn advice(kind: &EmailKind, public_url: &str) -> Vec<String> {
    let text = match kind {
        EmailKind::VerifyAddress(_) => {
            "Wenn Sie es nicht waren, folgen Sie dem Link nicht: Sie würden ein Konto bestätigen, \
             dessen Passwort jemand anderes kennt. Ohne Ihre Bestätigung wird die Adresse nicht \
             verwendet."
        }
        EmailKind::PasswordReset(_) => {
            "Wenn Sie es nicht waren, müssen Sie nichts tun: Ihr Passwort bleibt, wie es ist. \
             Geben Sie den Link niemandem weiter."
        }
        EmailKind::Invitation(_) => "Wenn Sie nicht wissen, worum es geht, müssen Sie nichts tun.",
        EmailKind::AddressTaken => {
            return vec![format!(
                "Wenn Sie es waren, melden Sie sich mit dem Konto an, das Sie haben. Wenn Sie \
                 das Passwort vergessen haben, wählen Sie ein neues: \
                 {public_url}/auth/forgot-password.html"
            )];
        }
        EmailKind::DeviceRegistered(_) => {
            return vec![
                "Wenn Sie es waren, vergleichen Sie die Fingerabdrücke, die beide Geräte zeigen, \
                 bevor Sie es erlauben."
                    .to_owned(),
                format!(
                    "Wenn Sie es nicht waren, weisen Sie es ab, und wählen Sie sofort ein neues \
                     Passwort; damit werden alle Geräte abgemeldet: \
                     {public_url}/auth/forgot-password.html – und sagen Sie es den Betreibern des \
                     Servers."
                ),
            ];
        }
        EmailKind::AccountDeactivated => {
            "Wenn Sie das für ein Versehen halten, fragen Sie die Betreiber des Servers."
        }
        EmailKind::AccountDeleted => {
            "Wenn Sie es nicht waren, sagen Sie es sofort den Betreibern des Servers. Gelöschte \
             Daten lassen sich nicht wiederherstellen."
        }
        _ => {
            return vec![
                "Wenn Sie es waren, müssen Sie nichts tun.".to_owned(),
                format!(
                    "Wenn Sie es nicht waren, wählen Sie sofort ein neues Passwort; damit werden \
                     alle Geräte abgemeldet: {public_url}/auth/forgot-password.html – und sagen \
                     Sie es den Betreibern des Servers."
                ),
            ];
        }
    };
    vec![text.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_how_long_it_works() {
        for (hours, told) in [(1, "eine Stunde"), (24, "24 Stunden"), (168, "7 Tage")] {
            assert_eq!(span(hours), told);
        }
    }

    #[test]
    fn a_changed_password_tells_what_still_opens_the_account() {
        for (app_passwords, api_keys, told) in [
            (0, 0, ""),
            (1, 0, " Weiterhin gültig: ein App-Passwort."),
            (0, 1, " Weiterhin gültig: ein API-Schlüssel."),
            (2, 3, " Weiterhin gültig: 2 App-Passwörter und 3 API-Schlüssel."),
        ] {
            let left = AppAccess { app_passwords, api_keys };
            let text = opening(&EmailKind::PasswordChanged(Some(left)));
            assert!(text.starts_with(&format!("{PASSWORD_CHANGED}{told}")), "{text}");
        }
    }

    #[test]
    fn how_many_recovery_codes_are_left_is_told_only_where_it_is_known() {
        let used = "ein Wiederherstellungscode Ihres Kontos wurde benutzt.";

        assert_eq!(opening(&EmailKind::RecoveryCodeUsed(None)), used);
        let known = opening(&EmailKind::RecoveryCodeUsed(Some(5)));
        assert_eq!(known, format!("{used} 5 sind noch übrig."));
    }
}
