//! Descriptions of the settings of accounts and sign-in.

use crate::ui::Text;

/// Descriptions of the settings of accounts and sign-in.
pub(super) const ACCOUNTS: &[(&str, Text)] = &[
    (
        "LocalAuth:Registration",
        Text::new(
            "Who may create an account with a password: open (everyone), invitation (people who \
             were invited) or closed (no one).",
            "Wer ein Konto mit Passwort erstellen darf: open (alle), invitation (nur Eingeladene) \
             oder closed (niemand).",
        ),
    ),
    (
        "LocalAuth:AllowedDomains",
        Text::new(
            "Email domains from which people may register, separated by commas, such as \
             example.com. Leave it empty to allow all. Invitations are not affected.",
            "E-Mail-Domains, mit denen eine Registrierung möglich ist, durch Kommas getrennt, etwa \
             example.com. Ohne Angabe sind alle erlaubt. Für Einladungen gilt die Liste nicht.",
        ),
    ),
    (
        "LocalAuth:RequireBusinessDeclaration",
        Text::new(
            "Asks people to state whether they act as a business or as a consumer before they can \
             use their account.",
            "Verlangt vor der Nutzung des Kontos die Angabe, ob jemand als Unternehmen oder als \
             Verbraucher handelt.",
        ),
    ),
    (
        "LocalAuth:RequireEmailVerification",
        Text::new(
            "Requires a confirmed email address before an account can be used, including accounts \
             that already exist. Needs a mail server.",
            "Verlangt eine bestätigte E-Mail-Adresse, bevor ein Konto genutzt werden kann, auch \
             bei bestehenden Konten. Braucht einen Mailserver.",
        ),
    ),
    (
        "LocalAuth:UnverifiedAccountDays",
        Text::new(
            "Days after which an account whose email address was not confirmed is deleted, from 1 \
             to 365. Applies while confirmation is required.",
            "Tage, nach denen ein Konto ohne bestätigte E-Mail-Adresse gelöscht wird, von 1 bis \
             365. Gilt, solange die Bestätigung verlangt wird.",
        ),
    ),
    (
        "LocalAuth:MinimumPasswordLength",
        Text::new(
            "Minimum length of new passwords in characters, from 8 to 64, such as 12.",
            "Mindestlänge neuer Passwörter in Zeichen, von 8 bis 64, etwa 12.",
        ),
    ),
    (
        "OAuth:Timeout",
        Text::new(
            "How long to wait for a response of an identity provider, such as 5s.",
            "Wartezeit auf die Antwort eines Identitätsanbieters, etwa 5s.",
        ),
    ),
    (
        "OAuth:*:ClientId",
        Text::new(
            "Client id that the identity provider issued for this server. Setting it turns on \
             sign-in with this provider.",
            "Client-ID, die der Identitätsanbieter für diesen Server ausgestellt hat. Sobald sie \
             gesetzt ist, ist die Anmeldung mit diesem Anbieter möglich.",
        ),
    ),
    (
        "OAuth:*:ClientSecret",
        Text::new(
            "Client secret that the identity provider issued for this server. Public clients have \
             none.",
            "Client-Secret, das der Identitätsanbieter für diesen Server ausgestellt hat. \
             Öffentliche Clients haben keines.",
        ),
    ),
    (
        "OAuth:*:TenantId",
        Text::new(
            "Id of the directory (tenant) in Entra ID, a GUID. Only its users can sign in with \
             this provider.",
            "ID des Verzeichnisses (Mandanten) in Entra ID, eine GUID. Nur dessen Benutzer können \
             sich mit diesem Anbieter anmelden.",
        ),
    ),
    (
        "OAuth:*:Authority",
        Text::new(
            "Address of the identity provider (issuer), exactly as the provider states it, such as \
             https://login.example.com.",
            "Adresse des Identitätsanbieters (Issuer), genau wie der Anbieter sie angibt, etwa \
             https://login.example.com.",
        ),
    ),
    (
        "OAuth:*:TrustEmail",
        Text::new(
            "Accepts email addresses that the identity provider does not report as verified. Turn \
             it on only if the provider checks addresses itself.",
            "Akzeptiert E-Mail-Adressen, die der Identitätsanbieter nicht als bestätigt meldet. \
             Schalten Sie das nur ein, wenn der Anbieter Adressen selbst prüft.",
        ),
    ),
    (
        "OAuth:*:Scopes",
        Text::new(
            "Permissions to request at sign-in, separated by blanks. openid must be one of them.",
            "Berechtigungen, die bei der Anmeldung angefordert werden, durch Leerzeichen getrennt. \
             openid muss enthalten sein.",
        ),
    ),
    (
        "Jwt:SecretKey",
        Text::new(
            "Secret key that signs access tokens: at least 32 random characters. A new key signs \
             everyone out, unless the old one is set as the previous key.",
            "Geheimer Schlüssel, der Zugriffstoken signiert: mindestens 32 zufällige Zeichen. Ein \
             neuer Schlüssel meldet alle ab, sofern der alte nicht als vorheriger Schlüssel \
             gesetzt ist.",
        ),
    ),
    (
        "Jwt:PreviousSecretKey",
        Text::new(
            "Signing key in use before the current one. Its tokens remain valid; remove it once \
             they have expired.",
            "Signaturschlüssel, der vor dem jetzigen galt. Seine Token bleiben gültig; entfernen \
             Sie ihn, sobald sie abgelaufen sind.",
        ),
    ),
    (
        "Jwt:Issuer",
        Text::new(
            "Issuer named in access tokens. Tokens with another issuer are rejected.",
            "Aussteller, der in Zugriffstoken steht. Token mit einem anderen Aussteller werden \
             abgelehnt.",
        ),
    ),
    (
        "Jwt:Audience",
        Text::new(
            "Audience named in access tokens. Tokens for another audience are rejected.",
            "Empfänger (Audience), der in Zugriffstoken steht. Token für andere Empfänger werden \
             abgelehnt.",
        ),
    ),
    (
        "Jwt:AccessTokenLifetime",
        Text::new(
            "How long an access token is valid, at most a day, such as 10m. Clients renew it by \
             themselves.",
            "Gültigkeitsdauer eines Zugriffstokens, höchstens ein Tag, etwa 10m. Clients erneuern \
             es selbst.",
        ),
    ),
    (
        "Jwt:RefreshTokenLifetime",
        Text::new(
            "How long people stay signed in on a device that they do not use, at most 400 days, \
             such as 14d.",
            "Dauer, für die man auf einem unbenutzten Gerät angemeldet bleibt, höchstens 400 Tage, \
             etwa 14d.",
        ),
    ),
    (
        "Jwt:RefreshGrace",
        Text::new(
            "Period in which a client that lost its connection may repeat the renewal of its \
             tokens, at most 5 minutes, such as 10s. A later repetition ends the session.",
            "Zeitraum, in dem ein Client nach einem Verbindungsabbruch die Erneuerung seiner Token \
             wiederholen darf, höchstens 5 Minuten, etwa 10s. Eine spätere Wiederholung beendet \
             die Sitzung.",
        ),
    ),
    (
        "Jwt:MaxSessions",
        Text::new(
            "How many sessions an account may have at the same time, from 1 to 100. The oldest is \
             ended for a new one.",
            "Anzahl gleichzeitiger Sitzungen eines Kontos, von 1 bis 100. Für eine neue wird die \
             älteste beendet.",
        ),
    ),
    (
        "PasswordHashing:MemoryKib",
        Text::new(
            "Memory to hash one password (Argon2), in KiB. More is safer and takes more of the \
             server’s memory.",
            "Arbeitsspeicher für das Hashen eines Passworts (Argon2) in KiB. Mehr ist sicherer, \
             belegt aber mehr Speicher des Servers.",
        ),
    ),
    (
        "PasswordHashing:Iterations",
        Text::new(
            "Number of passes when a password is hashed (Argon2), from 1 to 100. More is safer and \
             slows sign-in.",
            "Anzahl der Durchläufe beim Hashen eines Passworts (Argon2), von 1 bis 100. Mehr ist \
             sicherer, macht die Anmeldung aber langsamer.",
        ),
    ),
    (
        "PasswordHashing:Parallelism",
        Text::new(
            "Number of parallel lanes when a password is hashed (Argon2), from 1 to 64. Few \
             servers need more than one.",
            "Anzahl paralleler Spuren beim Hashen eines Passworts (Argon2), von 1 bis 64. Mehr als \
             eine ist selten nötig.",
        ),
    ),
    (
        "PasswordHashing:Threads",
        Text::new(
            "How many passwords are hashed at the same time, from 1 to 256, usually one for each \
             processor core. Each needs its own memory.",
            "Anzahl der Passwörter, die gleichzeitig gehasht werden, von 1 bis 256, üblicherweise \
             eines je Prozessorkern. Jedes braucht eigenen Arbeitsspeicher.",
        ),
    ),
    (
        "PasswordHashing:QueueLength",
        Text::new(
            "How many sign-ins may wait for their password to be checked, from 1 to 100000. \
             Further ones are turned away for the moment.",
            "Anzahl der Anmeldungen, die auf die Prüfung des Passworts warten dürfen, von 1 bis \
             100000. Weitere werden vorübergehend abgewiesen.",
        ),
    ),
    (
        "Admin:SessionIdleTimeout",
        Text::new(
            "Inactivity after which a session of the console ends, from 1 minute to 1 day, such as \
             15m.",
            "Inaktivität, nach der eine Sitzung der Konsole endet, von 1 Minute bis 1 Tag, etwa \
             15m.",
        ),
    ),
    (
        "Admin:SessionLifetime",
        Text::new(
            "Time after which a session of the console ends even if it is in use, at most 30 days, \
             such as 8h.",
            "Dauer, nach der eine Sitzung der Konsole auch bei Nutzung endet, höchstens 30 Tage, \
             etwa 8h.",
        ),
    ),
    (
        "Admin:RequireSecondFactor",
        Text::new(
            "Admits only accounts with a second factor or a passkey to the console. Turning it off \
             makes stolen passwords more dangerous.",
            "Lässt nur Konten mit zweitem Faktor oder Passkey in die Konsole. Ohne diesen Schutz \
             genügt ein gestohlenes Passwort.",
        ),
    ),
];
