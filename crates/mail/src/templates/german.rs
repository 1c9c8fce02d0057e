//! Emails in German.

use super::facts::Facts;
use super::kind::{AppAccess, Email, Link, ReportedAnswer};
use super::wording::{Action, Wording};

const PASSWORD_CHANGED: &str =
    "das Passwort Ihres Kontos wurde geändert. Alle anderen Geräte wurden abgemeldet.";

/// Returns the texts of an email.
pub(super) fn write(kind: &Email, facts: Option<&Facts>, public_url: &str) -> Wording {
    Wording {
        subject: subject(kind),
        greeting: "Guten Tag,",
        opening: opening(kind),
        action: action(kind),
        advice: advice(kind, public_url),
        facts: facts.map(|it| it.labelled("Wann", "IP-Adresse", "App")).unwrap_or_default(),
        sender: format!("Diese Nachricht kommt vom Pia-Server {public_url}"),
    }
}

fn subject(kind: &Email) -> &'static str {
    match kind {
        Email::VerifyAddress(_) => "Bestätigen Sie Ihre E-Mail-Adresse",
        Email::PasswordReset(_) => "Wählen Sie ein neues Passwort",
        Email::Invitation(_) => "Sie sind eingeladen",
        Email::AddressTaken => "Sie haben schon ein Konto",
        Email::AddressChange(_) => "Bestätigen Sie Ihre neue E-Mail-Adresse",
        Email::AddressChangeRequested(_) => "Ihre E-Mail-Adresse soll geändert werden",
        Email::AddressChanged(_) => "Ihre E-Mail-Adresse wurde geändert",
        Email::PasswordChanged(_) => "Ihr Passwort wurde geändert",
        Email::NewDevice => "Ein neues Gerät hat sich angemeldet",
        Email::FactorEnabled => "Die Zwei-Faktor-Authentifizierung ist eingeschaltet",
        Email::FactorDisabled => "Die Zwei-Faktor-Authentifizierung ist ausgeschaltet",
        Email::SecondFactorFailed => "Möglicherweise kennt jemand Ihr Passwort",
        Email::RecoveryCodesRegenerated => "Sie haben neue Wiederherstellungscodes",
        Email::RecoveryCodeUsed(_) => "Ein Wiederherstellungscode wurde benutzt",
        Email::PasskeyAdded(_) => "Ein Passkey wurde hinzugefügt",
        Email::PasskeyRemoved(_) => "Ein Passkey wurde entfernt",
        Email::PasskeyCloned(_) => "Ein Passkey wurde gesperrt",
        Email::AppPasswordAdded(_) => "Ein App-Passwort wurde erstellt",
        Email::AppPasswordRemoved(_) => "Ein App-Passwort wurde entfernt",
        Email::ApiKeyAdded(_) => "Ein API-Schlüssel wurde erstellt",
        Email::ApiKeyRemoved(_) => "Ein API-Schlüssel wurde entfernt",
        Email::DeviceRegistered(_) => "Ein Gerät möchte auf Ihre verschlüsselten Daten zugreifen",
        Email::DeviceApproved(_) => "Ein Gerät kann Ihre verschlüsselten Daten lesen",
        Email::DeviceRevoked(_) => "Ein Gerät wurde entfernt",
        Email::RecoveryKeyChanged => "Die Wiederherstellung Ihrer Daten wurde geändert",
        Email::SyncReset => "Ihre synchronisierten Daten wurden gelöscht",
        Email::AccountDeactivated => "Ihr Konto wurde deaktiviert",
        Email::AccountDeleted => "Ihr Konto wurde gelöscht",
        Email::AnswerReported(_) => "Eine Antwort wurde gemeldet",
        Email::RelayTest => "Test-E-Mail von diesem Server",
    }
}

fn opening(kind: &Email) -> String {
    if let Some(text) = address_opening(kind).or_else(|| parameterised_opening(kind)) {
        return text;
    }

    let text = match kind {
        Email::VerifyAddress(_) => {
            "jemand, vermutlich Sie, hat diese Adresse für ein Konto angegeben. Bestätigen Sie, \
             dass es Ihre ist."
        }
        Email::PasswordReset(_) => "jemand, vermutlich Sie, möchte Ihr Passwort zurücksetzen.",
        Email::Invitation(_) => "Sie sind eingeladen, auf diesem Server ein Konto zu erstellen.",
        Email::PasswordChanged(None) => PASSWORD_CHANGED,
        Email::NewDevice => "ein neues Gerät hat sich bei Ihrem Konto angemeldet.",
        Email::FactorEnabled => {
            "für Ihr Konto wurde eine Authenticator-App eingerichtet. Zum Anmelden brauchen Sie \
             von nun an einen ihrer Codes."
        }
        Email::FactorDisabled => {
            "die Authenticator-App wurde von Ihrem Konto entfernt. Zum Anmelden genügt von nun an \
             das Passwort."
        }
        Email::SecondFactorFailed => {
            "jemand hat das richtige Passwort Ihres Kontos eingegeben und danach fünf falsche \
             Codes. Die Anmeldung ist nicht gelungen."
        }
        Email::RecoveryCodesRegenerated => {
            "für Ihr Konto wurden neue Wiederherstellungscodes erstellt. Die alten gelten nicht \
             mehr."
        }
        Email::RecoveryCodeUsed(None) => "ein Wiederherstellungscode Ihres Kontos wurde benutzt.",
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
            "die Wiederherstellung Ihrer Ende-zu-Ende-verschlüsselten Daten wurde eingerichtet \
             oder geändert."
        }
        Email::SyncReset => {
            "alle synchronisierten Daten wurden vom Server gelöscht, mit allen Chats und den \
             Schlüsseln der Ende-zu-Ende-Verschlüsselung. Auf Ihren Geräten sind die Daten noch \
             vorhanden."
        }
        Email::AccountDeactivated => "Ihr Konto wurde deaktiviert. Alle Geräte wurden abgemeldet.",
        Email::AnswerReported(_) => "eine Antwort des Assistenten wurde als schlecht gemeldet.",
        Email::RelayTest => "diese Nachricht zeigt, dass der Server Ihnen E-Mails senden kann.",
        Email::AccountDeleted => "Ihr Konto wurde mit allen Daten gelöscht.",
    };

    text.to_owned()
}

/// Returns the text about the address of an account.
fn address_opening(kind: &Email) -> Option<String> {
    Some(match kind {
        Email::AddressTaken => {
            "jemand, vermutlich Sie, wollte diese Adresse für ein weiteres Konto verwenden. Sie \
             haben schon ein Konto mit ihr, und daran wurde nichts geändert."
                .to_owned()
        }
        Email::AddressChange(_) => {
            "jemand, vermutlich Sie, möchte diese Adresse für ein Konto verwenden. Bestätigen Sie, \
             dass es Ihre ist."
                .to_owned()
        }
        Email::AddressChangeRequested(new) => format!(
            "jemand, vermutlich Sie, möchte die E-Mail-Adresse Ihres Kontos in „{new}“ ändern. Sie \
             ändert sich, sobald diese Adresse bestätigt ist."
        ),
        Email::AddressChanged(new) => format!(
            "die E-Mail-Adresse Ihres Kontos wurde in „{new}“ geändert. Von jetzt an melden Sie \
             sich mit ihr an und erhalten dort E-Mails."
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
            format!("ein Wiederherstellungscode Ihres Kontos wurde benutzt. {}", codes_left(*count))
        }
        Email::PasskeyAdded(name) => {
            format!("zu Ihrem Konto wurde der Passkey „{name}“ zum Anmelden hinzugefügt.")
        }
        Email::PasskeyRemoved(name) => {
            format!("der Passkey „{name}“ wurde von Ihrem Konto entfernt.")
        }
        Email::PasskeyCloned(name) => {
            format!(
                "eine Anmeldung mit dem Passkey „{name}“ wurde abgelehnt und der Passkey gesperrt: \
                 Es scheint eine Kopie davon zu geben. Entfernen Sie ihn aus Ihrem Konto und fügen \
                 Sie einen neuen hinzu, oder entsperren Sie ihn, wenn Sie sicher sind, dass es \
                 keine gibt."
            )
        }
        Email::AppPasswordAdded(name) => {
            format!(
                "das App-Passwort „{name}“ wurde für Ihr Konto erstellt. Damit kann man sich anmelden."
            )
        }
        Email::AppPasswordRemoved(name) => {
            format!("das App-Passwort „{name}“ wurde von Ihrem Konto entfernt.")
        }
        Email::ApiKeyAdded(name) => {
            format!(
                "der API-Schlüssel „{name}“ wurde für Ihr Konto erstellt. Wer ihn hat, kann in \
                 Ihrem Namen KI-Modelle nutzen."
            )
        }
        Email::ApiKeyRemoved(name) => {
            format!("der API-Schlüssel „{name}“ wurde von Ihrem Konto entfernt.")
        }
        Email::DeviceRegistered(name) => {
            format!(
                "das Gerät „{name}“ möchte auf Ihre Ende-zu-Ende-verschlüsselten Daten zugreifen. \
                 Das kann es nur, wenn Sie es auf einem Ihrer anderen Geräte bestätigen oder auf \
                 ihm Ihren Wiederherstellungscode eingeben."
            )
        }
        Email::DeviceApproved(name) => {
            format!(
                "das Gerät „{name}“ wurde bestätigt. Es kann Ihre Ende-zu-Ende-verschlüsselten \
                 Daten von nun an lesen."
            )
        }
        Email::DeviceRevoked(name) => {
            format!(
                "das Gerät „{name}“ wurde entfernt: Es erhält keine neuen \
                 Ende-zu-Ende-verschlüsselten Daten mehr. Was es schon gelesen hat, kann es noch \
                 haben."
            )
        }
        _ => return None,
    })
}

/// Returns a sentence on the app passwords and API keys that remain valid;
/// empty if there are none.
fn remaining_access(AppAccess { app_passwords, api_keys }: AppAccess) -> String {
    let apps = amount(app_passwords, "App-Passwort", "App-Passwörter");
    let keys = amount(api_keys, "API-Schlüssel", "API-Schlüssel");
    let remaining = match (apps, keys) {
        (None, None) => return String::new(),
        (Some(apps), None) => apps,
        (None, Some(keys)) => keys,
        (Some(apps), Some(keys)) => format!("{apps} und {keys}"),
    };

    format!(" Weiterhin gültig: {remaining}. Widerrufen Sie, was Sie nicht kennen.")
}

/// Returns a number with the noun that it counts; `None` if it is 0.
fn amount(count: u32, singular: &str, plural: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("ein {singular}")),
        _ => Some(format!("{count} {plural}")),
    }
}

fn codes_left(count: u32) -> String {
    match count {
        0 => "Es ist keiner mehr übrig: Erstellen Sie jetzt neue.".to_owned(),
        1 => "Einer ist noch übrig: Erstellen Sie bald neue.".to_owned(),
        _ => format!("{count} sind noch übrig."),
    }
}

fn action(kind: &Email) -> Option<Action> {
    let (label, link) = match kind {
        Email::VerifyAddress(link) | Email::AddressChange(link) => ("Adresse bestätigen", link),
        Email::PasswordReset(link) => ("Neues Passwort wählen", link),
        Email::Invitation(link) => ("Konto erstellen", link),
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

/// Returns the advice about the address of an account.
fn address_advice(kind: &Email, public_url: &str) -> Option<String> {
    Some(match kind {
        Email::AddressTaken => format!(
                "Wenn Sie es waren, melden Sie sich mit dem Konto an, das Sie haben. Wenn Sie \
                 das Passwort vergessen haben, wählen Sie ein neues: \
                 {public_url}/auth/forgot-password.html"
            ),
        Email::AddressChange(_) => "Wenn Sie es nicht waren, müssen Sie nichts tun: Ohne Ihre Bestätigung wird die Adresse \
             nicht verwendet.".to_owned(),
        Email::AddressChanged(_) => "Wenn Sie es nicht waren, wenden Sie sich sofort an die Administration des Servers.".to_owned(),
        _ => return None,
    })
}

fn advice(kind: &Email, public_url: &str) -> Vec<String> {
    if let Some(text) = address_advice(kind, public_url) {
        return vec![text];
    }

    let text = match kind {
        Email::VerifyAddress(_) => {
            "Wenn Sie es nicht waren, folgen Sie dem Link nicht: Sie würden ein Konto bestätigen, \
             dessen Passwort jemand anderes kennt. Ohne Ihre Bestätigung wird die Adresse nicht \
             verwendet."
        }
        Email::PasswordReset(_) => {
            "Wenn Sie es nicht waren, müssen Sie nichts tun: Ihr Passwort bleibt, wie es ist. \
             Geben Sie den Link niemandem weiter."
        }
        Email::Invitation(_) => "Wenn Sie nicht wissen, worum es geht, müssen Sie nichts tun.",
        Email::DeviceRegistered(_) => {
            return vec![
                "Wenn Sie es waren, vergleichen Sie die Fingerabdrücke, die beide Geräte anzeigen, \
                 bevor Sie es bestätigen."
                    .to_owned(),
                format!(
                    "Wenn Sie es nicht waren, lehnen Sie es ab und setzen Sie sofort Ihr Passwort \
                     zurück; damit werden alle Geräte abgemeldet: \
                     {public_url}/auth/forgot-password.html – und informieren Sie die \
                     Administration des Servers."
                ),
            ];
        }
        Email::RelayTest => "Sie haben sie in der Konsole angefordert. Es ist nichts zu tun.",
        Email::AccountDeactivated => {
            "Wenn Sie das für ein Versehen halten, wenden Sie sich an die Administration des \
             Servers."
        }
        Email::AnswerReported(ReportedAnswer { id, comment }) => {
            let comment = (!comment.is_empty()).then(|| format!("Kommentar: „{comment}“"));
            let report = format!("Die Meldung {id} steht in der Konsole des Servers.");
            return comment.into_iter().chain([report]).collect();
        }
        Email::AccountDeleted => {
            "Wenn Sie es nicht waren, wenden Sie sich sofort an die Administration des Servers. \
             Gelöschte Daten lassen sich nicht wiederherstellen."
        }
        _ => {
            return vec![
                "Wenn Sie es waren, müssen Sie nichts tun.".to_owned(),
                format!(
                    "Wenn Sie es nicht waren, setzen Sie sofort Ihr Passwort zurück; damit werden \
                     alle Geräte abgemeldet: {public_url}/auth/forgot-password.html – und \
                     informieren Sie die Administration des Servers."
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
    fn the_lifetime_of_a_link_is_displayed() {
        for (hours, expected) in [(1, "eine Stunde"), (24, "24 Stunden"), (168, "7 Tage")] {
            assert_eq!(span(hours), expected);
        }
    }

    #[test]
    fn a_changed_password_lists_the_remaining_access() {
        for (app_passwords, api_keys, expected) in [
            (0, 0, ""),
            (1, 0, " Weiterhin gültig: ein App-Passwort."),
            (0, 1, " Weiterhin gültig: ein API-Schlüssel."),
            (2, 3, " Weiterhin gültig: 2 App-Passwörter und 3 API-Schlüssel."),
        ] {
            let access = AppAccess { app_passwords, api_keys };
            let text = opening(&Email::PasswordChanged(Some(access)));
            assert!(text.starts_with(&format!("{PASSWORD_CHANGED}{expected}")), "{text}");
        }
    }

    #[test]
    fn the_number_of_recovery_codes_is_displayed_if_known() {
        let use_sentence = "ein Wiederherstellungscode Ihres Kontos wurde benutzt.";

        assert_eq!(opening(&Email::RecoveryCodeUsed(None)), use_sentence);
        let opening_with_count = opening(&Email::RecoveryCodeUsed(Some(5)));
        assert_eq!(opening_with_count, format!("{use_sentence} 5 sind noch übrig."));
    }
}
