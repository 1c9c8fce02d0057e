//! Letters in German.

use super::facts::Facts;
use super::kind::{AppAccess, Kind, Link};
use super::wording::{Action, Wording};

const PASSWORD_CHANGED: &str =
    "das Passwort Ihres Kontos wurde geändert. Alle anderen Geräte wurden abgemeldet.";

/// The letter, its facts and its last line.
pub(super) fn write(
    kind: &Kind,
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

fn subject(kind: &Kind) -> &'static str {
    match kind {
        Kind::VerifyAddress(_) => "Bestätigen Sie Ihre E-Mail-Adresse",
        Kind::PasswordReset(_) => "Wählen Sie ein neues Passwort",
        Kind::Invitation(_) => "Sie sind eingeladen",
        Kind::AddressTaken => "Sie haben schon ein Konto",
        Kind::PasswordChanged(_) => "Ihr Passwort wurde geändert",
        Kind::NewDevice => "Ein neues Gerät hat sich angemeldet",
        Kind::FactorEnabled => "Die Anmeldung in zwei Schritten ist eingeschaltet",
        Kind::FactorDisabled => "Die Anmeldung in zwei Schritten ist ausgeschaltet",
        Kind::SecondFactorFailed => "Möglicherweise kennt jemand Ihr Passwort",
        Kind::RecoveryCodesRegenerated => "Sie haben neue Wiederherstellungscodes",
        Kind::RecoveryCodeUsed(_) => "Ein Wiederherstellungscode wurde benutzt",
        Kind::PasskeyAdded(_) => "Ein Passkey wurde hinzugefügt",
        Kind::PasskeyRemoved(_) => "Ein Passkey wurde entfernt",
        Kind::PasskeyCloned(_) => "Ein Passkey wurde gesperrt",
        Kind::AppPasswordAdded(_) => "Ein App-Passwort wurde erstellt",
        Kind::AppPasswordRemoved(_) => "Ein App-Passwort wurde entfernt",
        Kind::ApiKeyAdded(_) => "Ein API-Schlüssel wurde erstellt",
        Kind::ApiKeyRemoved(_) => "Ein API-Schlüssel wurde entfernt",
        Kind::DeviceRegistered(_) => "Ein Gerät möchte an Ihre verschlüsselten Daten",
        Kind::DeviceApproved(_) => "Ein Gerät hat den Schlüssel zu Ihren Daten",
        Kind::DeviceRevoked(_) => "Ein Gerät wurde abgewiesen",
        Kind::RecoveryKeyChanged => "Die Wiederherstellung Ihrer Daten wurde geändert",
        Kind::SyncReset => "Ihre synchronisierten Daten wurden gelöscht",
        Kind::AccountDeactivated => "Ihr Konto wurde deaktiviert",
        Kind::AccountDeleted => "Ihr Konto wurde gelöscht",
    }
}

fn opening(kind: &Kind) -> String {
    if let Some(text) = with_something_filled_in(kind) {
        return text;
    }
    let text = match kind {
        Kind::VerifyAddress(_) => {
            "jemand, vermutlich Sie, hat diese Adresse für ein Konto angegeben. Bestätigen Sie, \
             dass es Ihre ist."
        }
        Kind::PasswordReset(_) => {
            "jemand, vermutlich Sie, möchte ein neues Passwort für Ihr Konto."
        }
        Kind::Invitation(_) => "Sie sind eingeladen, auf diesem Server ein Konto zu erstellen.",
        Kind::AddressTaken => {
            "jemand, vermutlich Sie, wollte mit dieser Adresse ein Konto erstellen. Es gibt schon \
             eines, und daran wurde nichts geändert."
        }
        Kind::PasswordChanged(None) => PASSWORD_CHANGED,
        Kind::NewDevice => "ein bisher unbekanntes Gerät hat sich an Ihrem Konto angemeldet.",
        Kind::FactorEnabled => {
            "für Ihr Konto wurde eine Authenticator-App eingerichtet. Wer sich anmeldet, braucht \
             von nun an ihre Codes."
        }
        Kind::FactorDisabled => {
            "die Authenticator-App wurde von Ihrem Konto entfernt. Zum Anmelden genügt von nun an \
             das Passwort."
        }
        Kind::SecondFactorFailed => {
            "jemand hat das richtige Passwort Ihres Kontos eingegeben und danach fünf falsche \
             Codes. Die Anmeldung ist nicht gelungen."
        }
        Kind::RecoveryCodesRegenerated => {
            "für Ihr Konto wurden neue Wiederherstellungscodes erstellt. Die alten gelten nicht \
             mehr."
        }
        Kind::RecoveryCodeUsed(None) => "ein Wiederherstellungscode Ihres Kontos wurde benutzt.",
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
            "die Wiederherstellung Ihrer Ende-zu-Ende-verschlüsselten Daten wurde eingerichtet \
             oder geändert."
        }
        Kind::SyncReset => {
            "alles, was Ihre Geräte über den Server abgleichen, wurde dort gelöscht, mit allen \
             Chats und den Schlüsseln der Ende-zu-Ende-Verschlüsselung. Auf Ihren Geräten ist es \
             noch da."
        }
        Kind::AccountDeactivated => "Ihr Konto wurde deaktiviert. Alle Geräte wurden abgemeldet.",
        Kind::AccountDeleted => "Ihr Konto wurde gelöscht, mit allem, was dafür gespeichert war.",
    };
    text.to_owned()
}

/// What happened to something that has a name, or of which some are left.
fn with_something_filled_in(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::PasswordChanged(Some(left)) => format!("{PASSWORD_CHANGED}{}", still_open(*left)),
        Kind::RecoveryCodeUsed(Some(left)) => {
            format!("ein Wiederherstellungscode Ihres Kontos wurde benutzt. {}", codes_left(*left))
        }
        Kind::PasskeyAdded(name) => {
            format!("der Passkey „{name}“ wurde Ihrem Konto hinzugefügt. Er öffnet das Konto.")
        }
        Kind::PasskeyRemoved(name) => {
            format!("der Passkey „{name}“ wurde von Ihrem Konto entfernt.")
        }
        Kind::PasskeyCloned(name) => {
            format!(
                "eine Anmeldung mit dem Passkey „{name}“ wurde abgelehnt und der Passkey gesperrt: \
                 Es scheint eine Kopie davon zu geben. Entfernen Sie ihn aus Ihrem Konto und fügen \
                 Sie einen neuen hinzu, oder entsperren Sie ihn, wenn Sie sicher sind, dass es \
                 keine gibt."
            )
        }
        Kind::AppPasswordAdded(name) => {
            format!(
                "das App-Passwort „{name}“ wurde für Ihr Konto erstellt. Damit kann man sich anmelden."
            )
        }
        Kind::AppPasswordRemoved(name) => {
            format!("das App-Passwort „{name}“ wurde von Ihrem Konto entfernt.")
        }
        Kind::ApiKeyAdded(name) => {
            format!(
                "der API-Schlüssel „{name}“ wurde für Ihr Konto erstellt. Wer ihn hat, fragt in \
                 Ihrem Namen Modelle."
            )
        }
        Kind::ApiKeyRemoved(name) => {
            format!("der API-Schlüssel „{name}“ wurde von Ihrem Konto entfernt.")
        }
        Kind::DeviceRegistered(name) => {
            format!(
                "das Gerät „{name}“ möchte den Schlüssel zu Ihren Ende-zu-Ende-verschlüsselten \
                 Daten. Es bekommt ihn nur, wenn Sie das auf einem Ihrer anderen Geräte erlauben \
                 oder auf ihm Ihren Wiederherstellungscode eingeben."
            )
        }
        Kind::DeviceApproved(name) => {
            format!(
                "der Schlüssel zu Ihren Ende-zu-Ende-verschlüsselten Daten wurde für das Gerät \
                 „{name}“ gespeichert. Es kann diese Daten von nun an lesen."
            )
        }
        Kind::DeviceRevoked(name) => {
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

fn action(kind: &Kind) -> Option<Action> {
    let (label, link) = match kind {
        Kind::VerifyAddress(link) => ("Adresse bestätigen", link),
        Kind::PasswordReset(link) => ("Neues Passwort wählen", link),
        Kind::Invitation(link) => ("Konto erstellen", link),
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

fn advice(kind: &Kind, public_url: &str) -> Vec<String> {
    let text = match kind {
        Kind::VerifyAddress(_) => {
            "Wenn Sie es nicht waren, folgen Sie dem Link nicht: Sie würden ein Konto bestätigen, \
             dessen Passwort jemand anderes kennt. Ohne Ihre Bestätigung wird die Adresse nicht \
             verwendet."
        }
        Kind::PasswordReset(_) => {
            "Wenn Sie es nicht waren, müssen Sie nichts tun: Ihr Passwort bleibt, wie es ist. \
             Geben Sie den Link niemandem weiter."
        }
        Kind::Invitation(_) => "Wenn Sie nicht wissen, worum es geht, müssen Sie nichts tun.",
        Kind::AddressTaken => {
            return vec![format!(
                "Wenn Sie es waren, melden Sie sich mit dem Konto an, das Sie haben. Wenn Sie \
                 das Passwort vergessen haben, wählen Sie ein neues: \
                 {public_url}/auth/forgot-password.html"
            )];
        }
        Kind::DeviceRegistered(_) => {
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
        Kind::AccountDeactivated => {
            "Wenn Sie das für ein Versehen halten, fragen Sie die Betreiber des Servers."
        }
        Kind::AccountDeleted => {
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
            let text = opening(&Kind::PasswordChanged(Some(left)));
            assert!(text.starts_with(&format!("{PASSWORD_CHANGED}{told}")), "{text}");
        }
    }

    #[test]
    fn how_many_recovery_codes_are_left_is_told_only_where_it_is_known() {
        let used = "ein Wiederherstellungscode Ihres Kontos wurde benutzt.";

        assert_eq!(opening(&Kind::RecoveryCodeUsed(None)), used);
        let known = opening(&Kind::RecoveryCodeUsed(Some(5)));
        assert_eq!(known, format!("{used} 5 sind noch übrig."));
    }
}
