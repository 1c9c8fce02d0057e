//! Descriptions of the settings of assignments.

use crate::ui::Text;

/// Descriptions of the settings of assignments.
pub(super) const ASSIGNMENTS: &[(&str, Text)] = &[
    (
        "Operators:Enabled",
        Text::new(
            "Lets people give assignments to operators, which work on them in the background.",
            "Ermöglicht Aufträge, die Operatoren im Hintergrund bearbeiten.",
        ),
    ),
    (
        "Operators:MaxSteps",
        Text::new(
            "Maximum number of steps of an assignment, from 3 to 50, such as 12.",
            "Maximale Anzahl der Schritte eines Auftrags, von 3 bis 50, etwa 12.",
        ),
    ),
    (
        "Operators:WallClockTimeoutSeconds",
        Text::new(
            "Maximum duration of an assignment in seconds, from 10 to 604800, such as 1800.",
            "Maximale Dauer eines Auftrags in Sekunden, von 10 bis 604800, etwa 1800.",
        ),
    ),
    (
        "Operators:MaxConcurrentAssignments",
        Text::new(
            "How many assignments an instance works on at the same time, from 1 to 1000.",
            "Anzahl der Aufträge, die eine Instanz gleichzeitig bearbeitet, von 1 bis 1000.",
        ),
    ),
    (
        "Operators:MaxConcurrentAssignmentsPerUser",
        Text::new(
            "How many unfinished assignments one person may have at the same time.",
            "Anzahl unerledigter Aufträge, die eine Person gleichzeitig haben darf.",
        ),
    ),
    (
        "Operators:MaxActivityAttempts",
        Text::new(
            "How often a step is attempted before the assignment fails, from 1 to 100.",
            "Wie oft ein Schritt versucht wird, bevor der Auftrag scheitert, von 1 bis 100.",
        ),
    ),
    (
        "Operators:PerAssignmentTokenCeiling",
        Text::new(
            "Maximum number of tokens that an assignment may use, at least 1000, such as 500000.",
            "Maximale Anzahl der Token, die ein Auftrag verbrauchen darf, mindestens 1000, etwa \
             500000.",
        ),
    ),
    (
        "Operators:QueuedGraceMinutes",
        Text::new(
            "Minutes after which an assignment that the workflow engine lost is started again, \
             from 1 to 1440, such as 10.",
            "Minuten, nach denen ein Auftrag neu gestartet wird, den die Workflow-Engine verloren \
             hat, von 1 bis 1440, etwa 10.",
        ),
    ),
    (
        "Operators:MaxReconcileAttempts",
        Text::new(
            "How often an assignment that the workflow engine lost is started again before it \
             fails, from 1 to 100.",
            "Wie oft ein Auftrag, den die Workflow-Engine verloren hat, neu gestartet wird, bevor \
             er scheitert, von 1 bis 100.",
        ),
    ),
    (
        "Operators:RetentionDays",
        Text::new(
            "Days after its end for which an assignment is stored, from 1 to 3650, such as 90.",
            "Tage, die ein Auftrag nach seinem Ende gespeichert bleibt, von 1 bis 3650, etwa 90.",
        ),
    ),
    (
        "Operators:PlaintextRetentionHours",
        Text::new(
            "Hours after its end for which the contents of an assignment are stored, such as 24.",
            "Stunden, die der Inhalt eines Auftrags nach dessen Ende gespeichert bleibt, etwa 24.",
        ),
    ),
    (
        "Operators:AllowPrivateMcpServers",
        Text::new(
            "Lets the server connect to MCP servers in your own network, also without TLS. Turn it \
             on only if you run such servers.",
            "Erlaubt Verbindungen zu MCP-Servern in Ihrem eigenen Netz, auch ohne TLS. Schalten \
             Sie das nur ein, wenn Sie solche Server betreiben.",
        ),
    ),
    (
        "Operators:AllowPrivateWebhooks",
        Text::new(
            "Lets webhooks reach addresses in your own network, also without TLS. Turn it on only \
             if you need such webhooks.",
            "Erlaubt Webhooks zu Adressen in Ihrem eigenen Netz, auch ohne TLS. Schalten Sie das \
             nur ein, wenn Sie solche Webhooks brauchen.",
        ),
    ),
    (
        "Workflow:Address",
        Text::new(
            "Workflow engine that runs assignments: embedded, which needs no other server, or host \
             and port of a Temporal server, such as temporal:7233.",
            "Workflow-Engine, die Aufträge ausführt: embedded, wofür kein weiterer Server nötig \
             ist, oder Host und Port eines Temporal-Servers, etwa temporal:7233.",
        ),
    ),
    (
        "Workflow:Namespace",
        Text::new(
            "Namespace on the Temporal server in which assignments run.",
            "Namespace auf dem Temporal-Server, in dem Aufträge laufen.",
        ),
    ),
    (
        "Workflow:TaskQueue",
        Text::new(
            "Task queue on the Temporal server. All instances of this server use the same one.",
            "Task-Queue auf dem Temporal-Server. Alle Instanzen dieses Servers verwenden dieselbe.",
        ),
    ),
    (
        "Workflow:Tls",
        Text::new(
            "Encrypts the connection to the Temporal server.",
            "Verschlüsselt die Verbindung zum Temporal-Server.",
        ),
    ),
    (
        "Workflow:ApiKey",
        Text::new(
            "API key for the Temporal server. Requires an encrypted connection.",
            "API-Schlüssel für den Temporal-Server. Setzt eine verschlüsselte Verbindung voraus.",
        ),
    ),
];
