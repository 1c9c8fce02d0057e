//! German texts.

use pia_identity::FirstAdminError;
use pia_policy::{InstallError, LicenceError};

use super::{
    EmailPageTexts, FieldErrorTexts, FrontTexts, NoticeTexts, ReasonTexts, RefusalTexts,
    RegisterTexts, ResetTexts, SetupTexts, Texts, VerifyTexts,
};

pub(super) static TEXTS: Texts = Texts {
    other_language: "English",
    error: "Fehler: ",
    problem: "Etwas stimmt noch nicht",
    optional: "(optional)",
    register: RegisterTexts {
        title: "Konto erstellen",
        intro: "Mit einem Konto nutzen Sie diesen Pia-Server aus der Pia-App.",
        email: "E-Mail-Adresse",
        password: "Passwort",
        password_hint: |fewest| {
            format!(
                "Mindestens {fewest} Zeichen. Mehrere Wörter sind leicht zu merken und schwer zu \
                 erraten."
            )
        },
        name: "Ihr Name",
        customer: "Wie nutzen Sie Pia?",
        business: "Als Unternehmen oder beruflich",
        consumer: "Privat, als Verbraucherin oder Verbraucher",
        company: "Unternehmen",
        company_hint: "Erforderlich, wenn Sie Pia als Unternehmen nutzen.",
        invitation: "Einladungscode",
        invitation_hint: "Er steht in der Einladung, die Sie erhalten haben.",
        send: "Konto erstellen",
        forgotten: "Passwort vergessen?",
        done: NoticeTexts {
            title: "Konto erstellt",
            paragraphs: &[
                "Gehen Sie zurück zur Pia-App und melden Sie sich mit E-Mail-Adresse und Passwort \
                 an.",
            ],
        },
        mailed: NoticeTexts {
            title: "Prüfen Sie Ihren Posteingang",
            paragraphs: &[
                "Wir haben Ihnen eine E-Mail geschickt. Öffnen Sie den Link darin, um Ihre Adresse \
                 zu bestätigen. Gehen Sie dann zurück zur Pia-App und melden Sie sich an.",
                "Keine E-Mail? Das kann einige Minuten dauern. Sehen Sie auch im Spam-Ordner nach.",
            ],
        },
        closed: NoticeTexts {
            title: "Die Registrierung ist geschlossen",
            paragraphs: &["Bitten Sie die Administration dieses Servers um ein Konto."],
        },
        not_you: "Auf diesem Server können Sie mit dieser Adresse kein Konto anlegen. Wenden Sie \
                  sich an die Administration.",
        not_invited: "Registrieren können Sie sich nur mit einer Einladung, und diese ist nicht \
                      gültig: Sie wurde schon benutzt, ist abgelaufen oder gilt für eine andere \
                      Adresse. Bitten Sie um eine neue.",
        seats_taken: "Dieser Server hat die Höchstzahl an Konten erreicht. Wenden Sie sich an die \
                      Administration.",
        email_taken: "Zu dieser Adresse gibt es schon ein Konto. Melden Sie sich damit in der \
                      Pia-App an.",
    },
    forgot: EmailPageTexts {
        title: "Passwort vergessen?",
        intro: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Wir schicken Ihnen einen Link, mit \
                dem Sie ein neues Passwort wählen können.",
        send: "Link senden",
        mailed: NoticeTexts {
            title: "Prüfen Sie Ihren Posteingang",
            paragraphs: &[
                "Wenn es zu dieser Adresse ein Konto gibt, haben wir einen Link dorthin geschickt. \
                 Er gilt einmal und für begrenzte Zeit.",
                "Keine E-Mail? Das kann einige Minuten dauern. Sehen Sie auch im Spam-Ordner nach.",
            ],
        },
        no_mail: NoticeTexts {
            title: "Dieser Server sendet keine E-Mails",
            paragraphs: &["Wenden Sie sich an die Administration, um Ihr Passwort zurückzusetzen."],
        },
    },
    resend: EmailPageTexts {
        title: "E-Mail-Adresse bestätigen",
        intro: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Wir schicken Ihnen einen neuen \
                Link, mit dem Sie sie bestätigen können.",
        send: "Link senden",
        mailed: NoticeTexts {
            title: "Prüfen Sie Ihren Posteingang",
            paragraphs: &[
                "Wenn es zu dieser Adresse ein Konto gibt, das noch nicht bestätigt ist, haben wir \
                 einen Link dorthin geschickt. Er gilt einmal und für begrenzte Zeit.",
                "Keine E-Mail? Das kann einige Minuten dauern. Sehen Sie auch im Spam-Ordner nach.",
            ],
        },
        no_mail: NoticeTexts {
            title: "Dieser Server sendet keine E-Mails",
            paragraphs: &["Wenden Sie sich an die Administration, um Ihre Adresse zu bestätigen."],
        },
    },
    reset: ResetTexts {
        title: "Neues Passwort wählen",
        intro: "Mit dem neuen Passwort werden Sie überall abgemeldet und müssen sich neu anmelden.",
        account: "E-Mail-Adresse des Kontos",
        password: "Neues Passwort",
        send: "Passwort ändern",
        done: NoticeTexts {
            title: "Passwort geändert",
            paragraphs: &[
                "Gehen Sie zurück zur Pia-App und melden Sie sich mit dem neuen Passwort an.",
            ],
        },
        spent: NoticeTexts {
            title: "Dieser Link ist nicht mehr gültig",
            paragraphs: &[
                "Er wurde schon benutzt, ist abgelaufen oder wurde durch einen neueren ersetzt.",
            ],
        },
        again: "Neuen Link anfordern",
    },
    verify: VerifyTexts {
        title: "E-Mail-Adresse bestätigen",
        intro: "Bestätigen Sie, dass diese Adresse Ihnen gehört, um Ihr Konto zu nutzen.",
        send: "Adresse bestätigen",
        done: NoticeTexts {
            title: "Ihre Adresse ist bestätigt",
            paragraphs: &["Gehen Sie zurück zur Pia-App und melden Sie sich an."],
        },
        spent: NoticeTexts {
            title: "Dieser Link ist nicht mehr gültig",
            paragraphs: &[
                "Er wurde schon benutzt oder ist abgelaufen. Wenn Sie Ihre Adresse schon bestätigt \
                 haben, gehen Sie zurück zur Pia-App und melden Sie sich an.",
            ],
        },
        again: "Neuen Link anfordern",
    },
    field_errors: FieldErrorTexts {
        email_missing: "Geben Sie Ihre E-Mail-Adresse ein.",
        email_invalid: "Geben Sie eine E-Mail-Adresse wie name@example.com ein.",
        password_missing: "Wählen Sie ein Passwort.",
        password_short: |fewest| format!("Das Passwort muss mindestens {fewest} Zeichen haben."),
        password_long: "Das Passwort darf höchstens 128 Zeichen haben.",
        password_common: "Dieses Passwort ist leicht zu erraten. Wählen Sie ein längeres oder \
                          ungewöhnlicheres, zum Beispiel mehrere Wörter.",
        password_personal: "Das Passwort darf weder Ihr Name noch Ihre Adresse noch „Pia“ sein.",
        name_invalid: "Der Name muss eine einzelne Zeile mit höchstens 200 Zeichen sein.",
        customer_missing: "Geben Sie an, ob Sie Pia als Unternehmen oder privat nutzen.",
        company_missing: "Geben Sie den Namen Ihres Unternehmens ein.",
        company_invalid: "Der Name des Unternehmens muss eine einzelne Zeile mit höchstens 200 \
                          Zeichen sein.",
        other: "Prüfen Sie Ihre Eingaben.",
    },
    reasons: ReasonTexts {
        title: "Sie sind nicht angemeldet",
        then: "Sie können dieses Fenster schließen, zur Pia-App zurückgehen und es noch einmal \
               versuchen.",
        access_denied: "Die Anmeldung wurde abgebrochen oder nicht erlaubt.",
        email_exists: "Zu Ihrer E-Mail-Adresse gibt es schon ein Konto. Melden Sie sich so an wie \
                       beim Erstellen des Kontos.",
        email_missing: "Ihr Identitätsanbieter hat Ihre E-Mail-Adresse nicht übermittelt. Für ein \
                        Konto wird sie benötigt.",
        email_not_verified: "Ihr Identitätsanbieter hat Ihre E-Mail-Adresse nicht bestätigt. \
                             Bestätigen Sie sie zuerst dort.",
        user_limit_reached: "Dieser Server hat die Höchstzahl an Konten erreicht. Wenden Sie sich \
                             an die Administration.",
        license_expired: "Die Lizenz dieses Servers ist abgelaufen. Bis sie erneuert ist, lassen \
                          sich keine Konten erstellen. Wenden Sie sich an die Administration.",
        registration_closed: "Sie haben auf diesem Server kein Konto und können keines erstellen. \
                              Wenden Sie sich an die Administration.",
        free_tier_suspended: "Kostenlose Konten sind zurzeit nicht verfügbar.",
        provider_error: "Ihr Identitätsanbieter meldet einen Fehler.",
        provider_unreachable: "Ihr Identitätsanbieter antwortet zurzeit nicht.",
        provider_not_configured: "Ihr Identitätsanbieter ist auf diesem Server nicht eingerichtet. \
                                  Wenden Sie sich an die Administration.",
        unknown_provider: "Die App hat einen Identitätsanbieter angefordert, den dieser Server \
                           nicht kennt.",
        code_challenge_required: "Ihre Pia-App ist zu alt für diesen Server. Aktualisieren Sie sie \
                                  zuerst.",
        invalid_request: "Die App hat eine ungültige Anmeldeanfrage gesendet.",
        invalid_state: "Diese Anmeldung wurde nicht in diesem Browser gestartet oder ist schon \
                        beendet.",
        expired: "Die Anmeldung hat zu lange gedauert.",
        feature_not_licensed: "Die Lizenz dieses Servers umfasst keine Anmeldung mit einem \
                               Identitätsanbieter. Wenden Sie sich an die Administration.",
        account_deactivated: "Ihr Konto ist deaktiviert. Wenden Sie sich an die Administration \
                              dieses Servers.",
        unavailable: "Ein Teil des Servers ist ausgefallen oder ausgelastet. Versuchen Sie es \
                      gleich noch einmal.",
        server_error: "Auf dem Server ist etwas schiefgegangen. Versuchen Sie es in einigen \
                       Minuten noch einmal.",
        other: "Die Anmeldung ist fehlgeschlagen.",
    },
    refusals: RefusalTexts {
        broken_link: NoticeTexts {
            title: "Dieser Link ist unvollständig",
            paragraphs: &[
                "Ein Teil fehlt oder wurde verändert. Kopieren Sie den ganzen Link aus der E-Mail.",
            ],
        },
        broken_form: NoticeTexts {
            title: "Das Formular konnte nicht gelesen werden",
            paragraphs: &["Gehen Sie zurück, füllen Sie es neu aus und senden Sie es noch einmal."],
        },
        no_page: NoticeTexts {
            title: "Seite nicht gefunden",
            paragraphs: &[
                "Prüfen Sie die Adresse: Vielleicht fehlt ein Teil oder er ist falsch geschrieben. \
                 Oder der Inhalt der Seite wurde gelöscht.",
            ],
        },
        only_form: NoticeTexts {
            title: "Diese Adresse nimmt nur ein Formular an",
            paragraphs: &["Öffnen Sie die Seite mit dem Formular und senden Sie es dort ab."],
        },
        foreign_form: NoticeTexts {
            title: "Dieses Formular wurde nicht angenommen",
            paragraphs: &[
                "Es wurde von einer anderen Website gesendet, oder die Seite war zu lange \
                 geöffnet. Es wurde nichts geändert. Gehen Sie zurück, laden Sie die Seite neu \
                 und versuchen Sie es noch einmal.",
            ],
        },
        forbidden: NoticeTexts {
            title: "Kein Zugriff",
            paragraphs: &[
                "Ihre Rolle umfasst diese Seite nicht. Fragen Sie bei der Administration nach, \
                 wenn Sie sie brauchen.",
            ],
        },
        undeclared: NoticeTexts {
            title: "Geben Sie zuerst Ihr Unternehmen an",
            paragraphs: &[
                "Dieser Server ist nur für Unternehmen. Geben Sie in Ihrem Profil an, für welches \
                 Unternehmen Sie ihn nutzen, und versuchen Sie es dann noch einmal.",
            ],
        },
        unverified: NoticeTexts {
            title: "Bestätigen Sie zuerst Ihre E-Mail-Adresse",
            paragraphs: &[
                "Öffnen Sie den Link aus unserer E-Mail und versuchen Sie es dann noch einmal. In \
                 Ihrem Profil können Sie eine neue E-Mail anfordern.",
            ],
        },
        too_long: NoticeTexts {
            title: "Zu viel Text",
            paragraphs: &[
                "Die Eingaben sind länger als erlaubt. Gehen Sie zurück und kürzen Sie sie.",
            ],
        },
        no_license: NoticeTexts {
            title: "Noch keine Lizenz",
            paragraphs: &["Dieser Server hat keine gültige Lizenz. Installieren Sie eine auf der \
                 Einrichtungsseite."],
        },
        license_expired: NoticeTexts {
            title: "Die Lizenz ist abgelaufen",
            paragraphs: &[
                "Daten lassen sich weiterhin lesen; erneuern Sie die Lizenz, um etwas zu \
                 ändern.",
            ],
        },
        unlicensed: NoticeTexts {
            title: "Nicht in der Lizenz enthalten",
            paragraphs: &["Die Lizenz dieses Servers erlaubt das nicht. Wenden Sie sich an die \
                 Administration."],
        },
        too_many: NoticeTexts {
            title: "Zu viele Versuche",
            paragraphs: &["Warten Sie eine Weile und versuchen Sie es dann noch einmal."],
        },
        unavailable: NoticeTexts {
            title: "Vorübergehend nicht verfügbar",
            paragraphs: &[
                "Ein Teil des Servers ist ausgefallen oder ausgelastet. Versuchen Sie es gleich \
                 noch einmal.",
            ],
        },
        failed: NoticeTexts {
            title: "Etwas ist schiefgegangen",
            paragraphs: &[
                "Der Fehler steht im Protokoll des Servers. Versuchen Sie es in einigen Minuten \
                 noch einmal.",
            ],
        },
    },
    front: FrontTexts {
        intro: "Dies ist ein Pia-Server. Um ihn zu nutzen, öffnen Sie die Pia-App und geben Sie \
                dort die Adresse dieser Seite als Server ein.",
        unlicensed: "Die Lizenz dieses Servers ist abgelaufen. Bis sie erneuert ist, können Sie \
                     sich anmelden und lesen, aber nichts ändern.",
        set_up: "Diesen Server einrichten",
        account: "Ihr Konto",
        console: "Konsole für Administratoren",
        register: "Konto erstellen",
        forgot: "Passwort vergessen?",
        api: "Beschreibung der API (OpenAPI)",
    },
    setup: SetupTexts {
        title: "Diesen Server einrichten",
        no_license: "Dieser Server hat noch keine Lizenz. Installieren Sie eine, um fortzufahren.",
        refused: |error| {
            format!(
                "Die Lizenzdatei dieses Servers wird nicht angenommen. {}",
                license_error(error)
            )
        },
        ended: |at| {
            format!(
                "Die Lizenz dieses Servers ist am {at} abgelaufen. Bis sie erneuert ist, kann man \
                 sich anmelden und lesen, aber nichts ändern."
            )
        },
        no_admin: "Die Lizenz ist installiert. Erstellen Sie nun das Administratorkonto.",
        done: NoticeTexts {
            title: "Dieser Server ist eingerichtet",
            paragraphs: &[
                "Die Lizenz ist installiert, und es gibt ein Administratorkonto.",
                "Melden Sie sich als Nächstes bei diesem Konto an und richten Sie einen zweiten \
                 Faktor ein. Machen Sie dann in der Konsole weiter.",
            ],
        },
        next: "Weiter mit den ersten Schritten",
        token: "Einrichtungscode",
        token_hint: "Er steht in der Datei unter Setup:TokenPath, standardmäßig .setup-token im \
                     Ordner des Servers. Das Protokoll des Servers nennt den Pfad.",
        license: "Lizenz",
        license_hint: "Der ganze Text der Lizenzdatei, der mit pia-license-v1 beginnt. \
                       Zeilenumbrüche spielen keine Rolle.",
        install: "Lizenz installieren",
        password_hint: "Wählen Sie ein langes Passwort, das Sie sonst nirgends benutzen, etwa \
                        einige zufällige Wörter.",
        create: "Administratorkonto erstellen",
        install_error,
        admin_error,
    },
};

fn install_error(err: &InstallError) -> String {
    match err {
        InstallError::AlreadyLicensed => "Der Server hat eine gültige Lizenz. Ersetzen Sie seine \
                                          Lizenzdatei, um sie zu ändern."
            .to_owned(),
        InstallError::WrongToken => WRONG_TOKEN.to_owned(),
        InstallError::Refused(error) => license_error(error),
        InstallError::Ended(at) => format!("Die Lizenz ist am {at} abgelaufen."),
        InstallError::Unavailable(_) => "Der Server konnte die Lizenz nicht speichern oder seinen \
                                         Einrichtungscode nicht lesen. Der Grund steht in seinem \
                                         Protokoll."
            .to_owned(),
    }
}

fn license_error(error: &LicenceError) -> String {
    let text = match error {
        LicenceError::Truncated(_) => "Das ist keine Lizenz, oder ein Teil davon fehlt.",
        LicenceError::Foreign(key) => {
            return format!(
                "Die Lizenz wurde mit einem Schlüssel ({key}) ausgestellt, den dieser Server nicht \
                 akzeptiert."
            );
        }
        LicenceError::Forged => {
            "Die Signatur der Lizenz ist falsch: Sie wurde verändert oder gefälscht."
        }
        LicenceError::Unreadable(_) => "Die Lizenz kann nicht gelesen werden.",
    };

    text.to_owned()
}

fn admin_error(err: &FirstAdminError) -> String {
    let text = match err {
        FirstAdminError::AlreadySetUp => {
            "Der Server hat schon ein Administratorkonto. Weitere erstellen Sie damit oder mit \
             „pia-server admin“."
        }
        FirstAdminError::WrongToken => WRONG_TOKEN,
        FirstAdminError::Invalid(_) => "Prüfen Sie die Angaben zum Konto.",
        FirstAdminError::EmailTaken => {
            "Zu dieser Adresse gibt es schon ein Konto. Wenn es Ihres ist, macht „pia-server admin \
             grant“ auf dem Rechner des Servers es zum Administratorkonto. Wählen Sie im Zweifel \
             eine andere Adresse: Wer die erste zuerst registriert hat, wäre sonst auch \
             Administrator."
        }
        FirstAdminError::Suspended => {
            "Solange FreeTier:Suspended gesetzt ist, werden keine Konten erstellt."
        }
        FirstAdminError::SeatsTaken => "Die Lizenz hat keinen Platz mehr für dieses Konto.",
        FirstAdminError::Unavailable(_) => {
            "Ein Teil des Servers antwortet nicht. Der Grund steht in seinem Protokoll."
        }
    };

    text.to_owned()
}

const WRONG_TOKEN: &str =
    "Der Einrichtungscode ist falsch. Er steht in der Datei, die Setup:TokenPath nennt.";
