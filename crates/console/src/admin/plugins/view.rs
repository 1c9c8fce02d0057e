//! Pages of plugins.

use pia_kernel::PluginId;
use pia_policy::{PluginContent, PluginDraft, PluginEntry, PublishedPlugin};
use pia_web::ApiError;

use super::super::bindings::{
    ACTIVE, CHANGED, GROUPS, INACTIVE, SIZE, VersionedDraft, time_cell, with_version,
};
use super::super::group_choice::{GrantedGroups, GroupNames};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::view::Link;
use crate::ui::{Cell, Field, Form, Row, Section, Text, View, format};

/// Returns the stored contents of a plugin as values of a form.
pub(super) fn stored_draft(plugin: PublishedPlugin) -> PluginDraft {
    let PluginContent { kind, name, description, config_json, version } = plugin.content;
    PluginDraft {
        kind: Some(kind),
        name: Some(name),
        description,
        config_json: Some(config_json),
        version: Some(version),
        is_active: Some(plugin.is_active),
    }
}

/// Returns the list of plugins.
pub(super) async fn list_view(page: &PageContext) -> Result<View, ApiError> {
    let entries = page.run(|api| async move { api.plugins.list().await }).await?;
    let columns = [
        ("name", common::NAME),
        ("kind", KIND),
        ("version", VERSION),
        ("status", common::STATUS),
        ("groups", GROUPS),
        ("changed", CHANGED),
    ];
    let rows = entries.iter().map(|it| entry_row(page, it)).collect();
    let table = page.list(TITLE, EMPTY, &columns, rows);

    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(NEW), "admin/plugins/new")
        .section(Section::new("plugins", "").table(table)))
}

fn entry_row(page: &PageContext, PluginEntry { plugin, group_count }: &PluginEntry) -> Row {
    let detail = if plugin.is_built_in { page.t(BUILT_IN) } else { "" };

    let groups = if plugin.is_built_in {
        Cell::number("")
    } else {
        Cell::number(format::number(page.language, *group_count)).sort_value(*group_count)
    };

    Row::new(vec![
        Cell::link(&plugin.content.name, format!("admin/plugins/{}", plugin.id)).detail(detail),
        kind_cell(page, &plugin.content.kind),
        Cell::text(&plugin.content.version),
        status_cell(page, plugin.is_active),
        groups,
        time_cell(page, plugin.updated_at),
    ])
    .key(plugin.id.to_string())
}

fn kind_cell(page: &PageContext, kind: &str) -> Cell {
    let known = KINDS.iter().find(|it| it.0 == kind);
    Cell::text(known.map_or(kind, |it| page.t(it.1)))
}

fn status_cell(page: &PageContext, is_active: bool) -> Cell {
    if is_active {
        Cell::badge(page.t(ACTIVE), Tone::Good)
    } else {
        Cell::badge(page.t(INACTIVE), Tone::Neutral)
    }
}

/// Returns the page of a new plugin.
pub(super) fn new_view(page: &PageContext, draft: PluginDraft) -> View {
    let form = with_fields(page, Form::new("admin/plugins", page.t(CREATE)), draft);
    View::new(page.t(NEW))
        .below(page.t(TITLE), "admin/plugins")
        .section(Section::new("contents", "").form(form))
}

fn with_fields(page: &PageContext, form: Form, draft: PluginDraft) -> Form {
    let text = |name: &str, label: Text, value: Option<String>| {
        Field::text(name, page.t(label), value.unwrap_or_default())
    };
    let lines = |name: &str, label: Text, value: Option<String>| {
        Field::lines(name, page.t(label), value.unwrap_or_default())
    };

    let kinds = KINDS.map(|(value, label)| (value, page.t(label)));
    let kind = draft.kind.unwrap_or_default();
    let description = lines("description", common::DESCRIPTION, draft.description);
    let config = lines("configJson", CONFIG, draft.config_json).json(page.t(common::INVALID_JSON));
    let version = text("version", VERSION, draft.version);

    form.field(text("name", common::NAME, draft.name))
        .field(Field::select("kind", page.t(KIND), kinds, &kind))
        .field(description.rows(3).optional())
        .field(version.hint(page.t(VERSION_HINT)).optional())
        .field(config.rows(12).hint(page.t(CONFIG_HINT)).optional())
}

/// Returns the page of a plugin, with the contents that were typed into a refused form.
pub(super) async fn plugin_view(
    page: &PageContext,
    id: PluginId,
    typed: Option<VersionedDraft<PluginDraft>>,
) -> Result<View, ApiError> {
    let plugin = page.run(|api| async move { api.plugins.find(id).await }).await?;
    let path = format!("admin/plugins/{id}");
    let mut view = View::new(&plugin.content.name)
        .below(page.t(TITLE), "admin/plugins")
        .section(state_section(page, &plugin, &path));

    if plugin.is_built_in {
        view = view.intro(page.t(BUILT_IN_INTRO));
    } else {
        view = view.section(package_section(page, &plugin, &path));
        view = view.section(groups_section(page, id, &path).await?);
        view = view.section(icon_section(page, &plugin, &path));
    }

    let is_built_in = plugin.is_built_in;
    let contents = typed.unwrap_or_else(|| VersionedDraft {
        version: Some(plugin.updated_at),
        draft: stored_draft(plugin),
    });
    let save = Form::new(format!("{path}/save"), page.t(common::SAVE));
    let save_version = with_fields(page, with_version(save, contents.version), contents.draft);
    view = view.section(Section::new("contents", page.t(CONTENTS)).form(save_version));
    if is_built_in {
        return Ok(view);
    }

    let delete = Form::new(format!("{path}/delete"), page.t(DELETE_PLUGIN)).danger();
    let section = Section::new("delete", page.t(DELETE_PLUGIN)).intro(page.t(DELETE_HINT));

    Ok(view.section(section.form(delete)))
}

fn state_section(page: &PageContext, plugin: &PublishedPlugin, path: &str) -> Section {
    let facts = [
        (page.t(common::STATUS), status_cell(page, plugin.is_active)),
        (page.t(KIND), kind_cell(page, &plugin.content.kind)),
        (page.t(VERSION), Cell::text(&plugin.content.version)),
        (page.t(CHANGED), time_cell(page, plugin.updated_at)),
    ];

    let toggle = if plugin.is_active {
        Form::new(format!("{path}/deactivate"), page.t(DEACTIVATE))
    } else {
        Form::new(format!("{path}/activate"), page.t(ACTIVATE))
    };

    Section::new("state", "").facts(facts).form(toggle)
}

fn package_section(page: &PageContext, plugin: &PublishedPlugin, path: &str) -> Section {
    let mut section = Section::new("package", page.t(PACKAGE)).intro(page.t(PACKAGE_INTRO));
    if let Some(package) = &plugin.package {
        section = section.facts([
            (page.t(SIZE), Cell::text(format::bytes(page.language, package.size))),
            (page.t(HASH), Cell::text(&package.hash)),
        ]);
    }

    let file = package_field(page).hint(page.t(PACKAGE_HINT));
    let upload = Form::new(format!("{path}/package"), page.t(UPLOAD_PACKAGE)).with_files();
    let signers = Link { label: page.t(SIGNERS).to_owned(), path: "admin/certificates".to_owned() };

    section.form(upload.field(file)).links(vec![signers])
}

/// Returns the field in which a package is chosen.
pub(super) fn package_field(page: &PageContext) -> Field {
    Field::file("package", page.t(PACKAGE), ".cab")
}

async fn groups_section(page: &PageContext, id: PluginId, path: &str) -> Result<Section, ApiError> {
    let assigned_groups = page.run(|api| async move { api.plugins.groups_of(id).await }).await?;
    let granted_groups = GrantedGroups {
        title: GROUPS,
        intro: GROUPS_INTRO,
        path: format!("{path}/groups"),
        granted: &assigned_groups,
    };
    Ok(GroupNames::load(page).await?.section(page, granted_groups))
}

fn icon_section(page: &PageContext, plugin: &PublishedPlugin, path: &str) -> Section {
    let types = ".png,.jpg,.jpeg,.gif,.bmp,.ico";
    let file = Field::file("icon", page.t(ICON), types).hint(page.t(ICON_HINT));
    let upload = Form::new(format!("{path}/icon"), page.t(UPLOAD_ICON)).with_files();
    let section = Section::new("icon", page.t(ICON));
    if plugin.icon_url.is_none() {
        return section.form(upload.field(file));
    }
    section
        .facts([(page.t(common::STATUS), Cell::text(page.t(UPLOADED)))])
        .form(upload.field(file))
        .form(Form::new(format!("{path}/remove-icon"), page.t(REMOVE_ICON)))
}

const TITLE: Text = Text::new("Plugins", "Plugins");
const INTRO: Text = Text::new(
    "A plugin adds tools to the apps of the members of its groups.",
    "Ein Plugin erweitert die Apps der Mitglieder seiner Gruppen um Werkzeuge.",
);
const EMPTY: Text = Text::new(
    "There is no plugin yet. Create one, upload its package, then choose its groups.",
    "Es gibt noch kein Plugin. Erstellen Sie eines, laden Sie sein Paket hoch und wählen Sie \
     dann seine Gruppen.",
);
const NEW: Text = Text::new("New plugin", "Neues Plugin");
const CREATE: Text = Text::new("Create plugin", "Plugin erstellen");
const CONTENTS: Text = Text::new("Contents", "Inhalt");
const KIND: Text = Text::new("Type", "Typ");
const KINDS: [(&str, Text); 3] = [
    ("mcp_server", Text::new("MCP server", "MCP-Server")),
    ("builtin_tool_pack", Text::new("Tools of the app", "Werkzeuge der App")),
    ("rest_api", Text::new("REST API", "REST-API")),
];
const VERSION: Text = Text::new("Version", "Version");
const VERSION_HINT: Text = Text::new("1.0.0 if empty.", "Ohne Angabe 1.0.0.");
const CONFIG: Text = Text::new("Configuration", "Konfiguration");
const CONFIG_HINT: Text = Text::new(
    "A JSON object that the apps read: “transport” (stdio or sse), “command”, “url” …",
    "Ein JSON-Objekt, das die Apps lesen: „transport“ (stdio oder sse), „command“, „url“ …",
);
const BUILT_IN: Text = Text::new("Part of the app", "Teil der App");
const BUILT_IN_INTRO: Text = Text::new(
    "This plugin is part of the app, and every group has it. You can change and deactivate it.",
    "Dieses Plugin ist Teil der App, und alle Gruppen haben es. Sie können es ändern und \
     deaktivieren.",
);
const ACTIVATE: Text = Text::new("Activate", "Aktivieren");
const DEACTIVATE: Text = Text::new("Deactivate", "Deaktivieren");
const PACKAGE: Text = Text::new("Package", "Paket");
const PACKAGE_INTRO: Text = Text::new(
    "Plugins that run on members’ devices need a package: a cabinet file (.cab) with an \
     Authenticode signature of a trusted signer.",
    "Plugins, die auf den Geräten der Mitglieder laufen, brauchen ein Paket: eine Cabinet-Datei \
     (.cab) mit der Authenticode-Signatur eines vertrauenswürdigen Signierers.",
);
const PACKAGE_HINT: Text = Text::new("At most 50 MiB.", "Höchstens 50 MiB.");
const HASH: Text = Text::new("SHA-256", "SHA-256");
const UPLOAD_PACKAGE: Text = Text::new("Upload package", "Paket hochladen");
const SIGNERS: Text = Text::new("Trusted signers", "Vertrauenswürdige Signierer");
const ICON: Text = Text::new("Icon", "Symbol");
const ICON_HINT: Text = Text::new(
    "A PNG, JPEG, GIF, BMP or ICO image of at most 1 MiB.",
    "Ein Bild als PNG, JPEG, GIF, BMP oder ICO, höchstens 1 MiB.",
);
const UPLOADED: Text = Text::new("Uploaded", "Hochgeladen");
const UPLOAD_ICON: Text = Text::new("Upload icon", "Symbol hochladen");
const REMOVE_ICON: Text = Text::new("Remove icon", "Symbol entfernen");
const GROUPS_INTRO: Text = Text::new(
    "Members of the selected groups get this plugin.",
    "Die Mitglieder der ausgewählten Gruppen erhalten dieses Plugin.",
);
const DELETE_PLUGIN: Text = Text::new("Delete plugin", "Plugin löschen");
const DELETE_HINT: Text = Text::new(
    "The plugin, its package and its icon are deleted, and members’ apps remove it. This can’t be \
     undone.",
    "Plugin, Paket und Symbol werden gelöscht, und die Apps der Mitglieder entfernen das Plugin. \
     Das lässt sich nicht rückgängig machen.",
);
