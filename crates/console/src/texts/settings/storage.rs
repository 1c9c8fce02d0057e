//! Descriptions of the settings of the database and encryption.

use crate::ui::Text;

/// Descriptions of the settings of the database and encryption.
pub(super) const STORAGE: &[(&str, Text)] = &[
    (
        "Database:Provider",
        Text::new(
            "Type of the database: postgresql for production, or sqlite, which is a file on this \
             machine.",
            "Art der Datenbank: postgresql für den Betrieb oder sqlite, eine Datei auf diesem \
             Rechner.",
        ),
    ),
    (
        "Database:ConnectionString",
        Text::new(
            "Connection to the database, such as postgres://pia@db/pia?sslmode=verify-full.",
            "Verbindung zur Datenbank, etwa postgres://pia@db/pia?sslmode=verify-full.",
        ),
    ),
    (
        "Database:MigrationConnectionString",
        Text::new(
            "Connection with the database role that owns the tables. If set, the server updates \
             them at startup.",
            "Verbindung mit der Datenbankrolle, der die Tabellen gehören. Ist sie gesetzt, \
             aktualisiert der Server sie beim Start.",
        ),
    ),
    (
        "Database:MaintenanceConnectionString",
        Text::new(
            "Connection with a database role that sees the rows of all people, for work in the \
             background. A person’s requests then reach only their own assignments and schedules. \
             PostgreSQL only.",
            "Verbindung mit einer Datenbankrolle, die die Zeilen aller Personen sieht, für \
             Arbeiten im Hintergrund. Die Anfragen einer Person erreichen dann nur ihre eigenen \
             Aufträge und Zeitpläne. Nur PostgreSQL.",
        ),
    ),
    (
        "Database:MaxConnections",
        Text::new(
            "Maximum number of connections to PostgreSQL for each role, from 1 to 1000, such as \
             32.",
            "Maximale Anzahl der Verbindungen zu PostgreSQL je Rolle, von 1 bis 1000, etwa 32.",
        ),
    ),
    (
        "Database:StatementTimeout",
        Text::new(
            "How long one statement may take in the database, from 1 second to 1 minute, such as \
             10s.",
            "Maximale Dauer einer Datenbankabfrage, von 1 Sekunde bis 1 Minute, etwa 10s.",
        ),
    ),
    (
        "Database:Synchronous",
        Text::new(
            "How safely SQLite writes: Full loses no change in a power failure; Normal is faster, \
             but may lose the last ones.",
            "Wie sicher SQLite schreibt: Full verliert bei Stromausfall keine Änderung; Normal ist \
             schneller, kann aber die letzten verlieren.",
        ),
    ),
    (
        "Encryption:MasterKey",
        Text::new(
            "Key that protects stored data and secrets: 64 random hexadecimal characters. Without \
             it, they cannot be read; store a copy in a safe place.",
            "Schlüssel, der gespeicherte Daten und Geheimnisse schützt: 64 zufällige hexadezimale \
             Zeichen. Ohne ihn sind sie nicht lesbar; bewahren Sie eine Kopie sicher auf.",
        ),
    ),
    (
        "Encryption:PreviousMasterKey",
        Text::new(
            "Master key in use before the current one, as long as data that was encrypted with it \
             exists.",
            "Hauptschlüssel, der vor dem jetzigen galt, solange es damit verschlüsselte Daten \
             gibt.",
        ),
    ),
    (
        "Encryption:AcceptNewMasterKey",
        Text::new(
            "Accepts a master key that does not match the stored data. That data is lost; turn it \
             on only if the old key cannot be recovered.",
            "Akzeptiert einen Hauptschlüssel, der nicht zu den gespeicherten Daten passt. Diese \
             Daten sind verloren; schalten Sie das nur ein, wenn der alte Schlüssel nicht mehr zu \
             finden ist.",
        ),
    ),
];
