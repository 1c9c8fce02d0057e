//! Actions of the audit log, by which it is filtered, with their texts.

use crate::page_context::PageContext;
use crate::ui::Text;

/// Actions that docs/AUDIT.md explains, in its spelling and by name.
pub(super) const ACTIONS: &[(&str, Text)] = &[
    ("account.deactivated", Text::new("Account deactivated", "Konto deaktiviert")),
    (
        "account.declared",
        Text::new("Business declaration submitted", "Unternehmenserklärung abgegeben"),
    ),
    ("account.deleted", Text::new("Account deleted", "Konto gelöscht")),
    (
        "account.email_change_requested",
        Text::new("Change of email address requested", "Änderung der E-Mail-Adresse angefordert"),
    ),
    ("account.email_changed", Text::new("Email address changed", "E-Mail-Adresse geändert")),
    (
        "account.encrypted",
        Text::new("End-to-end encryption enabled", "Ende-zu-Ende-Verschlüsselung aktiviert"),
    ),
    ("account.expired", Text::new("Unverified account deleted", "Unbestätigtes Konto gelöscht")),
    ("account.exported", Text::new("Account data exported", "Kontodaten exportiert")),
    ("account.linked", Text::new("Provider linked to account", "Anbieter mit Konto verknüpft")),
    ("account.reactivated", Text::new("Account reactivated", "Konto reaktiviert")),
    ("account.registered", Text::new("Account registered", "Konto registriert")),
    ("account.renamed", Text::new("Display name changed", "Anzeigename geändert")),
    ("account.sessions_ended", Text::new("All sessions ended", "Alle Sitzungen beendet")),
    ("account.verified", Text::new("Email address verified", "E-Mail-Adresse bestätigt")),
    ("ApiKey.Created", Text::new("API key created", "API-Schlüssel erstellt")),
    ("ApiKey.Revoked", Text::new("API key revoked", "API-Schlüssel widerrufen")),
    ("app_password.added", Text::new("App password created", "App-Passwort erstellt")),
    ("app_password.removed", Text::new("App password revoked", "App-Passwort widerrufen")),
    ("Assignment.Terminated", Text::new("Assignment ended", "Auftrag beendet")),
    ("ClientPolicy.Created", Text::new("Client policy created", "Client-Richtlinie erstellt")),
    ("ClientPolicy.Deleted", Text::new("Client policy deleted", "Client-Richtlinie gelöscht")),
    (
        "ClientPolicy.Restored",
        Text::new("Client policy restored", "Client-Richtlinie wiederhergestellt"),
    ),
    ("ClientPolicy.Updated", Text::new("Client policy changed", "Client-Richtlinie geändert")),
    ("Connector.Created", Text::new("Connector created", "Konnektor erstellt")),
    ("Connector.Deleted", Text::new("Connector deleted", "Konnektor gelöscht")),
    (
        "Connector.GroupsUpdated",
        Text::new("Connector: groups changed", "Konnektor: Gruppen geändert"),
    ),
    ("Connector.TokenIssued", Text::new("Connector token created", "Konnektor-Token erstellt")),
    ("Connector.TokenRotated", Text::new("Connector token rotated", "Konnektor-Token rotiert")),
    (
        "Connector.TokensRevoked",
        Text::new("Connector tokens revoked", "Konnektor-Token widerrufen"),
    ),
    ("device.activated", Text::new("Device activated", "Gerät aktiviert")),
    ("device.approved", Text::new("Device approved", "Gerät bestätigt")),
    ("device.key_stored", Text::new("Device key replaced", "Geräteschlüssel ersetzt")),
    ("device.registered", Text::new("Device registered", "Gerät registriert")),
    ("device.revoked", Text::new("Device revoked", "Gerät widerrufen")),
    ("factor.disabled", Text::new("Second factor disabled", "Zweiter Faktor deaktiviert")),
    ("factor.enabled", Text::new("Second factor enabled", "Zweiter Faktor aktiviert")),
    ("factor.reset", Text::new("Second factor reset", "Zweiter Faktor zurückgesetzt")),
    ("Feedback.Triaged", Text::new("Feedback processed", "Rückmeldung bearbeitet")),
    (
        "Group.ClientPolicyUpdated",
        Text::new("Group: client policy changed", "Gruppe: Client-Richtlinie geändert"),
    ),
    ("Group.Created", Text::new("Group created", "Gruppe erstellt")),
    ("Group.Deleted", Text::new("Group deleted", "Gruppe gelöscht")),
    (
        "Group.ExternalIdChanged",
        Text::new("Group: external ID changed", "Gruppe: externe ID geändert"),
    ),
    ("Group.MemberAdded", Text::new("Group: member added", "Gruppe: Mitglied hinzugefügt")),
    ("Group.Renamed", Text::new("Group renamed", "Gruppe umbenannt")),
    (
        "Group.SettingsChanged",
        Text::new("Group: settings changed", "Gruppe: Einstellungen geändert"),
    ),
    ("Group.ToppedUp", Text::new("Group topped up", "Gruppe aufgeladen")),
    ("invitation.created", Text::new("Invitation created", "Einladung erstellt")),
    ("invitation.revoked", Text::new("Invitation revoked", "Einladung widerrufen")),
    ("invitation.used", Text::new("Invitation used", "Einladung angenommen")),
    ("KnowledgeBase.Created", Text::new("Knowledge base created", "Wissensdatenbank erstellt")),
    ("KnowledgeBase.Deleted", Text::new("Knowledge base deleted", "Wissensdatenbank gelöscht")),
    (
        "KnowledgeBase.GroupsUpdated",
        Text::new("Knowledge base: groups changed", "Wissensdatenbank: Gruppen geändert"),
    ),
    (
        "KnowledgeBase.PromptUpdated",
        Text::new("Knowledge base: prompt changed", "Wissensdatenbank: Prompt geändert"),
    ),
    (
        "KnowledgeBase.Reindexed",
        Text::new("Knowledge base reindexed", "Wissensdatenbank neu indexiert"),
    ),
    ("KnowledgeBase.Renamed", Text::new("Knowledge base renamed", "Wissensdatenbank umbenannt")),
    ("KnowledgeDocument.Created", Text::new("Document added", "Dokument hinzugefügt")),
    ("KnowledgeDocument.Deleted", Text::new("Document deleted", "Dokument gelöscht")),
    ("KnowledgeDocument.Replaced", Text::new("Document replaced", "Dokument ersetzt")),
    (
        "KnowledgeDocument.Retried",
        Text::new("Document processed again", "Dokument erneut verarbeitet"),
    ),
    ("Licence.Replaced", Text::new("Licence replaced", "Lizenz ersetzt")),
    ("Mail.Discarded", Text::new("Email discarded", "E-Mail verworfen")),
    ("Mail.Retried", Text::new("Email sent again", "E-Mail erneut gesendet")),
    ("Mail.TestSent", Text::new("Test email sent", "Test-E-Mail gesendet")),
    ("ManagedPersona.Created", Text::new("Persona created", "Persona erstellt")),
    ("ManagedPersona.Deleted", Text::new("Persona deleted", "Persona gelöscht")),
    (
        "ManagedPersona.GroupsUpdated",
        Text::new("Persona: groups changed", "Persona: Gruppen geändert"),
    ),
    (
        "ManagedPersona.KnowledgeBasesUpdated",
        Text::new("Persona: knowledge bases changed", "Persona: Wissensdatenbanken geändert"),
    ),
    (
        "ManagedPersona.PluginsUpdated",
        Text::new("Persona: plugins changed", "Persona: Plugins geändert"),
    ),
    ("ManagedPersona.Updated", Text::new("Persona changed", "Persona geändert")),
    ("Model.Tested", Text::new("Model tested", "Modell getestet")),
    ("Operator.Created", Text::new("Operator created", "Operator erstellt")),
    ("Operator.Deleted", Text::new("Operator deleted", "Operator gelöscht")),
    ("Operator.GroupsUpdated", Text::new("Operator: groups changed", "Operator: Gruppen geändert")),
    ("Operator.Updated", Text::new("Operator changed", "Operator geändert")),
    (
        "Operator.WebhookDeleted",
        Text::new("Operator: webhook removed", "Operator: Webhook entfernt"),
    ),
    (
        "Operator.WebhookUpdated",
        Text::new("Operator: webhook changed", "Operator: Webhook geändert"),
    ),
    ("passkey.added", Text::new("Passkey added", "Passkey hinzugefügt")),
    ("passkey.cloned", Text::new("Copied passkey rejected", "Kopierter Passkey abgelehnt")),
    ("passkey.removed", Text::new("Passkey removed", "Passkey entfernt")),
    ("passkey.unblocked", Text::new("Passkey unblocked", "Passkey entsperrt")),
    ("passkey.used", Text::new("Passkey used", "Passkey benutzt")),
    ("password.changed", Text::new("Password changed", "Passwort geändert")),
    ("password.reset", Text::new("Password reset", "Passwort zurückgesetzt")),
    (
        "password.reset_requested",
        Text::new("Password reset requested", "Zurücksetzen des Passworts angefordert"),
    ),
    ("Plugin.Created", Text::new("Plugin created", "Plugin erstellt")),
    ("Plugin.Deleted", Text::new("Plugin deleted", "Plugin gelöscht")),
    ("Plugin.GroupsUpdated", Text::new("Plugin: groups changed", "Plugin: Gruppen geändert")),
    ("Plugin.IconUpdated", Text::new("Plugin: icon changed", "Plugin: Symbol geändert")),
    ("Plugin.PackageUploaded", Text::new("Plugin: package uploaded", "Plugin: Paket hochgeladen")),
    ("Plugin.Updated", Text::new("Plugin changed", "Plugin geändert")),
    ("Pod.Drained", Text::new("Pod drained", "Pod auslaufen gelassen")),
    ("Pod.ToolCalled", Text::new("Pod tool called", "Pod-Werkzeug aufgerufen")),
    ("recovery_code.used", Text::new("Recovery code used", "Wiederherstellungscode benutzt")),
    (
        "recovery_codes.regenerated",
        Text::new("New recovery codes generated", "Neue Wiederherstellungscodes erzeugt"),
    ),
    (
        "recovery_key.proof_stored",
        Text::new(
            "Proof key for recovery stored",
            "Nachweisschlüssel der Wiederherstellung gespeichert",
        ),
    ),
    (
        "recovery_key.stored",
        Text::new("Recovery copy stored", "Wiederherstellungskopie gespeichert"),
    ),
    (
        "registration.address_taken",
        Text::new("Registration with existing address", "Registrierung mit vorhandener Adresse"),
    ),
    (
        "role.admin_granted",
        Text::new("Role assigned: administrator", "Rolle zugewiesen: Administrator"),
    ),
    (
        "role.kb_manager_granted",
        Text::new("Role assigned: knowledge manager", "Rolle zugewiesen: Wissensverwalter"),
    ),
    (
        "role.org_manager_granted",
        Text::new(
            "Role assigned: organisation manager",
            "Rolle zugewiesen: Organisationsverwalter",
        ),
    ),
    ("role.user_granted", Text::new("Role assigned: user", "Rolle zugewiesen: Benutzer")),
    ("ScimToken.Created", Text::new("SCIM token created", "SCIM-Token erstellt")),
    ("ScimToken.Revoked", Text::new("SCIM token revoked", "SCIM-Token widerrufen")),
    ("ScimUser.Created", Text::new("SCIM: user created", "SCIM: Konto erstellt")),
    ("ScimUser.Deleted", Text::new("SCIM: user deleted", "SCIM: Konto gelöscht")),
    ("ScimUser.Updated", Text::new("SCIM: user changed", "SCIM: Konto geändert")),
    ("session.code_replayed", Text::new("One-time code used again", "Einmalcode erneut verwendet")),
    ("session.ended", Text::new("Signed out", "Abgemeldet")),
    ("session.evicted", Text::new("Oldest session ended", "Älteste Sitzung beendet")),
    (
        "session.reuse_detected",
        Text::new("Refresh token used again", "Aktualisierungstoken erneut verwendet"),
    ),
    ("session.revoked", Text::new("Session revoked", "Sitzung widerrufen")),
    ("session.started", Text::new("Signed in", "Angemeldet")),
    ("Setting.Changed", Text::new("Setting changed", "Einstellung geändert")),
    ("Setting.Reset", Text::new("Setting reset", "Einstellung zurückgesetzt")),
    ("sign_in.failed", Text::new("Sign-in failed", "Anmeldung fehlgeschlagen")),
    (
        "sign_in.wait_lifted",
        Text::new("Sign-in delay removed", "Wartezeit der Anmeldung aufgehoben"),
    ),
    ("sync.reset", Text::new("Synchronised data deleted", "Synchronisierte Daten gelöscht")),
    (
        "TrustedCertificate.Added",
        Text::new("Trusted certificate added", "Vertrauenswürdiges Zertifikat hinzugefügt"),
    ),
    (
        "TrustedCertificate.Removed",
        Text::new("Trusted certificate removed", "Vertrauenswürdiges Zertifikat entfernt"),
    ),
    (
        "verification.requested",
        Text::new("Verification email requested", "Bestätigungs-E-Mail angefordert"),
    ),
];

/// Returns the text of an action; its code if this version does not have it.
pub(super) fn action_text(page: &PageContext, action: &str) -> String {
    let known = ACTIONS.iter().find(|it| it.0 == action);
    known.map_or(action, |it| page.t(it.1)).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pia_kernel::Language;

    use super::*;

    #[test]
    fn the_texts_of_actions_differ_from_each_other() {
        for language in [Language::En, Language::De] {
            let texts: BTreeSet<_> = ACTIONS.iter().map(|it| it.1.of(language)).collect();
            assert_eq!(texts.len(), ACTIONS.len());
        }
    }
}
