//! Descriptions of the settings of email.

use crate::ui::Text;

/// Descriptions of the settings of email.
pub(super) const EMAIL: &[(&str, Text)] = &[
    (
        "Smtp:Host",
        Text::new(
            "Name of the mail server that sends emails, such as smtp.example.com. It must match \
             the server’s certificate.",
            "Name des Mailservers, der E-Mails versendet, etwa smtp.example.com. Er muss zum \
             Zertifikat des Servers passen.",
        ),
    ),
    (
        "Smtp:Port",
        Text::new(
            "Port of the mail server. If empty, it follows from the encryption: 587 for starttls, \
             465 for tls, 25 for none.",
            "Port des Mailservers. Ohne Angabe ergibt er sich aus der Verschlüsselung: 587 bei \
             starttls, 465 bei tls, 25 bei none.",
        ),
    ),
    (
        "Smtp:Security",
        Text::new(
            "Encryption of the connection to the mail server: starttls, tls, or none for a mail \
             server on this machine.",
            "Verschlüsselung der Verbindung zum Mailserver: starttls, tls oder none für einen \
             Mailserver auf diesem Rechner.",
        ),
    ),
    (
        "Smtp:Username",
        Text::new(
            "User name for signing in at the mail server, often the sender’s address.",
            "Benutzername für die Anmeldung am Mailserver, häufig die Absenderadresse.",
        ),
    ),
    (
        "Smtp:Password",
        Text::new(
            "Password for signing in at the mail server.",
            "Passwort für die Anmeldung am Mailserver.",
        ),
    ),
    (
        "Smtp:From",
        Text::new(
            "Address from which emails are sent, such as pia@example.com.",
            "Adresse, von der E-Mails gesendet werden, etwa pia@example.com.",
        ),
    ),
    (
        "Smtp:FromName",
        Text::new(
            "Sender’s name that recipients see, such as the name of your organisation.",
            "Absendername, den Empfänger sehen, etwa der Name Ihrer Organisation.",
        ),
    ),
    (
        "Smtp:Timeout",
        Text::new(
            "How long to wait for the mail server, for the connection and for each email, from 1 \
             second to 2 minutes, such as 20s.",
            "Wartezeit auf den Mailserver, für die Verbindung und für jede E-Mail, von 1 Sekunde \
             bis 2 Minuten, etwa 20s.",
        ),
    ),
    (
        "Smtp:CaPath",
        Text::new(
            "PEM file with further certificate authorities to trust, if your mail server has a \
             certificate of your own authority.",
            "PEM-Datei mit weiteren vertrauenswürdigen Zertifizierungsstellen, falls das \
             Zertifikat Ihres Mailservers von einer eigenen Stelle stammt.",
        ),
    ),
    (
        "Smtp:Language",
        Text::new(
            "Language of emails to people whose own language is not known: en or de.",
            "Sprache der E-Mails an Personen, deren Sprache nicht bekannt ist: en oder de.",
        ),
    ),
];
