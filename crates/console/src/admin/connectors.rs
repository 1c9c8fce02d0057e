//! Connectors: the permission of pods to connect, and of groups to use them.

mod calls;
mod pods;
mod show;

use std::collections::HashMap;

use pia_assignments::Skill;
use pia_kernel::Secret;
use pia_pods::{ConnectedPod, Connector, ConnectorDraft, McpEndpoint, Provisioned};
use pia_policy::Feature;
use pia_web::{ApiError, FieldError, Route};

use super::group_choice::{GROUPS, GroupNames, typed_groups};
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::proof::ProvedForm;
use crate::routes::pages::{form, page};
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Field, Form, Row, Section, Text, View, format};

type Handler = fn(actix_web::Route) -> actix_web::Route;

pub(super) fn routes() -> Vec<Route> {
    let own = vec![
        page("/admin/connectors", |it| it.to(list)),
        page("/admin/connectors/new", |it| it.to(new)),
        licensed_form("/admin/connectors", |it| it.to(create)),
    ];
    // The pods before the connectors, whose ids they would match.
    [own, pods::routes(), show::routes(), calls::routes()].into_iter().flatten().collect()
}

/// Returns the row of a form, for which the licence must include the AI proxy.
fn licensed_form(path: &'static str, handler: Handler) -> Route {
    Route { feature: Some(Feature::AiProxy), ..form(path, handler) }
}

async fn list(page: PageContext) -> PageResult {
    let (connectors, connected) = page
        .run(|api| async move {
            Ok::<_, pia_kernel::Unavailable>((
                api.connectors.list().await?,
                api.connectors.connected().await?,
            ))
        })
        .await?;
    let groups = GroupNames::load(&page).await?;
    let columns = [
        ("name", common::NAME),
        ("kind", KIND),
        ("groups", GROUPS),
        ("connected", CONNECTED),
        ("token", TOKEN),
    ];
    let mut pods: HashMap<_, u64> = HashMap::new();
    for pod in &connected {
        *pods.entry(pod.connector).or_default() += 1;
    }
    let rows = connectors.iter().map(|it| {
        let pods = pods.get(&it.id).copied().unwrap_or_default();
        connector_row(&page, it, pods, &groups)
    });
    let table = page.list(TITLE, EMPTY, &columns, rows.collect());

    let view = View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(NEW), "admin/connectors/new")
        .action(page.t(pods::TITLE), "admin/connectors/pods")
        .section(Section::new("connectors", "").table(table));

    Ok(page.render(view))
}

fn connector_row(page: &PageContext, connector: &Connector, pods: u64, groups: &GroupNames) -> Row {
    let status = if pods > 0 {
        Cell::badge(format::number(page.language, pods), Tone::Good)
    } else {
        Cell::badge(page.t(NOT_CONNECTED), Tone::Neutral)
    };

    Row::new(vec![
        Cell::link(connector.name.as_str(), format!("admin/connectors/{}", connector.id)),
        kind_cell(page, connector),
        Cell::text(groups.of(&connector.groups)),
        status.sort_value(pods),
        token_cell(page, connector),
    ])
    .key(connector.id.to_string())
}

fn kind_cell(page: &PageContext, connector: &Connector) -> Cell {
    match &connector.mcp_url {
        Some(url) => Cell::text(page.t(MCP_SERVER)).detail(url.as_str()),
        None => Cell::text(page.t(PODS)),
    }
}

fn token_cell(page: &PageContext, connector: &Connector) -> Cell {
    if connector.mcp_url.is_some() {
        return Cell::text("");
    }
    let Some(end) = connector.token_expires_at() else {
        return Cell::badge(page.t(NO_TOKEN), Tone::Warning);
    };
    let valid = page.fill(VALID_UNTIL, &[&format::day(page.language, end)]);
    Cell::text(valid).sort_value(end.micros())
}

async fn new(page: PageContext) -> PageResult {
    let view = new_view(&page, &FormFields::from_pairs(Vec::new())).await?;
    Ok(page.render(view))
}

async fn create(page: PageContext, ProvedForm(form): ProvedForm) -> PageResult {
    match submit(&page, &form).await {
        Ok(created) => match created.token {
            Some(token) => show::render_with_token(&page, created.connector, token).await,
            None => page.done(&format!("admin/connectors/{}", created.connector), "created"),
        },
        Err(err) => page.refuse(new_view(&page, &form).await?, err),
    }
}

/// Creates the connector of a form.
async fn submit(page: &PageContext, form: &FormFields) -> Result<Provisioned, ApiError> {
    let by = Some(page.user());
    let skill = form.some("operatorSkill");
    if skill.as_ref().is_some_and(|it| !Skill::is_name(it)) {
        let field = "operatorSkill".to_owned();
        let message = page.t(SKILL_FORM).to_owned();
        return Err(ApiError::invalid(vec![FieldError { field, code: "malformed", message }]));
    }

    let mcp = form.all("mcp").next().map(|url| McpEndpoint {
        url: url.trim().to_owned(),
        token: Some(form.secret("token")).filter(|it: &Secret<String>| !it.expose().is_empty()),
    });
    let name = form.text("name").to_owned();
    let groups = typed_groups(page, form).await?;
    let draft = ConnectorDraft { name, groups, skill, mcp };
    page.run(|api| async move { api.connectors.create(by, draft).await }).await
}

async fn new_view(page: &PageContext, form: &FormFields) -> Result<View, ApiError> {
    let groups = GroupNames::load(page).await?;
    // If one of the two forms was refused, the page has that one only.
    let is_refused = form.all("name").next().is_some();
    let is_mcp = form.all("mcp").next().is_some();
    let mut view = View::new(page.t(NEW)).below(page.t(TITLE), "admin/connectors");
    if !is_refused || !is_mcp {
        view = view.section(new_of_pods_section(page, form, &groups));
    }
    if !is_refused || is_mcp {
        view = view.section(new_of_mcp_section(page, form, &groups));
    }

    Ok(view)
}

fn new_of_pods_section(page: &PageContext, form: &FormFields, groups: &GroupNames) -> Section {
    let skill = Field::text("operatorSkill", page.t(SKILL), form.text("operatorSkill"));
    let new = Form::new("admin/connectors", page.t(CREATE))
        .field(Field::text("name", page.t(common::NAME), form.text("name")))
        .field(skill.hint(page.t(SKILL_HINT)).optional())
        .field(groups.new_grants(page, form));
    Section::new("pods", page.t(NEW_OF_PODS)).intro(page.t(NEW_OF_PODS_HINT)).form(new)
}

fn new_of_mcp_section(page: &PageContext, form: &FormFields, groups: &GroupNames) -> Section {
    let bearer = Field::password("token", page.t(BEARER), "off").hint(page.t(BEARER_HINT));
    let new = Form::new("admin/connectors", page.t(CREATE))
        .field(Field::text("name", page.t(common::NAME), form.text("name")))
        .field(Field::input("mcp", page.t(URL), "url", "off", form.text("mcp")))
        .field(bearer.optional())
        .field(groups.new_grants(page, form));
    Section::new("mcp", page.t(NEW_OF_MCP)).intro(page.t(NEW_OF_MCP_HINT)).form(new)
}

/// Finds a connector with its connected pods.
async fn find(
    page: &PageContext,
    id: pia_kernel::ConnectorId,
) -> Result<(Connector, Vec<ConnectedPod>), ApiError> {
    page.run(|api| async move {
        let connector = api.connectors.find(id).await?;
        let mut pods = api.connectors.connected().await?;
        pods.retain(|it| it.connector == id);
        Ok::<_, pia_pods::ConnectorError>((connector, pods))
    })
    .await
}

const TITLE: Text = Text::new("Connectors", "Konnektoren");
const INTRO: Text = Text::new(
    "A connector brings tools to the assistant: from pods, programs of yours that connect with its \
     token, or from an MCP server.",
    "Ein Konnektor stellt dem Assistenten Werkzeuge bereit: aus Pods, also eigenen Programmen, die \
     sich mit seinem Token verbinden, oder von einem MCP-Server.",
);
const EMPTY: Text = Text::new(
    "There is no connector yet. Create one, then start a pod with its token.",
    "Es gibt noch keinen Konnektor. Erstellen Sie einen und starten Sie dann einen Pod mit dessen \
     Token.",
);
const KIND: Text = Text::new("Type", "Typ");
const PODS: Text = Text::new("Pods", "Pods");
const MCP_SERVER: Text = Text::new("MCP server", "MCP-Server");
const TOKEN: Text = Text::new("Token", "Token");
const VALID_UNTIL: Text = Text::new("Valid until {}", "Gültig bis {}");
const NO_TOKEN: Text = Text::new("No valid token", "Kein gültiges Token");
const CONNECTED: Text = Text::new("Connected", "Verbunden");
const NOT_CONNECTED: Text = Text::new("Not connected", "Nicht verbunden");
const NEW_OF_PODS: Text = Text::new("New connector for pods", "Neuer Konnektor für Pods");
const NEW_OF_PODS_HINT: Text =
    Text::new("You get a token for your pods.", "Sie erhalten ein Token für Ihre Pods.");
const SKILL: Text = Text::new("Skill that the pods run", "Fähigkeit, die die Pods ausführen");
const SKILL_HINT: Text = Text::new(
    "An operator is created for it, so that members can hand assignments over to the pods.",
    "Dafür wird ein Operator erstellt, damit Mitglieder den Pods Aufträge übergeben können.",
);
const SKILL_FORM: Text = Text::new(
    "Use 1 to 100 letters, digits, hyphens, dots and underscores.",
    "Verwenden Sie 1 bis 100 Buchstaben ohne Umlaute, Ziffern, Bindestriche, Punkte und \
     Unterstriche.",
);
const NEW_OF_MCP: Text =
    Text::new("New connector for an MCP server", "Neuer Konnektor für einen MCP-Server");
const NEW_OF_MCP_HINT: Text = Text::new(
    "This server connects to it over streamable HTTP.",
    "Dieser Server verbindet sich mit ihm über Streamable HTTP.",
);
const URL: Text = Text::new("URL", "URL");
const BEARER: Text = Text::new("Access token of the MCP server", "Zugriffstoken des MCP-Servers");
const BEARER_HINT: Text = Text::new(
    "Stored encrypted, and never shown again.",
    "Es wird verschlüsselt gespeichert und nie wieder angezeigt.",
);
const NEW: Text = Text::new("New connector", "Neuer Konnektor");
const CREATE: Text = Text::new("Create connector", "Konnektor erstellen");
