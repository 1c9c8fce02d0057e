//! Descriptions of the settings of synchronisation.

use crate::ui::Text;

/// Descriptions of the settings of synchronisation.
pub(super) const SYNC: &[(&str, Text)] = &[
    (
        "Sync:MaxChats",
        Text::new(
            "Maximum number of chats that the server stores for one person, such as 5000.",
            "Maximale Anzahl der Chats, die der Server für eine Person speichert, etwa 5000.",
        ),
    ),
    (
        "Sync:MaxStorage",
        Text::new(
            "Maximum storage of one person for chats and synchronised data, at least 32MiB, such \
             as 2GiB. Groups may override it.",
            "Maximaler Speicherplatz einer Person für Chats und synchronisierte Daten, mindestens \
             32MiB, etwa 2GiB. Gruppen können davon abweichen.",
        ),
    ),
    (
        "Sync:ConflictStrategy",
        Text::new(
            "Which change wins if two devices changed the same item: last-write-wins (the later \
             one) or server-wins (the stored one).",
            "Welche Änderung gilt, wenn zwei Geräte dasselbe Element geändert haben: \
             last-write-wins (die spätere) oder server-wins (die gespeicherte).",
        ),
    ),
    (
        "Sync:MaxTemplates",
        Text::new(
            "Maximum number of templates for optimising texts that one person may synchronise, \
             such as 200.",
            "Maximale Anzahl der Vorlagen zum Optimieren von Texten, die eine Person \
             synchronisieren kann, etwa 200.",
        ),
    ),
    (
        "Sync:MaxPersonas",
        Text::new(
            "Maximum number of personas that one person may synchronise, such as 100.",
            "Maximale Anzahl der Personas, die eine Person synchronisieren kann, etwa 100.",
        ),
    ),
    (
        "Sync:MaxProviders",
        Text::new(
            "Maximum number of model providers, called by devices directly, that one person may \
             synchronise, such as 10.",
            "Maximale Anzahl eigener, von Geräten direkt aufgerufener Modellanbieter, die eine \
             Person synchronisieren kann, etwa 10.",
        ),
    ),
    (
        "Sync:MaxSessions",
        Text::new(
            "Maximum number of optimised texts that one person may synchronise, such as 5000. The \
             oldest make room for new ones.",
            "Maximale Anzahl optimierter Texte, die eine Person synchronisieren kann, etwa 5000. \
             Die ältesten weichen neuen.",
        ),
    ),
    (
        "Sync:MaxMemories",
        Text::new(
            "Maximum number of memories of the assistant that one person may synchronise, such as \
             1000.",
            "Maximale Anzahl der Erinnerungen des Assistenten, die eine Person synchronisieren \
             kann, etwa 1000.",
        ),
    ),
    (
        "Sync:MaxTodos",
        Text::new(
            "Maximum number of to-do items that one person may synchronise, such as 1000.",
            "Maximale Anzahl der Aufgaben, die eine Person synchronisieren kann, etwa 1000.",
        ),
    ),
    (
        "Sync:MaxKanbanColumns",
        Text::new(
            "Maximum number of columns for to-do items that one person may synchronise, such as \
             50.",
            "Maximale Anzahl der Spalten für Aufgaben, die eine Person synchronisieren kann, etwa \
             50.",
        ),
    ),
    (
        "Sync:MaxScheduledJobs",
        Text::new(
            "Maximum number of scheduled jobs that one person may synchronise, such as 100.",
            "Maximale Anzahl geplanter Jobs, die eine Person synchronisieren kann, etwa 100.",
        ),
    ),
    (
        "Sync:MaxResearchSessions",
        Text::new(
            "Maximum number of research sessions that one person may synchronise, such as 200.",
            "Maximale Anzahl der Recherchen, die eine Person synchronisieren kann, etwa 200.",
        ),
    ),
    (
        "Sync:DisableFastPath304",
        Text::new(
            "Sends devices that are up to date a full response in place of a short one. Turn it on \
             only to diagnose problems.",
            "Sendet auch Geräten auf dem neuesten Stand eine vollständige statt einer kurzen \
             Antwort. Schalten Sie das nur zur Fehlersuche ein.",
        ),
    ),
    (
        "Sync:EventRetentionDays",
        Text::new(
            "Days for which a record of each synchronisation is stored, from 1 to 3650, such as \
             30.",
            "Tage, die ein Eintrag zu jeder Synchronisierung gespeichert bleibt, von 1 bis 3650, \
             etwa 30.",
        ),
    ),
];
