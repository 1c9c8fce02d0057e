//! Navigation of the console and of the account pages.
//!
//! To add a page, add an item here and its row in the page's file. The order here is
//! the order in the browser. `shell.rs` leaves out the items that the caller's role
//! or licence does not include. A session of the account pages, which does not open the
//! console, still lists it: the item leads to the sign-in.

use pia_identity::Role;

use crate::ui::Text;

/// Group of pages.
pub(crate) struct NavGroup {
    /// Label; empty for the first group.
    pub(crate) label: Text,
    /// Pages in order.
    pub(crate) items: &'static [NavItem],
}

/// Page in the navigation.
pub(crate) struct NavItem {
    pub(crate) label: Text,
    /// Path without the leading slash.
    pub(crate) path: &'static str,
    /// Roles that see it; none for all.
    pub(crate) roles: &'static [Role],
}

/// Roles that use the console.
pub(crate) const ALL_ROLES: &[Role] = &[Role::KbManager, Role::OrgManager, Role::Admin];
const ADMINS: &[Role] = &[Role::Admin];
/// Page that redirects managers to the page of their group.
const OWN_GROUP: &str = "admin/my-group";
/// Roles that see their own group only.
const ORG_MANAGERS: &[Role] = &[Role::OrgManager];

const fn item(path: &'static str, roles: &'static [Role], label: Text) -> NavItem {
    NavItem { label, path, roles }
}

/// Pages of the console.
pub(crate) static CONSOLE: &[NavGroup] = &[
    NavGroup {
        label: Text::new("", ""),
        items: &[item("admin", ALL_ROLES, Text::new("Overview", "Übersicht"))],
    },
    NavGroup {
        label: Text::new("People", "Personen"),
        items: &[
            item("admin/users", ADMINS, Text::new("Users", "Konten")),
            item("admin/invitations", ADMINS, Text::new("Invitations", "Einladungen")),
            item(OWN_GROUP, ORG_MANAGERS, Text::new("Your group", "Ihre Gruppe")),
            item("admin/groups", ADMINS, Text::new("Groups", "Gruppen")),
            item("admin/devices", ADMINS, Text::new("Devices", "Geräte")),
            item("admin/scim", ADMINS, Text::new("Provisioning", "Bereitstellung")),
        ],
    },
    NavGroup {
        label: Text::new("Publishing", "Veröffentlichen"),
        items: &[
            item("admin/policies", ADMINS, Text::new("Client policies", "Client-Richtlinien")),
            item("admin/personas", ADMINS, Text::new("Personas", "Personas")),
            item("admin/plugins", ADMINS, Text::new("Plugins", "Plugins")),
            item("admin/certificates", ADMINS, Text::new("Plugin signers", "Plugin-Signierer")),
        ],
    },
    NavGroup {
        label: Text::new("Assistant", "Assistent"),
        items: &[
            item(
                "admin/knowledge",
                &[Role::Admin, Role::KbManager],
                Text::new("Knowledge", "Wissen"),
            ),
            item("admin/assignments", ADMINS, Text::new("Assignments", "Aufträge")),
            item("admin/operators", ADMINS, Text::new("Operators", "Operatoren")),
            item("admin/connectors", ADMINS, Text::new("Connectors", "Konnektoren")),
            item("admin/models", ADMINS, Text::new("Models", "Modelle")),
        ],
    },
    NavGroup {
        label: Text::new("Operations", "Betrieb"),
        items: &[
            item("admin/usage", &[Role::Admin, Role::OrgManager], Text::new("Usage", "Nutzung")),
            item("admin/feedback", ADMINS, Text::new("Feedback", "Rückmeldungen")),
            item("admin/mail", ADMINS, Text::new("Email", "E-Mail")),
            item("admin/jobs", ADMINS, Text::new("Maintenance", "Wartung")),
            item("admin/audit", ADMINS, Text::new("Audit log", "Audit-Protokoll")),
            item("admin/settings", ADMINS, Text::new("Settings", "Einstellungen")),
            item("admin/licence", ADMINS, Text::new("Licence", "Lizenz")),
        ],
    },
    NavGroup {
        label: Text::new("Your account", "Ihr Konto"),
        items: &[item("account", ALL_ROLES, Text::new("Account settings", "Kontoeinstellungen"))],
    },
];

/// Pages of one's own account.
pub(crate) static ACCOUNT: &[NavGroup] = &[
    NavGroup {
        label: Text::new("", ""),
        items: &[item("account", &[], Text::new("Profile", "Profil"))],
    },
    NavGroup {
        label: Text::new("Sign-in", "Anmeldung"),
        items: &[
            item("account/security", &[], Text::new("Security", "Sicherheit")),
            item("account/passkeys", &[], Text::new("Passkeys", "Passkeys")),
            item("account/app-passwords", &[], Text::new("App passwords", "App-Passwörter")),
            item("account/api-keys", &[], Text::new("API keys", "API-Schlüssel")),
            item("account/sessions", &[], Text::new("Sessions", "Sitzungen")),
        ],
    },
    NavGroup {
        label: Text::new("Usage and data", "Nutzung und Daten"),
        items: &[
            item("account/devices", &[], Text::new("Devices", "Geräte")),
            item("account/credits", &[], Text::new("Credits", "Credits")),
            item("account/data", &[], Text::new("Your data", "Ihre Daten")),
        ],
    },
    NavGroup {
        label: Text::new("Administration", "Verwaltung"),
        items: &[item("admin", ALL_ROLES, Text::new("Console", "Konsole"))],
    },
];

impl NavItem {
    /// Returns whether a role sees it.
    pub(crate) fn is_open_to(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }

    /// Returns whether a page is this one or below it.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let is_below = || path.strip_prefix(self.path).is_some_and(|it| it.starts_with('/'));
        let is_own_group = || self.path == OWN_GROUP && path.starts_with("admin/groups/");
        let is_start = ["admin", "account"].contains(&self.path);
        path == self.path || (!is_start && is_below()) || is_own_group()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use actix_web::http::Method;

    use super::*;
    use crate::routes;

    #[test]
    fn the_page_of_a_group_is_current_for_its_managers() {
        let items: Vec<&NavItem> = CONSOLE.iter().flat_map(|it| it.items).collect();
        let current = |role| -> Vec<&str> {
            let open_items = items.iter().filter(|it| it.is_open_to(role));
            open_items.filter(|it| it.contains("admin/groups/1")).map(|it| it.path).collect()
        };

        assert_eq!(current(Role::OrgManager), ["admin/my-group"]);
        assert_eq!(current(Role::Admin), ["admin/groups"]);
    }

    #[test]
    fn each_entry_is_a_page_and_is_listed_once() {
        let routes = routes();
        let pages: BTreeSet<&str> =
            routes.iter().filter(|it| it.method == Method::GET).map(|it| it.path).collect();

        for menu in [CONSOLE, ACCOUNT] {
            let paths: Vec<&str> = menu.iter().flat_map(|it| it.items).map(|it| it.path).collect();
            let distinct: BTreeSet<&str> = paths.iter().copied().collect();
            assert_eq!(distinct.len(), paths.len(), "{paths:?}");
            for path in paths {
                assert!(pages.contains(format!("/{path}").as_str()), "{path}");
            }
        }
    }
}
