//! Areas of settings: the subjects by which the console lists them.

use crate::ui::Text;

/// Settings about one subject.
pub(super) struct SettingArea {
    /// Id of its section on the page, and value of the query parameter `area`.
    pub(super) id: &'static str,
    pub(super) title: Text,
    /// Sections of the configuration that belong to it; `Smtp` has the key `Smtp:Host`. An
    /// empty list stands for all sections that no other area names.
    sections: &'static [&'static str],
}

impl SettingArea {
    /// Returns whether a setting is in this area.
    pub(super) fn contains(&self, key: &str) -> bool {
        let section = key.split(':').next().unwrap_or_default();
        if self.sections.is_empty() {
            return !AREAS.iter().any(|area| area.sections.contains(&section));
        }
        self.sections.contains(&section)
    }
}

const fn area(id: &'static str, title: Text, sections: &'static [&'static str]) -> SettingArea {
    SettingArea { id, title, sections }
}

/// All areas, in the order in which the console lists them.
pub(super) static AREAS: [SettingArea; 11] = [
    area(
        "accounts",
        Text::new("Accounts and sign-in", "Konten und Anmeldung"),
        &["LocalAuth", "OAuth", "Jwt", "PasswordHashing", "Admin"],
    ),
    area("email", Text::new("Email", "E-Mail"), &["Smtp"]),
    area(
        "models",
        Text::new("Models and credits", "Modelle und Credits"),
        &["Ai", "TokenUsage", "FreeTier"],
    ),
    area(
        "knowledge",
        Text::new("Knowledge", "Wissen"),
        &["Knowledge", "Embeddings", "Rerank", "Chunking"],
    ),
    area("assignments", Text::new("Assignments", "Aufträge"), &["Operators", "Workflow"]),
    area("sync", Text::new("Synchronisation", "Synchronisierung"), &["Sync"]),
    area("limits", Text::new("Rate limits", "Anfragelimits"), &["RateLimits"]),
    area(
        "records",
        Text::new("Records and monitoring", "Protokolle und Überwachung"),
        &["Audit", "Feedback", "Logging", "Metrics"],
    ),
    area(
        "server",
        Text::new("Server and licence", "Server und Lizenz"),
        &["Server", "License", "Setup", "OpenApi"],
    ),
    area(
        "storage",
        Text::new("Database and encryption", "Datenbank und Verschlüsselung"),
        &["Database", "Encryption"],
    ),
    area("other", Text::new("Other settings", "Weitere Einstellungen"), &[]),
];
