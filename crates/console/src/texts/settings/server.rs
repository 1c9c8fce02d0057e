//! Descriptions of the settings of the server and its licence.

use crate::ui::Text;

/// Descriptions of the settings of the server and its licence.
pub(super) const SERVER: &[(&str, Text)] = &[
    (
        "Server:Address",
        Text::new(
            "IP address and port on which the server listens, such as 127.0.0.1:8080 or [::]:8080.",
            "IP-Adresse und Port, auf denen der Server lauscht, etwa 127.0.0.1:8080 oder \
             [::]:8080.",
        ),
    ),
    (
        "Server:PublicUrl",
        Text::new(
            "Address at which people reach the server, such as https://pia.example.com. Links in \
             emails, passkeys and identity providers depend on it.",
            "Adresse, unter der der Server erreichbar ist, etwa https://pia.example.com. Links in \
             E-Mails, Passkeys und Identitätsanbieter hängen davon ab.",
        ),
    ),
    (
        "Server:Name",
        Text::new(
            "Name of the server that authenticator apps and passkeys display, at most 64 \
             characters, such as the name of your organisation.",
            "Name des Servers, den Authenticator-Apps und Passkeys anzeigen, höchstens 64 Zeichen, \
             etwa der Name Ihrer Organisation.",
        ),
    ),
    (
        "Server:BasePath",
        Text::new(
            "Path under which a proxy forwards the server, such as /pia. Leave it empty without \
             one.",
            "Pfad, unter dem ein Proxy den Server weiterleitet, etwa /pia. Bleibt leer, wenn es \
             keinen gibt.",
        ),
    ),
    (
        "Server:StrictTransport",
        Text::new(
            "Tells browsers to use only encrypted connections, and for how long: the value of \
             Strict-Transport-Security, such as max-age=86400, or off.",
            "Weist Browser an, nur verschlüsselte Verbindungen zu nutzen, und wie lange: der Wert \
             von Strict-Transport-Security, etwa max-age=86400, oder off.",
        ),
    ),
    (
        "Server:TrustedProxies",
        Text::new(
            "Addresses and networks of your proxies, separated by commas, such as 10.0.0.0/8. The \
             server takes the IP addresses of callers from them.",
            "Adressen und Netze Ihrer Proxys, durch Kommas getrennt, etwa 10.0.0.0/8. Von ihnen \
             übernimmt der Server die IP-Adressen der Aufrufer.",
        ),
    ),
    (
        "Server:LocationDatabasePath",
        Text::new(
            "File in MaxMind’s format with the locations of IP addresses, which sign-ins then \
             display.",
            "Datei im MaxMind-Format mit den Orten von IP-Adressen, die dann bei Anmeldungen \
             angezeigt werden.",
        ),
    ),
    (
        "Server:Workers",
        Text::new(
            "Number of threads that handle requests, from 1 to 1024, usually one for each \
             processor core.",
            "Anzahl der Threads, die Anfragen bearbeiten, von 1 bis 1024, üblicherweise einer je \
             Prozessorkern.",
        ),
    ),
    (
        "Server:ShutdownTimeout",
        Text::new(
            "How long running requests may take to finish when the server stops, at most 10 \
             minutes, such as 1m.",
            "Zeit, die laufende Anfragen beim Beenden des Servers noch haben, höchstens 10 \
             Minuten, etwa 1m.",
        ),
    ),
    (
        "Server:MaxConnections",
        Text::new(
            "Maximum number of connections at the same time, such as 10000. Further ones wait.",
            "Maximale Anzahl gleichzeitiger Verbindungen, etwa 10000. Weitere warten.",
        ),
    ),
    (
        "Server:MaxBodyMemory",
        Text::new(
            "Maximum memory for the contents of all requests together, at least 32MiB, such as \
             512MiB.",
            "Maximaler Arbeitsspeicher für die Inhalte aller Anfragen zusammen, mindestens 32MiB, \
             etwa 512MiB.",
        ),
    ),
    (
        "Server:Tls:CertificatePath",
        Text::new(
            "PEM file with the certificate and its chain, if the server itself encrypts \
             connections. Leave it empty behind a proxy that does.",
            "PEM-Datei mit dem Zertifikat und seiner Kette, wenn der Server Verbindungen selbst \
             verschlüsselt. Bleibt leer, wenn ein Proxy das übernimmt.",
        ),
    ),
    (
        "Server:Tls:KeyPath",
        Text::new(
            "PEM file with the private key of the certificate.",
            "PEM-Datei mit dem privaten Schlüssel des Zertifikats.",
        ),
    ),
    (
        "License:Path",
        Text::new(
            "File with the licence. It can be replaced at any time without a restart.",
            "Datei mit der Lizenz. Sie kann jederzeit ohne Neustart ersetzt werden.",
        ),
    ),
    (
        "Setup:TokenPath",
        Text::new(
            "File for the token with which a new server is set up at /admin/setup. It exists only \
             while a licence or an administrator is missing.",
            "Datei für das Token, mit dem ein neuer Server unter /admin/setup eingerichtet wird. \
             Sie besteht nur, solange eine Lizenz oder ein Administrator fehlt.",
        ),
    ),
    (
        "OpenApi:Enabled",
        Text::new(
            "Publishes the description of the API for developers at /openapi/v1.json.",
            "Veröffentlicht die Beschreibung der API für Entwickler unter /openapi/v1.json.",
        ),
    ),
];
